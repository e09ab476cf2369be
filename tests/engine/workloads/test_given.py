"""What a user gives, refused with a sentence or converted: models that share, data of other types, scores."""

import copy
import gc
import json

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Place
from hooke.errors import DataInvalid
from hooke.objective.given import source
from hooke.objective.given_workload import Given, workload_of
from hooke.objective.samples import Mapped
from hooke.objective.task import cross_entropy, custom
from hooke.spec.specification import Compute
from torch import nn

POINTS = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
CLASSES = np.arange(40) % 3


def built(make, train=(POINTS, CLASSES)):
    return workload_of(Given(make, train, train), "given")().build(Place(Compute(device="cpu")))


def shares_a_layer():
    body = nn.Linear(4, 4)
    return lambda: nn.Sequential(body, nn.Linear(4, 3))


def shares_a_parameter():
    weight = nn.Parameter(torch.randn(3, 4))

    def make():
        model = nn.Linear(4, 3)
        model.weight = weight
        return model

    return make


def shares_statistics():
    norm = nn.BatchNorm1d(4, affine=False)
    return lambda: nn.Sequential(norm, nn.Linear(4, 3))


def shares_a_view():
    counts = torch.zeros(1)

    def make():
        model = nn.Linear(4, 3)
        model.register_buffer("counts", counts[:])
        return model

    return make


def shares_dropout():
    body = nn.Sequential(nn.Dropout(0.5), nn.ReLU())
    return lambda: nn.Sequential(nn.Linear(4, 3), body)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (shares_a_layer, r"`0\.weight`"),
        (shares_a_parameter, "`weight`"),
        (shares_statistics, r"`0\.running_mean`"),
        (shares_a_view, "`counts`"),
        (shares_dropout, r"`1\.0`"),
    ],
)
def test_models_that_share_are_refused(make, what):
    shared = make()
    objective = built(shared)
    said = f"`model`: {what} is that of another model .*copy.deepcopy"
    with pytest.raises(DataInvalid, match=said):
        objective.initial(0)
    with pytest.raises(DataInvalid, match=said):
        built(shared)


def test_copies_and_what_keeps_no_numbers_may_be_shared():
    body, rectify, drop = nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.1)
    make = lambda: nn.Sequential(copy.deepcopy(body), rectify, drop, nn.Linear(4, 3))  # noqa: E731
    objective = built(make)
    again = built(make)
    assert torch.equal(objective.initial(3), again.initial(3))
    tied = lambda: nn.Sequential(layer := nn.Linear(4, 4), nn.ReLU(), layer, nn.Linear(4, 3))  # noqa: E731
    assert torch.equal(built(tied).initial(3), built(tied).initial(3))


def test_models_are_not_kept():
    from hooke.objective.given import ALIVE

    gc.collect()
    before = len(ALIVE)
    objective = built(lambda: nn.Linear(4, 3))
    for seed in range(5):
        objective.initial(seed)
    assert len(ALIVE) == before + 2
    del objective
    gc.collect()
    assert len(ALIVE) == before


@pytest.mark.parametrize(
    "changed",
    [
        lambda x: x[::-1][::-1][:],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(x.dtype.newbyteorder(">")),
        np.asfortranarray,
    ],
)
def test_any_layout_of_an_array_is_read(changed):
    part = source((changed(POINTS), changed(CLASSES)), "train")
    assert np.array_equal(part.inputs.numpy(), POINTS) and np.array_equal(part.labels.numpy(), CLASSES)
    assert (part.dtype, part.label_dtype) == (torch.float32, torch.int64)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ((POINTS.astype(object), CLASSES), "train: an array of numbers is needed, not of object"),
        ((POINTS, CLASSES.astype(str)), "train: an array of numbers is needed, not of <U21"),
        ((POINTS, CLASSES.astype("datetime64[s]")), "train: an array of numbers is needed"),
        ([(POINTS[0], 1, 2)] * 3, "train must be"),
    ],
)
def test_arrays_without_numbers_are_refused(part, said):
    with pytest.raises(DataInvalid, match=said):
        source(part, "train")


class Items:
    """A map-style data set."""

    def __init__(self, item, count=40):
        self.item, self.count = item, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.item(index)


@pytest.mark.parametrize("label", [int, np.uint8, np.int32, np.int16, torch.tensor])
def test_integer_labels_of_a_data_set_are_classes(label):
    part = source(Items(lambda i: (POINTS[i].astype(np.float64), label(int(CLASSES[i])))), "train")
    assert (part.dtype, part.label_dtype) == (torch.float32, torch.int64)
    items, labels = torch.empty(3, 4), torch.empty(3, dtype=torch.int64)
    part.read(torch.tensor([1, 5, 3]), items, labels, None)
    assert labels.tolist() == CLASSES[[1, 5, 3]].tolist() and np.array_equal(items.numpy(), POINTS[[1, 5, 3]])


def test_other_types_of_a_data_set_are_those_of_arrays():
    for kind in (np.uint8, np.int16, np.int64, np.float16, np.float64, bool):
        values = np.ones((5, 2), kind)
        pair, items = source((values, values), "train"), source(Items(lambda i: (values[i],) * 2, 5), "train")  # noqa: B023
        assert (pair.dtype, pair.label_dtype) == (items.dtype, items.label_dtype)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (lambda i: (POINTS[i], 1, 1), r"train: item 0 must be \(input, label\), not a tuple of 3"),
        (lambda i: {"x": POINTS[i], "y": 1}, r"train: item 0 must be \(input, label\), not dict"),
        (lambda i: POINTS[i], r"train: item 0 must be \(input, label\), not ndarray"),
        (lambda i: ("a", 1), "train: item 0: numbers are needed, as a tensor, an array or a number, not str"),
        (lambda i: (POINTS[i], None), "train: item 0: numbers are needed, .* not NoneType"),
    ],
)
def test_items_of_another_form_are_refused(item, said):
    with pytest.raises(DataInvalid, match=said):
        source(Items(item), "train")


def test_an_item_of_another_shape_is_refused():
    part = Mapped(Items(lambda i: (POINTS[i, : 1 if i == 7 else 4], 1)), "train")
    with pytest.raises(DataInvalid, match=r"train: item 7 has the shapes \(1,\) and \(\), not \(4,\) and \(\)"):
        part.read(torch.tensor([2, 7]), torch.empty(2, 4), torch.empty(2, dtype=torch.int64), None)


@pytest.mark.parametrize("value", [24.0, -0.1, float("nan"), 1.01])
def test_a_score_is_a_share(value):
    task = custom(cross_entropy, lambda output, labels: value)
    with pytest.raises(DataInvalid, match=f"`score` returns the share .* not {value:g}: .*number of labels"):
        task.score(torch.zeros(5, 2), torch.zeros(5, dtype=torch.int64))


@pytest.mark.parametrize(("value", "right"), [(0, 0), (1, 5), (torch.tensor(0.6), 3), (1 + 1e-7, 5)])
def test_a_share_is_counted(value, right):
    task = custom(cross_entropy, lambda output, labels: value)
    assert task.score(torch.zeros(5, 2), torch.zeros(5, dtype=torch.int64)).correct == right


def test_lazy_layers_are_refused():
    with pytest.raises(DataInvalid, match=r"model\(\): 0.weight has no shape yet: .*lazy"):
        built(lambda: nn.Sequential(nn.LazyLinear(3)))


def test_calls_of_one_dropout_differ_and_are_those_of_the_seed():
    """Twice in one forward pass, for two steps of two ranks; the first call draws what a single one does."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.drop, self.masks = nn.Linear(4, 3), nn.Dropout(0.5), []

        def forward(self, inputs):
            if self.training:
                self.masks += [self.drop(torch.ones(64)).tolist() for _ in range(2)]
            return self.last(inputs)

    def masks(rank):
        place = Place(Compute(device="cpu"), 0, rank)
        objective = workload_of(Given(Twice, (POINTS, CLASSES), (POINTS, CLASSES)), "given")().build(place)
        for _ in range(2):
            objective.gradient(objective.pick(range(4)))
        return objective.model.masks

    first, other = masks(0), masks(1)
    assert first == masks(0)
    assert len({json.dumps(mask) for mask in first + other}) == 8


def test_a_pass_that_is_computed_again_has_the_same_mask():
    """`torch.utils.checkpoint` computes a forward pass a second time for the backward one."""

    class Again(nn.Module):
        def __init__(self, again, calls=1):
            super().__init__()
            self.body, self.again = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)), again
            self.calls = calls

        def forward(self, inputs):
            if not (self.training and self.again):
                return self.body(inputs)
            again = torch.utils.checkpoint.checkpoint
            return sum(again(self.body, inputs, use_reentrant=False) for _ in range(self.calls))

    gradients = []
    for again in (True, False):
        objective = built(lambda: Again(again))  # noqa: B023
        weights, gradient = objective.initial(0), objective.allocate()
        objective.bind(weights, gradient)
        objective.gradient(objective.pick(range(8)))
        gradients.append(gradient)
    assert torch.equal(*gradients)
    objective = built(lambda: Again(True, 2))
    with pytest.raises(DataInvalid, match="a dropout that is used several times .* a dropout of its own"):
        objective.gradient(objective.pick(range(8)))
