"""`slide` with elastic averaging: exchanges of touched rows, of hashed layers on two ranks."""

import json

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import ALONE
from hooke.loop.train import run_spec_virtual
from hooke.objective.bags import Bags, Csr
from hooke.objective.wide_building import objective_of
from hooke.workloads.xmlc_mlp import XmlcMlp

LABELS, FEATURES, ITEMS, HIDDEN = 40, 12, 200, 8
HASHED = {"output": "slide", "hashes": 3, "tables": 6, "first_rebuild": 3, "rebuild_growth": 0.0, "hidden": HIDDEN}


def bags(features, seed):
    """Return items with so many of all features, and one label each."""
    random = np.random.default_rng(seed)
    ids = np.sort(random.permuted(np.tile(np.arange(FEATURES), (ITEMS, 1)), axis=1)[:, :features], axis=1)
    starts = np.arange(ITEMS + 1) * features
    values = random.uniform(0.1, 1.0, ITEMS * features).astype(np.float32)
    labels = Csr(np.arange(ITEMS + 1), random.integers(0, LABELS, ITEMS).astype(np.int32))
    return Bags(Csr(starts, ids.ravel().astype(np.int32), values), labels, FEATURES, LABELS)


def ranks(folder, rows, features, parameters, **own):
    """Run two ranks; return what each has at the end, the rows of every gradient, and the bytes of the run."""
    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp"},
            "algorithm": {
                "name": "sync-easgd3",
                "parameters": {"lr": 0.2, "optimizer": "row-adagrad", **parameters},
            },
            "communication": {"rows": rows},
            "batch": 4,
            "seed": 3,
            "workers": 2,
            "budget": {"samples": 160},
            "evaluation": {"every": 80},
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
        }
    )
    workload, touched = XmlcMlp(**HASHED, **own), []

    def make():
        objective = objective_of(workload, (bags(features, 1), bags(features, 2), None), ALONE)
        gradient = objective.gradient

        def noted(batch):
            loss = gradient(batch)
            touched.append(
                [rows_of.count if rows_of.ids is None else len(rows_of.ids) for rows_of in objective.touched]
            )
            return loss

        objective.gradient = noted
        return objective

    outcomes = run_spec_virtual(spec, folder / f"{rows}-{features}", make)
    last = (folder / f"{rows}-{features}" / "journal.0.jsonl").read_text().splitlines()[-1]
    return outcomes, touched, json.loads(last)["wire"]


@pytest.mark.parametrize("sets", ["batch", "item"])
@pytest.mark.parametrize("parameters", [{"beta": 0.6}, {"beta": 0.6, "pipelined": True}])
def test_where_all_rows_are_touched_every_bit_is_that_of_whole_vectors(tmp_path, sets, parameters):
    every = {"active": LABELS, "uniform_share": 1.0, "sets": sets, "parameters": parameters}
    some, touched, _ = ranks(tmp_path, "touched", FEATURES, **every)
    whole, _, _ = ranks(tmp_path, "all", FEATURES, **every)
    assert touched == [[FEATURES, HIDDEN, LABELS, LABELS]] * len(touched) and len(touched) == 40
    for one, other in zip(some, whole, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
        assert np.isfinite(one.weights).all()


@pytest.mark.parametrize("sets", ["batch", "item"])
def test_few_rows_take_few_bytes(tmp_path, sets):
    few = {"active": 8, "uniform_share": 0.5, "sets": sets, "parameters": {"beta": 0.6}}
    some, touched, sent = ranks(tmp_path, "touched", 2, **few)
    whole, _, all_sent = ranks(tmp_path, "all", 2, **few)
    assert sent < 0.8 * all_sent
    assert max(rows[2] for rows in touched) < LABELS
    assert some[0].weights.tobytes() != whole[0].weights.tobytes(), "rows that nobody moved are not pulled"
