"""Perceptrons on LIBSVM rows: against the file read by hand, and torch."""

import numpy as np
import pytest
import torch
from hooke.errors import DataInvalid, DataMissing
from hooke.workloads import libsvm_mlp
from hooke.workloads.libsvm_mlp import LibsvmMlp
from hooke.workloads.libsvm_published import A9aMlp, W8aMlp

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


def test_sparse_rows_give_the_bits_of_dense_ones(files):
    gradients = []
    for rows in ("dense", "sparse"):
        objective = LibsvmMlp(data="tiny", hidden=3, rows=rows).build()
        gradient = objective.allocate()
        objective.bind(objective.initial(1), gradient)
        losses = [objective.gradient(objective.pick(np.array(at))) for at in ([3, 0, 35, 3], [1])]
        score = objective.evaluate(objective.initial(1), 0, 4, "test")
        gradients.append((losses, gradient.numpy().tobytes(), score))
    assert gradients[0] == gradients[1]


def test_dense_rows_that_take_too_much_memory_are_refused_with_what_to_do(files, monkeypatch):
    monkeypatch.setattr(libsvm_mlp, "DENSE_BYTES", 4 * 44 * 4 - 1)
    with pytest.raises(DataInvalid, match=r"tiny: 44 items x 4 features .* choose `rows: sparse`"):
        LibsvmMlp(data="tiny").build()
    assert LibsvmMlp(data="tiny", rows="sparse").build().train_size == 36


@pytest.mark.parametrize(("workload", "features", "weights"), [(A9aMlp, 123, 1_377_794), (W8aMlp, 300, 1_993_730)])
def test_published_perceptrons_have_the_documented_size(tmp_path, workload, features, weights):
    write(tmp_path / workload().data, [(1, {features: 1.0}), (-1, {1: 1.0})] * 10)
    objective = workload(rows="sparse").build()
    assert objective.layout[-1].stop == weights
    assert f"{weights:,} parameters" in workload.__doc__
    assert sum(isinstance(layer, torch.nn.Sigmoid) for layer in objective.model) == workload().layers
