"""Active sets with a common draw: the same sets, numbers and steps as over the lists of the samples."""

import math

import numpy as np
import pytest
import torch
from hooke.errors import ArgumentError
from hooke.hashing import drawn, drawn_kernels, kernels, row_optimizer
from hooke.hashing import entries as entries_module
from hooke.hashing.active import ActiveSets, Assembler
from hooke.hashing.drawn import derivatives, gradients, train
from hooke.hashing.entries import by_row
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.threads import Threads

from tests.engine.hashing.test_rows import KINDS, close, dense_gradient, reference

C, WIDTH, B = 300, 37, 19


@pytest.fixture
def in_python(monkeypatch):
    """The source of the kernels in place of their compiled form: in float64 without another compilation."""
    for module in (drawn, drawn_kernels, entries_module, row_optimizer, kernels):
        for name, value in vars(module).copy().items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    for module in (kernels, drawn_kernels):
        monkeypatch.setattr(module, "prefetch", lambda *_: None)  # an instruction, not a function


def lists_of(rows):
    return Lists(np.cumsum([0, *map(len, rows)]), np.array([i for row in rows for i in row], np.int32))


def random_lists(seed, most, low=1, b=B, c=C):
    random = np.random.default_rng(seed)
    return lists_of([random.permutation(c)[: random.integers(low, most)].tolist() for _ in range(b)])


def problem(seed=0, uniform=90, step=4, dtype=np.float32, c=C, width=WIDTH, b=B, least=110, most=60):
    """Return weights, biases, hidden vectors and sets: labels in the draw and not, candidates, further rows."""
    random = np.random.default_rng(seed)
    assembler = Assembler(c, min(c, max(130, uniform)), min(c, uniform), least=min(c, least), seed=3)
    candidates = random_lists(seed + 1, min(c, most), b=b, c=c)
    sets = assembler.drawn(step, random_lists(seed, 4, b=b, c=c), candidates)
    weight, bias = random.standard_normal((c, width)) / 4, random.standard_normal(c) / 4
    vectors = np.maximum(0, random.standard_normal((b, width)))
    return weight.astype(dtype), bias.astype(dtype), vectors.astype(dtype), sets


def as_lists(sets):
    """Return the same sets as one list per sample, labels first, and where each row of a list is among them."""
    rows, positives = [], []
    for i, count in enumerate(sets.own.positives):
        own, labels = sets.own.lists.of(i), sets.drawn[sets.targets.of(i)]
        others = np.setdiff1d(sets.drawn, labels)
        rows.append(np.concatenate([own[:count], labels, own[count:], others]).tolist())
        positives.append(count + len(labels))
    return ActiveSets(lists_of(rows), np.array(positives))


def in_order_of(active, sets, output):
    """Return the derivatives in the order of the lists."""
    found = []
    for i in range(len(active.positives)):
        first, last = sets.own.lists.starts[i : i + 2]
        at = dict(zip(sets.own.lists.of(i).tolist(), output.delta[first:last].tolist(), strict=True))
        at |= dict(zip(sets.drawn.tolist(), output.shared[i].tolist(), strict=True))
        found += [at[row] for row in active.lists.of(i).tolist()]
    return np.array(found)


@pytest.mark.parametrize(("cap", "uniform", "least"), [(60, 20, 40), (40, 0, 40), (C, 220, 0), (C, C, 0)])
def test_sets_are_those_of_the_lists_of_the_samples(cap, uniform, least):
    labels, candidates = random_lists(1, 9), random_lists(2, 100)
    labels.ids[:2] = labels.ids[0]  # a label given twice
    for step in range(8):  # draws cross the ends of passes: a row may be drawn twice
        assembler = Assembler(C, cap, uniform, least, seed=3)
        sets = assembler.drawn(step, labels, candidates, Threads(2))
        expected = assembler.per_sample(step, labels, candidates)
        assert len(set(sets.drawn.tolist())) == len(sets.drawn)
        for i in range(B):
            ids, positive = sets.of(i).tolist(), expected.positives[i]
            assert sorted(ids) == sorted(expected.lists.of(i).tolist())
            own = sets.own.lists.of(i)[: sets.own.positives[i]].tolist()
            assert sorted([*own, *sets.drawn[sets.targets.of(i)].tolist()]) == sorted(
                expected.lists.of(i)[:positive].tolist()
            )
        assert np.array_equal(sets.sizes, expected.lists.sizes)


@pytest.mark.parametrize("uniform", [0, 90, C])
def test_derivatives_are_those_of_the_definition(uniform):
    weight, bias, vectors, sets = problem(uniform=uniform)
    active = as_lists(sets)
    for scale, b in ((None, bias), (1.0, None)):
        output = derivatives(sets, vectors, weight, b, scale=scale, threads=Threads(2))
        expected = reference(weight, bias * (b is not None), vectors, active, scale or 1 / B)
        found = output.loss, in_order_of(active, sets, output), output.gradient
        assert all(close(x, y) for x, y in zip(found, expected, strict=True))


@pytest.mark.parametrize(("kind", "momentum"), KINDS)
def test_steps_are_those_of_the_lists(kind, momentum):
    weight, bias, vectors, _ = problem()
    other, other_bias, flags = weight.copy(), bias.copy(), np.zeros((2, C), np.uint8)
    mine, theirs = (RowOptimizer(kind, weight.shape, 0.02, momentum=momentum, biased=True) for _ in range(2))
    before = weight.copy()
    for step in range(3):
        sets = problem(seed=step, uniform=40, step=step, least=0, most=15)[3]
        assert (np.bincount(sets.own.lists.ids) == 1).sum() > 10, "rows that one sample touches"
        train(sets, vectors, weight, mine, bias, threads=Threads(2), touched=flags[0])
        active = as_lists(sets)
        delta = reference(other, other_bias, vectors, active, 1 / B)[1].astype(np.float32)
        theirs.step(by_row(active.lists, delta, C), vectors, other, other_bias, touched=flags[1])
    assert np.array_equal(*flags)
    assert 0 < flags[0].sum() < C
    assert np.array_equal(weight[flags[0] == 0], before[flags[0] == 0])
    assert close(weight - before, other - before, 1e-3)
    assert close(bias, other_bias, 1e-4)


def test_gradients_of_rows_are_sums_over_samples():
    weight, bias, vectors, sets = problem()
    output = derivatives(sets, vectors, weight, bias)
    optimizer = RowOptimizer("sgd", weight.shape, biased=True)
    rows, found = gradients(sets, output, vectors, weight, optimizer, Threads(2))
    active = as_lists(sets)
    dense = np.column_stack(dense_gradient(active, in_order_of(active, sets, output), vectors, C))
    assert sorted(rows.tolist()) == np.unique(active.lists.ids).tolist()
    assert close(found, dense[rows])


@pytest.mark.parametrize(("kind", "momentum"), [("sgd", False), ("row-adam", True)])
def test_threads_change_no_bit(kind, momentum):
    results = []
    for count in (1, 3):
        weight, bias, vectors, _ = problem(b=40)
        optimizer = RowOptimizer(kind, weight.shape, 0.02, momentum=momentum, biased=True)
        for step in range(3):
            sets = problem(seed=step, step=step, b=40)[3]
            output = train(sets, vectors, weight, optimizer, bias, threads=Threads(count))
        results.append([weight, bias, optimizer.first, optimizer.second, output.gradient, output.loss])
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_with_all_rows_active_training_is_that_of_torch(in_python):
    """10 steps of lazy Adam in float64 on every row are those of Adam along torch's gradients."""
    c, width, b = 9, 5, 4
    weight, bias, _, _ = problem(dtype=np.float64, c=c, width=width, b=1)
    random = np.random.default_rng(2)
    theirs = torch.nn.Parameter(torch.tensor(np.column_stack([weight, bias])))
    m, v = torch.zeros_like(theirs), torch.zeros_like(theirs)
    optimizer = RowOptimizer("lazy-adam", weight.shape, 0.05, biased=True, dtype=np.float64)
    for step in range(10):
        vectors = random.standard_normal((b, width))
        labels = [random.permutation(c)[:2].tolist() for _ in range(b)]
        sets = Assembler(c, c, uniform=4, least=c, seed=1).drawn(step, lists_of(labels))
        h = torch.tensor(vectors, requires_grad=True)
        logs = torch.log_softmax(h @ theirs[:, :-1].T + theirs[:, -1], 1)
        losses = -torch.stack([logs[i, torch.tensor(labels[i])].mean() for i in range(b)])
        gradient, of_h = torch.autograd.grad(losses.mean(), [theirs, h])
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        rate = 0.05 * math.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        with torch.no_grad():
            theirs -= rate * m / (v.sqrt() + 1e-8)
        output = train(sets, vectors, weight, optimizer, bias)
        assert close(output.loss, losses.detach().numpy(), 1e-10)
        assert close(output.gradient, of_h.numpy(), 1e-10)
        assert close(np.column_stack([weight, bias]), theirs.detach().numpy(), 1e-10)


def test_probabilities_are_exact_to_single_precision_down_to_the_smallest():
    logits = np.linspace(-80, 3, C).astype(np.float32)
    sets = Assembler(C, C, uniform=C).drawn(0, lists_of([[C - 1]]))
    one, weight = np.ones((1, 1), np.float32), logits[:, None].copy()
    found = derivatives(sets, one, weight, scale=1.0).shared[0]
    found[sets.targets.ids[0]] += 1
    expected = np.exp(logits[sets.drawn].astype(np.float64))
    expected /= expected.sum()
    others = sets.drawn != C - 1
    assert np.abs(found / expected - 1)[others].max() < 1e-5
    assert found[~others] == pytest.approx(expected[~others], rel=1e-6)


@pytest.mark.parametrize("where", ["drawn", "own"])
def test_nan_in_a_weight_reaches_the_loss(where):
    weight, bias, vectors, sets = problem()
    row = sets.drawn[5] if where == "drawn" else sets.own.lists.of(7)[-1]
    weight[row, 2] = np.nan
    vectors[7, 2] = 1
    output = derivatives(sets, vectors, weight, bias)
    assert np.isnan(output.loss[7])
    assert np.isnan(output.gradient[7]).any()


def test_a_sample_without_labels_has_no_gradient():
    weight, bias, vectors, _ = problem()
    rows = [[i] if i != 3 else [] for i in range(B)]
    sets = Assembler(C, 100, 30, least=60).drawn(0, lists_of(rows))
    output = derivatives(sets, vectors, weight, bias)
    assert output.loss[3] == 0
    assert not output.gradient[3].any()
    assert not output.shared[3].any()
    assert not output.delta[sets.own.lists.starts[3] : sets.own.lists.starts[4]].any()


def test_wrong_arguments_are_refused():
    weight, bias, vectors, sets = problem()
    refused = [
        (lambda: Assembler(C, 10, 2, groups=3).drawn(0, lists_of([[1]])), "3 groups share no draw"),
        (lambda: Assembler(C, 10, 2).drawn(0, lists_of([[C]])), "labels are 300"),
        (lambda: derivatives(sets, vectors[1:], weight, bias), "19 active sets given for 18"),
        (lambda: derivatives(sets, vectors, weight[:10], bias[:10]), "range\\(10\\)"),
        (lambda: derivatives(sets, vectors.astype(np.float64), weight, bias), "float64 vectors"),
        (lambda: train(sets, vectors, weight, RowOptimizer("sgd", (C, 3))), "optimizer of"),
        (lambda: train(sets, vectors, weight, RowOptimizer("sgd", weight.shape), bias), "biased = False"),
    ]
    for call, message in refused:
        with pytest.raises(ArgumentError, match=message):
            call()
