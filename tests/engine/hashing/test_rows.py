"""Training of touched rows against float64: NumPy for the compiled kernels, torch for their source in Python."""

import importlib.util
import math
import sys

import numpy as np
import pytest
import torch
from hooke.errors import ArgumentError
from hooke.hashing import entries as entries_module
from hooke.hashing import kernels, row_optimizer, rows
from hooke.hashing.active import ActiveSets, Assembler
from hooke.hashing.entries import by_row
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.threads import Threads

KINDS = [("sgd", False), ("adagrad", False), ("row-adam", False), ("row-adam", True), ("lazy-adam", False)]
C, WIDTH, B = 220, 37, 19


@pytest.fixture
def in_python(monkeypatch):
    """The source of the kernels in place of their compiled form: in float64 without another compilation."""
    for module in (rows, entries_module, row_optimizer, kernels):
        for name, value in vars(module).copy().items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    monkeypatch.setattr(kernels, "prefetch", lambda *_: None)  # an instruction, not a function


def problem(c=C, width=WIDTH, b=B, dtype=np.float32, seed=0, most=30):
    """Return weights, bias, hidden vectors, and active sets with one to three labels each."""
    random = np.random.default_rng(seed)
    weight, bias = random.standard_normal((c, width)) / 4, random.standard_normal(c) / 4
    vectors = np.maximum(0, random.standard_normal((b, width)))
    rows_of = [random.permutation(c)[: random.integers(4, most)] for _ in range(b)]
    lists = Lists(np.cumsum([0, *map(len, rows_of)]), np.concatenate(rows_of))
    active = ActiveSets(lists, random.integers(1, 4, b))
    return weight.astype(dtype), bias.astype(dtype), vectors.astype(dtype), active


def reference(weight, bias, vectors, active, scale):
    """Return losses, delta and the gradient of the vectors, by the definition in float64."""
    weight, bias, vectors = (x.astype(np.float64) for x in (weight, bias, vectors))
    losses, deltas, gradients = [], [], []
    for i, labels in enumerate(active.positives):
        ids = active.lists.of(i)
        z = weight[ids] @ vectors[i] + bias[ids]
        p, target = np.exp(z) / np.exp(z).sum(), np.zeros(len(ids))
        target[:labels] = 1 / labels
        losses.append(-(target * np.log(p)).sum())
        deltas.append(scale * (p - target))
        gradients.append(deltas[-1] @ weight[ids])
    return np.array(losses), np.concatenate(deltas), np.array(gradients)


def dense_gradient(active, delta, vectors, c):
    """Return the gradients of all rows and biases in float64."""
    weight, bias = np.zeros((c, vectors.shape[1])), np.zeros(c)
    samples = np.repeat(np.arange(len(vectors)), active.lists.sizes)
    np.add.at(weight, active.lists.ids, delta[:, None].astype(np.float64) * vectors[samples])
    np.add.at(bias, active.lists.ids, delta)
    return weight, bias


def close(a, b, tolerance=1e-5):
    return np.abs(a - b).max() <= tolerance * np.abs(b).max()


def test_softmax_over_active_rows_is_its_definition():
    weight, bias, vectors, active = problem()
    output = rows.softmax(active, vectors, weight, bias, threads=Threads(2))
    losses, delta, gradient = reference(weight, bias, vectors, active, 1 / B)
    assert close(output.loss, losses)
    assert close(output.delta, delta)
    assert close(output.gradient, gradient)
    free = rows.softmax(active, vectors, weight, scale=1.0)
    assert close(free.delta, reference(weight, 0 * bias, vectors, active, 1.0)[1])


def test_a_sample_without_labels_has_no_gradient():
    weight, bias, vectors, active = problem()
    active.positives[3] = 0
    output = rows.softmax(active, vectors, weight, bias)
    assert output.loss[3] == 0
    assert not output.gradient[3].any()
    assert not output.delta[active.lists.starts[3] : active.lists.starts[4]].any()


def test_nan_in_a_weight_reaches_the_loss():
    weight, bias, vectors, active = problem()
    weight[active.lists.of(5)[6 % len(active.lists.of(5))], 2] = np.nan
    vectors[5, 2] = 1
    output = rows.softmax(active, vectors, weight, bias)
    assert np.isnan(output.loss[5])
    assert np.isnan(rows.hidden(active.lists, output.delta, weight, bias[:WIDTH])[5]).any()


def test_hidden_vectors_are_rectified_sums_of_rows():
    weight, bias, _, active = problem()
    values = np.random.default_rng(1).standard_normal(len(active.lists.ids), np.float32)
    expected = np.stack([
        np.maximum(0, bias[:WIDTH] + values[a:z].astype(np.float64) @ weight[active.lists.ids[a:z]])
        for a, z in zip(active.lists.starts[:-1], active.lists.starts[1:], strict=True)
    ])  # fmt: skip
    assert close(rows.hidden(active.lists, values, weight, bias[:WIDTH], Threads(2)), expected)


def step_by_definition(kind, momentum, state, g, t, rate, beta1=0.9, beta2=0.999, eps=1e-8):
    """Return the step of one row or bias element in float64; `state` holds its moments and number of steps."""
    state["n"] += 1
    if kind == "sgd":
        return rate * g
    if kind == "lazy-adam":
        state["m"] = beta1 * state["m"] + (1 - beta1) * g
        state["v"] = beta2 * state["v"] + (1 - beta2) * g**2
        return rate * np.sqrt(1 - beta2**t) / (1 - beta1**t) * state["m"] / (np.sqrt(state["v"]) + eps)
    square = (g[:WIDTH] ** 2).mean()  # of the weights; the bias takes part in the step only
    if kind == "adagrad":
        state["v"] += square
        return rate * g / (np.sqrt(state["v"]) + eps)
    state["v"] = beta2 * state["v"] + (1 - beta2) * square
    state["m"] = beta1 * state["m"] + (1 - beta1) * g
    m = state["m"] / (1 - beta1 ** state["n"]) if momentum else g
    return rate * m / (np.sqrt(state["v"] / (1 - beta2 ** state["n"])) + eps)


@pytest.mark.parametrize(("kind", "momentum"), KINDS)
def test_steps_are_those_of_the_definition_and_leave_other_rows_alone(kind, momentum):
    weight, bias, vectors, _ = problem()
    optimizer = RowOptimizer(kind, weight.shape, 0.02, momentum=momentum, biased=True)
    expected = np.column_stack([weight, bias]).astype(np.float64)
    states = [{"n": 0, "m": 0.0, "v": 0.0} for _ in range(C)]
    random, flags = np.random.default_rng(1), np.zeros(C, np.uint8)
    for t in range(1, 6):
        active = problem(seed=t, most=9)[3]
        values = random.standard_normal(len(active.lists.ids), np.float32)
        before = weight.copy(), bias.copy()
        optimizer.step(by_row(active.lists, values, C, Threads(2)), vectors, weight, bias, Threads(2), flags)
        gradient = np.column_stack(dense_gradient(active, values, vectors.astype(np.float64), C))
        touched = np.unique(active.lists.ids)
        for row in touched:
            expected[row] -= step_by_definition(kind, momentum, states[row], gradient[row], t, 0.02)
        others = np.setdiff1d(np.arange(C), touched)
        assert len(others) > 50
        assert np.array_equal(weight[others], before[0][others])
        assert np.array_equal(bias[others], before[1][others])
        assert flags[touched].all()
    assert close(weight, expected[:, :-1])
    assert close(bias, expected[:, -1], 3e-5)
    assert flags.sum() == sum(state["n"] > 0 for state in states)


@pytest.mark.parametrize(("kind", "momentum"), KINDS)
def test_threads_change_no_bit(kind, momentum):
    results = []
    for count in (1, 3):
        threads = Threads(count)
        weight, bias, vectors, active = problem(seed=3)
        optimizer = RowOptimizer(kind, weight.shape, 0.02, momentum=momentum, biased=True)
        for _ in range(3):
            output = rows.softmax(active, vectors, weight, bias, threads=threads)
            optimizer.step(by_row(active.lists, output.delta, C, threads), vectors, weight, bias, threads)
        results.append([weight, bias, optimizer.first, optimizer.second, output.gradient, output.loss])
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_given_gradients_make_the_steps_of_the_samples_that_they_come_from():
    weight, bias, vectors, active = problem()
    values = np.random.default_rng(1).standard_normal(len(active.lists.ids), np.float32)
    entries = by_row(active.lists, values, C)
    optimizer, other = (RowOptimizer("row-adam", weight.shape, 0.02, biased=True) for _ in range(2))
    touched, gradients = optimizer.gradients(entries, vectors, weight, Threads(2))
    dense = np.column_stack(dense_gradient(active, values, vectors.astype(np.float64), C))
    assert sorted(touched.tolist()) == np.unique(active.lists.ids).tolist()
    assert close(gradients, dense[touched])
    given, given_bias = weight.copy(), bias.copy()
    other.step_given(touched, gradients, given, given_bias, Threads(2))
    optimizer.step(entries, vectors, weight, bias)
    assert close(given, weight, 1e-6)
    assert close(given_bias, bias, 1e-6)


def test_hogwild_with_one_sample_is_a_step_of_sgd():
    weight, bias, vectors, active = problem(b=1)
    other, other_bias = weight.copy(), bias.copy()
    output = rows.softmax(active, vectors, weight, bias)
    RowOptimizer("sgd", weight.shape, 0.3, biased=True).step(
        by_row(active.lists, output.delta, C), vectors, weight, bias
    )
    rows.softmax(active, vectors, other, other_bias, hogwild_rate=0.3)
    assert close(other, weight, 1e-6)
    assert close(other_bias, bias, 1e-6)


def test_with_all_rows_active_training_is_that_of_torch(in_python):
    """20 steps of lazy Adam in float64 on every row are those of Adam along torch's gradients."""
    c, width, b = 9, 5, 4
    weight, bias, _, _ = problem(c, width, 1, np.float64)
    random = np.random.default_rng(2)
    theirs = torch.nn.Parameter(torch.tensor(np.column_stack([weight, bias])))
    m, v = torch.zeros_like(theirs), torch.zeros_like(theirs)
    optimizer = RowOptimizer("lazy-adam", weight.shape, 0.05, biased=True, dtype=np.float64)
    assembler = Assembler(c, c, uniform=0, least=c)
    for step in range(20):
        vectors = random.standard_normal((b, width))
        labels = [random.permutation(c)[:2] for _ in range(b)]
        active = assembler.per_sample(step, Lists(np.arange(0, 2 * b + 1, 2), np.concatenate(labels)))
        output = rows.softmax(active, vectors, weight, bias)
        h = torch.tensor(vectors, requires_grad=True)
        logs = torch.log_softmax(h @ theirs[:, :-1].T + theirs[:, -1], 1)
        losses = -torch.stack([logs[i, torch.tensor(labels[i])].mean() for i in range(b)])
        gradient, of_h = torch.autograd.grad(losses.mean(), [theirs, h])
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        rate = 0.05 * math.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        with torch.no_grad():
            theirs -= rate * m / (v.sqrt() + 1e-8)
        optimizer.step(by_row(active.lists, output.delta, c), vectors, weight, bias)
        assert close(output.loss, losses.detach().numpy(), 1e-10)
        assert close(output.gradient, of_h.numpy(), 1e-10)
        assert close(np.column_stack([weight, bias]), theirs.detach().numpy(), 1e-10)


def test_gradients_over_active_rows_are_differences_of_the_loss(in_python):
    weight, bias, vectors, active = problem(8, 3, 2, np.float64, seed=4, most=6)
    output = rows.softmax(active, vectors, weight, bias, scale=1.0)
    touched, gradients = RowOptimizer("sgd", weight.shape, biased=True, dtype=np.float64).gradients(
        by_row(active.lists, output.delta, 8), vectors, weight
    )
    step = 1e-6
    for row, gradient in zip(touched, gradients, strict=True):
        for k in range(3):
            ends = []
            for sign in (1, -1):
                moved = weight.copy()
                moved[row, k] += sign * step
                ends.append(rows.softmax(active, vectors, moved, bias).loss.sum())
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(gradient[k], abs=1e-8)


def test_entries_are_those_of_the_lists_in_the_order_of_the_samples():
    active = problem()[3]
    values = np.arange(len(active.lists.ids), dtype=np.float32)
    entries = by_row(active.lists, values, C, Threads(3))
    samples = np.repeat(np.arange(B), active.lists.sizes)
    found = {}
    for part in range(len(entries.distinct)):
        ends = [*range(entries.parts[part], entries.parts[part] + entries.distinct[part])]
        for at in ends:
            last = entries.starts[at + 1] if at + 1 in ends else entries.parts[part + 1]
            mine = slice(entries.starts[at], last)
            found[int(entries.rows[at])] = [entries.samples[mine].tolist(), entries.values[mine].tolist()]
    expected = {
        int(row): [samples[active.lists.ids == row].tolist(), values[active.lists.ids == row].tolist()]
        for row in np.unique(active.lists.ids)
    }
    assert found == expected


def test_wrong_arguments_are_refused():
    weight, bias, vectors, active = problem()
    values = np.ones(len(active.lists.ids), np.float32)
    entries = by_row(active.lists, values, C)
    refused = [
        (lambda: RowOptimizer("adam", weight.shape), "sgd, adagrad, row-adam, lazy-adam"),
        (lambda: RowOptimizer("sgd", weight.shape, 0.0), "rate is 0.0"),
        (lambda: RowOptimizer("sgd", weight.shape).step(entries, vectors, weight, bias), "biased = False"),
        (lambda: RowOptimizer("sgd", (C, 3)).step(entries, vectors, weight), "optimizer of"),
        (lambda: RowOptimizer("sgd", weight.shape).step(entries, vectors[1:], weight), "18 float32 vectors"),
        (lambda: by_row(active.lists, values, 10), "range\\(10\\)"),
        (lambda: by_row(active.lists, values[1:], C), "values given for"),
        (lambda: rows.softmax(active, vectors[1:], weight, bias), "19 active sets given for 18"),
        (lambda: rows.softmax(active, vectors, weight[:10], bias), "range\\(10\\)"),
        (lambda: rows.softmax(active, vectors.astype(np.float64), weight, bias), "float64 vectors"),
        (lambda: rows.hidden(active.lists, values[1:], weight, bias), "values given for"),
        (lambda: Threads(0), "number of threads is 0"),
    ]
    for call, message in refused:
        with pytest.raises(ArgumentError, match=message):
            call()


def test_a_missing_numba_is_told_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    spec = importlib.util.find_spec("hooke.hashing.jit")
    with pytest.raises(ArgumentError, match="numba, which is not installed: pip install"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_an_error_in_any_thread_is_raised():
    def fail(begin, end):
        if begin > 0:
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        Threads(3).over(100, fail)
