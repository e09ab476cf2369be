"""Hashed output layers after training on a planted problem: precision beside the full layer, recall of tables."""

import functools

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.hashing.families import make_family
from hooke.hashing.tables import Tables
from hooke.loop.train import run_spec_virtual
from hooke.workloads.xmlc_mlp import XmlcMlp

LABELS, HELD = 200, 400
PROBLEM = {"labels": LABELS, "features": 1000, "items": 4000, "hidden": 32, "test_items": 10}
HASHED = {"output": "slide", "active": LABELS // 2, "hashes": 4, "tables": 16, "first_rebuild": 20}
HASHED |= {"uniform_share": 0.2}  # a batch has about 60 labels: with half of the set uniform, tables have no room


@functools.cache
def trained(**own):
    """Return the objective at the weights after two passes, and its precision at 1 on the validation part."""
    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp", "parameters": PROBLEM | own},
            "algorithm": {"name": "sgd", "parameters": {"lr": 0.1, "optimizer": "row-adagrad"}},
            "batch": 32,
            "seed": 1,
            "workers": 1,
            "budget": {"samples": 8000},
            "evaluation": {"every": 8000},
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
        }
    )
    (outcome,) = run_spec_virtual(spec, None)
    objective = XmlcMlp(**PROBLEM, **own).build()
    weights = torch.from_numpy(np.array(outcome.weights))
    objective.bind(weights, objective.allocate())
    score = objective.evaluate(weights, 0, HELD)
    return objective, score.correct / score.count


@pytest.mark.parametrize("sets", ["batch", "item"])
def test_half_of_the_labels_reach_about_the_precision_of_all(sets):
    """Within 7 points, 2.5 standard errors of a difference between two means of 400 items."""
    _, whole = trained()
    _, hashed = trained(**HASHED, sets=sets)
    assert whole > 0.75
    assert hashed > whole - 0.07


def test_tables_give_a_batch_labels_of_their_own():
    objective, _ = trained(**HASHED, sets="batch")
    for first in range(0, 160, 32):
        batch = objective.pick(np.arange(first, first + 32))
        own = np.unique(batch.labels.ids.astype(np.int64))
        found = objective.layer.choose(own, objective.hidden_units(batch), objective.rows, None)
        assert found.retrieved >= 10


def test_small_sets_of_retrieved_labels_are_worth_more_than_random_ones():
    """Of 30 labels for each item. On four seeds the difference was 3.5 to 7 points; on the one here it is 7."""
    few = {"active": 30, "sets": "item"}
    _, hashed = trained(**HASHED | few)
    _, random = trained(output="random-active", **few)
    assert hashed > random + 0.02


def recalls(family, hashes, tables):
    """Return which share of the labels with the largest outputs a query returns, and which share of all labels."""
    objective, _ = trained(**HASHED, sets="batch")
    hidden = objective.hidden_units(objective.pick(np.arange(300))).numpy()
    rows, bias = (each.numpy() for each in objective._weights[2:])
    best = np.argsort(-(hidden @ rows.T + bias), axis=1)[:, :5]
    made = make_family(family, rows.shape[1], hashes, tables, 3)
    filled = Tables(tables, made.bits, LABELS)
    filled.build_from(made, rows)
    found = filled.query(made.codes(hidden))
    return np.mean([np.isin(best[i], found.of(i)).mean() for i in range(300)]), found.sizes.mean() / LABELS


@pytest.mark.parametrize(("family", "few", "many"), [("simhash", 4, 8), ("dwta", 1, 3)])
def test_after_training_recall_rises_with_tables_falls_with_hashes_and_beats_chance(family, few, many):
    found = {(k, n): recalls(family, k, n) for k in (few, many) for n in (4, 16, 64)}
    for k in (few, many):
        assert found[k, 4][0] < found[k, 16][0] < found[k, 64][0]
    for n in (4, 16, 64):
        assert found[few, n][0] > found[many, n][0]
    for recall, share in found.values():
        assert recall > share, "more than as many labels at random"
    assert found[many, 16][0] > 3 * found[many, 16][1]
