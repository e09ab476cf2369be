"""Runs of `slide` against a network that is written out in float64 NumPy, on data without structure.

Hash tables are sets of labels with equal signs; active sets, softmax, gradients and row-wise Adagrad follow from
the definitions. Items have no, few or many features, values of any sign and size, and one label never occurs.
"""

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import ALONE
from hooke.hashing.families import make_family
from hooke.loop.train import run_spec_virtual
from hooke.objective.bags import Bags, Csr, starts_of
from hooke.objective.wide_building import assembler_of, objective_of
from hooke.workloads.xmlc_mlp import XmlcMlp

LABELS, FEATURES, HIDDEN, ITEMS, BATCH, STEPS, LR = 60, 25, 6, 40, 4, 9, 0.3
HASHES, TABLES, TIMES = 3, 6, 3
WORKLOAD = {
    "hidden": HIDDEN,
    "output": "slide",
    "active": LABELS,
    "hashes": HASHES,
    "tables": TABLES,
    "bucket": LABELS,
    "sampling": "threshold",
    "threshold": TIMES,
    "uniform_share": 0.2,
    "first_rebuild": 2,
    "rebuild_growth": 0.0,
}


def bags(seed):
    """Return items of which every fifth has no feature; label 7 is that of none."""
    random = np.random.default_rng(seed)
    features = [
        np.sort(random.permutation(FEATURES)[: 0 if i % 5 == 0 else random.integers(1, 9)]) for i in range(ITEMS)
    ]
    known = np.setdiff1d(np.arange(LABELS), [7])
    labels = [np.sort(random.permutation(known)[: random.integers(1, 5)]) for _ in range(ITEMS)]
    values = random.standard_cauchy(sum(map(len, features))).clip(-5, 5).astype(np.float32)
    rows = (
        Csr(starts_of(np.array([*map(len, each)])), np.concatenate(each).astype(np.int32), own)
        for each, own in ((features, values), (labels, None))
    )
    return Bags(*rows, FEATURES, LABELS)


def items(batch):
    f, y = batch.features, batch.labels
    for i in range(len(batch)):
        own = slice(f.starts[i], f.starts[i + 1])
        yield f.ids[own], f.values[own].astype(np.float64), y.ids[y.starts[i] : y.starts[i + 1]]


def trained(sets):
    """Return the weights before and after a run, and its batches."""
    workload, batches, before = XmlcMlp(**WORKLOAD, sets=sets), [], []

    def make():
        objective = objective_of(workload, (bags(1), bags(2), None), ALONE)
        gradient, initial = objective.gradient, objective.initial

        def noted(batch):
            batches.append(batch)
            return gradient(batch)

        def began(seed):
            before.append(initial(seed))
            return before[-1].clone()

        objective.gradient, objective.initial = noted, began
        return objective

    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp"},
            "algorithm": {"name": "sgd", "parameters": {"lr": LR, "optimizer": "row-adagrad"}},
            "batch": BATCH,
            "seed": 5,
            "workers": 1,
            "budget": {"samples": BATCH * STEPS},
            "evaluation": {"every": BATCH * STEPS},
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
        }
    )
    (outcome,) = run_spec_virtual(spec, None, make)
    return before[0].numpy().astype(np.float64), np.array(outcome.weights), batches, workload


def cut(vector):
    ends = np.cumsum([FEATURES * HIDDEN, HIDDEN, LABELS * HIDDEN])
    w1, b1, w2, b2 = np.split(vector, ends)
    return [w1.reshape(FEATURES, HIDDEN), b1[:, None], w2.reshape(LABELS, HIDDEN), b2[:, None]]


def signs(planes, vectors):
    """Return of every vector the signs of each table, (n, tables, hashes)."""
    return (vectors @ planes.T < 0).reshape(len(vectors), TABLES, HASHES)


def by_hand(start, batches, workload, sets):
    """Return the weights after these batches, and how many labels tables gave."""
    planes = make_family("simhash", HIDDEN, HASHES, TABLES, 0)._plane[:, :HIDDEN].astype(np.float64)
    weights, given = [each.copy() for each in cut(start)], 0
    sums = [np.zeros(len(each)) for each in weights]
    draws = assembler_of(workload, LABELS, ALONE)
    for step, batch in enumerate(batches):
        w1, b1, w2, b2 = weights
        if step % 2 == 0:
            tables = signs(planes, w2)
        drawn = set(draws.draws(step).ravel().tolist())
        entries = list(items(batch))
        units = [np.maximum(0, b1[:, 0] + values @ w1[ids]) for ids, values, _ in entries]
        found = []
        for h in units:
            hits = (signs(planes, h[None])[0] == tables).all(axis=2).sum(axis=1)
            found.append(set(np.flatnonzero(hits >= TIMES).tolist()))
            given += len(found[-1])
            assert len(found[-1]) <= (LABELS - len(drawn)) // BATCH, "no query is cut short"
        every = set().union(drawn, *found, *(set(labels.tolist()) for _, _, labels in entries))
        gradients = [np.zeros_like(each) for each in weights]
        for (ids, values, labels), h, own in zip(entries, units, found, strict=True):
            active = sorted(every if sets == "batch" else drawn | own | set(labels.tolist()))
            z = w2[active] @ h + b2[active, 0]
            delta = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
            delta[np.searchsorted(active, labels)] -= 1 / len(labels)
            delta /= BATCH
            back = (delta @ w2[active]) * (h > 0)
            gradients[0][ids] += values[:, None] * back
            gradients[1][:, 0] += back
            gradients[2][active] += delta[:, None] * h
            gradients[3][active, 0] += delta
        for place, g in enumerate(gradients):
            sums[place] += (g**2).mean(axis=1)
            weights[place] = weights[place] - LR * g / (np.sqrt(sums[place]) + 1e-8)[:, None]
    return np.concatenate([each.ravel() for each in weights]), given


@pytest.mark.parametrize("sets", ["batch", "item"])
def test_a_run_is_that_of_its_definition(sets):
    start, end, batches, workload = trained(sets)
    assert len(batches) == STEPS and any(not len(ids) for batch in batches for ids, _, _ in items(batch))
    expected, given = by_hand(start, batches, workload, sets)
    assert given > STEPS, "tables give labels"
    moved = np.abs(expected - start).max()
    np.testing.assert_allclose(end, expected, rtol=1e-3, atol=1e-3 * moved)
    assert np.abs(end - start).max() > 0.5
