"""Items that do not fit, anywhere in the data: told before anything is measured, by argument and place."""

import threading

import hooke
import numpy as np
import pandas
import pytest
import torch
from hooke.errors import ArgumentError
from hooke.objective.flat import FlatObjective
from hooke.objective.given import source
from torch import nn

from tests.engine.notebook.data import GIVEN, QUICK, TEST, TRAIN, model

TRY = {"methods": {"sgd": {"lr": 0.1}}, **GIVEN, **QUICK, "samples": 16}


def with_label(part, index, label):
    labels = part[1].copy()
    labels[index] = label
    return part[0], labels


def with_input(part, index, number):
    inputs = part[0].copy()
    inputs[index, 1] = number
    return inputs, part[1]


class Torn(nn.Linear):
    """A model whose initial weights are no numbers."""

    def __init__(self):
        super().__init__(2, 2)
        nn.init.constant_(self.weight, float("nan"))


def first_held_out():
    """Return a training item of which the rule makes a validation item."""
    from hooke.objective.parts import held_out

    return int(held_out(len(TRAIN[1]))[1][17])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"train": with_label(TRAIN, 431, 2)},
            r"`train`: item 431, with label 2, does not fit `model` and `loss`: IndexError: Target 2 is out of",
        ),
        ({"train": with_label(TRAIN, first_held_out(), 7)}, f"`train`: item {first_held_out()}, with label 7,"),
        ({"train": with_label(TRAIN, 400, -1)}, "`train`: item 400, with label -1, does not fit"),
        ({"validation": with_label(TEST, 50, 2)}, "`validation`: item 50, with label 2, does not fit"),
        ({"test": with_label(TEST, 99, 3)}, "`test`: item 99, with label 3, does not fit"),
        (
            {"train": with_input(TRAIN, 500, np.nan)},
            "`train`: item 500, with NaN or infinite numbers in its input, has a loss of nan: correct it, or",
        ),
        ({"train": with_input(TRAIN, first_held_out(), np.nan)}, f"`train`: item {first_held_out()}, with NaN"),
        ({"test": with_input(TEST, 60, np.nan)}, "`test`: item 60, with NaN or infinite numbers in its input,"),
        (
            {"train": (TRAIN[0], TRAIN[1][:, None]), "validation": (TEST[0], TEST[1][:, None])},
            r"an item has labels of shape \(1,\), but one output per class, of shape \(2,\): give one class per",
        ),
        ({"model": lambda: 1 / 0}, "the model could not be made, or the data could not be read: ZeroDivision"),
        ({"model": Torn}, "the first loss, at the initial weights, is nan: every run would diverge"),
        (
            {"train": (pandas.DataFrame(TRAIN[0]), pandas.Series(TRAIN[1]))},
            r"train must be \(inputs, labels\), .* not DataFrame and Series: convert them by numpy.asarray",
        ),
        ({"train": pandas.DataFrame(TRAIN[0])}, r"train: item 0 must be \(input, label\), not Series"),
        ({"test": {"x": TEST[0], "y": TEST[1]}}, r"test: its first item, \[0\], cannot be read: KeyError: 0"),
    ],
)
def test_an_item_that_does_not_fit_is_named(changed, said):
    with pytest.raises(ArgumentError, match=said):
        hooke.compare(**TRY | changed)


def test_a_character_beyond_the_table_is_named():
    texts = np.random.default_rng(1).integers(0, 9, (300, 4))
    texts[200, 3] = 9
    net = lambda: nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(12, 2))  # noqa: E731
    given = {"model": net, "train": (texts, TRAIN[1][:300]), "test": (texts[:50], TEST[1][:50])}
    with pytest.raises(ArgumentError, match="`train`: item 200, with input 9, does not fit `model` and `lo"):
        hooke.compare(**TRY | given)


def test_what_a_model_accepts_is_not_refused():
    """Missing numbers that the model fills in, and labels that the loss leaves out."""

    class Filled(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = model()

        def forward(self, x):
            return self.net(torch.nan_to_num(x))

    train = with_label(with_input(TRAIN, 500, np.nan), 20, -100)
    found = hooke.compare(**TRY | {"model": Filled, "train": train})
    assert str(found.runs[0].figures.state) == "succeeded"


def test_statistics_of_a_normalisation_need_no_batch_of_one():
    """Batch statistics are renewed over 257 items in batches of 256."""
    normed = lambda: nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))  # noqa: E731
    train = TRAIN[0][:257], TRAIN[1][:257]
    found = hooke.compare(**TRY | {"model": normed, "train": train, "validation": TEST})
    assert found.runs[0].evaluations[-1].accuracy > 0


def test_a_model_that_is_made_meanwhile_is_not_taken_for_a_draw():
    """Another comparison of the process makes its model, from the global generator, while a gradient is tested."""
    data = source(TRAIN, "train")
    inside, tested = threading.Event(), threading.Event()

    def other():
        inside.set()
        tested.wait(5)
        return model()

    making = threading.Thread(target=FlatObjective, args=(other, data, data))

    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = model()

        def forward(self, x):
            if not making.ident:
                making.start()
            inside.wait(0.2)
            return self.net(x)

    objective = FlatObjective(Slow, data, data, initialise="own")
    try:
        assert objective.gradient(objective.pick(range(8))) > 0
    finally:
        tested.set()
        making.join()


def test_two_comparisons_at_once_give_the_bits_of_one():
    found = {}

    def run(name):
        found[name] = hooke.compare(**TRY | {"name": name, "samples": 160, "evaluate_every": 80})

    threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    run("alone")
    evaluations = {name: each.runs[0].evaluations for name, each in found.items()}
    assert evaluations["one"] == evaluations["two"] == evaluations["alone"]
