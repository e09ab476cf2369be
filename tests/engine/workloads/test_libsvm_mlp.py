"""Perceptrons on LIBSVM rows: against the file read by hand, and torch."""

import numpy as np
import pytest
import torch
from hooke.errors import DataInvalid, DataMissing
from hooke.workloads import libsvm_mlp
from hooke.workloads.libsvm_mlp import LibsvmMlp

ROWS = [(1, {1: 0.5, 4: -2.0}), (-1, {2: 1.0}), (-1, {}), (1, {3: 3.0})]


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    libsvm_mlp._parts.cache_clear()
    yield
    libsvm_mlp._parts.cache_clear()


def write(path, rows):
    path.write_text("".join(f"{y:+d} {' '.join(f'{k}:{v}' for k, v in x.items())}\n" for y, x in rows))


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "tiny", ROWS * 10)
    write(tmp_path / "tiny.t", ROWS)


def test_rows_are_dense_and_labels_classes(files):
    objective = LibsvmMlp(data="tiny", hidden=3).build()
    assert (objective.train_size, objective.validation_size, objective.test_size) == (36, 4, 4)
    items = torch.zeros(4, 4)
    labels = torch.zeros(4, dtype=torch.int64)
    objective.test.read(torch.arange(4), items, labels, None)
    assert items.tolist() == [[0.5, 0, 0, -2], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 3, 0]]
    assert labels.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(("activation", "function"), [("relu", torch.relu), ("sigmoid", torch.sigmoid)])
def test_the_loss_is_that_of_the_layers_written_out(files, activation, function):
    objective = LibsvmMlp(data="tiny", hidden=3, layers=2, activation=activation).build()
    weights, gradient = objective.initial(3), objective.allocate()
    objective.bind(weights, gradient)
    loss = objective.gradient(objective.pick(np.arange(8)))
    parts = [view.clone().requires_grad_() for view in objective.views(weights).values()]
    x, y = torch.zeros(8, 4), torch.zeros(8, dtype=torch.int64)
    objective.train.read(torch.arange(8), x, y, None)
    for w, b in zip(parts[0:4:2], parts[1:4:2], strict=True):
        x = function(x @ w.T + b)
    expected = torch.nn.functional.cross_entropy(x @ parts[4].T + parts[5], y)
    expected.backward()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    torch.testing.assert_close(gradient, torch.cat([part.grad.flatten() for part in parts]))


def test_glorot_times_four(files):
    objective = LibsvmMlp(data="tiny", hidden=100, layers=1, activation="sigmoid").build()
    first, bias, *_ = objective.views(objective.initial(0)).values()
    bound = 4 * (6 / 104) ** 0.5
    assert 0.97 * bound < float(first.abs().max()) <= bound
    assert not bias.any()


def test_an_item_with_two_labels_is_refused(tmp_path):
    (tmp_path / "two").write_text("1 1:1\n0,1 2:1\n" * 10)
    with pytest.raises(DataInvalid, match="has 2 labels"):
        LibsvmMlp(data="two").build()


def test_missing_files_are_named():
    with pytest.raises(DataMissing, match="none"):
        LibsvmMlp(data="none").find_data()
