"""Gradients that stay in their rows: the bits of those that are written to a vector, and errors as before."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.errors import NumericalError
from hooke.loop.train import run_spec_virtual
from hooke.methods.steps import Step
from hooke.objective.wide import WideObjective

PROBLEM = {"labels": 150, "features": 400, "items": 600, "hidden": 16, "validation_items": 40, "test_items": 10}
HASHED = {"output": "slide", "active": 60, "hash_family": "dwta", "hashes": 2, "tables": 8, "first_rebuild": 3}
LAYERS = {
    "full": {},
    "sampled": {"output": "sampled", "active": 50},
    "of batches": HASHED,
    "of items": {**HASHED, "sets": "item"},
    "narrow": {**HASHED, "weights": "bf16"},
    "narrow items": {**HASHED, "sets": "item", "weights": "bf16"},
}
OPTIMIZERS = ("sgd", "row-adagrad", "row-adam", "lazy-adam")


def weights(own, **parameters):
    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp", "parameters": PROBLEM | own},
            "algorithm": {"name": "sgd", "parameters": {"lr": 0.05} | parameters},
            "batch": 8,
            "seed": 2,
            "workers": 1,
            "budget": {"samples": 160},
            "evaluation": {"every": 80},
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
        }
    )
    (outcome,) = run_spec_virtual(spec, None)
    return np.array(outcome.weights)


@pytest.fixture
def written(monkeypatch):
    """Return a function after which gradients are written to the vector, as for other methods."""
    return lambda: monkeypatch.setattr(Step, "alone", lambda self: self)


@pytest.fixture
def vectors(monkeypatch):
    """The gradients' vectors at the end of each step, whether any element of them was written."""
    found, step = [], WideObjective.write

    def watched(self, *given):
        step(self, *given)
        found.append(bool(self._gradient.any()))

    monkeypatch.setattr(WideObjective, "write", watched)
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_the_bits_are_those_of_gradients_that_are_written(layer, written, vectors):
    optimizers = OPTIMIZERS if layer in ("of batches", "of items") else OPTIMIZERS[1:3]
    alone = [weights(LAYERS[layer], optimizer=optimizer, weight_decay=0.0) for optimizer in optimizers]
    assert vectors and not any(vectors), "no element of the vector is written"
    vectors.clear()
    written()
    for optimizer, found in zip(optimizers, alone, strict=True):
        np.testing.assert_array_equal(
            weights(LAYERS[layer], optimizer=optimizer, weight_decay=0.0), found, err_msg=optimizer
        )
    assert all(vectors)


@pytest.mark.parametrize(
    "parameters",
    [{"momentum": 0.9}, {"weight_decay": 0.1}, {"clip_norm": 1.0}, {"optimizer": "adamw"}, {"accumulation": 2}],
    ids=lambda each: next(iter(each)),
)
def test_what_reads_more_than_rows_has_a_vector(parameters, vectors):
    weights(HASHED, **parameters)
    assert all(vectors)


def test_row_optimizers_decay_by_rows(written, vectors):
    found = weights(HASHED, optimizer="row-adagrad", weight_decay=0.1)
    assert not any(vectors)
    written()
    np.testing.assert_array_equal(weights(HASHED, optimizer="row-adagrad", weight_decay=0.1), found)


@pytest.mark.parametrize("sets", ["batch", "item"])
def test_nan_in_a_row_ends_the_run(sets, monkeypatch):
    step = WideObjective.write

    def broken(self, batch, back, ids, rows, biases):
        if self._computed == 4:
            rows = rows.clone()
            rows[3, 2] = torch.nan
        step(self, batch, back, ids, rows, biases)

    monkeypatch.setattr(WideObjective, "write", broken)
    with pytest.raises(NumericalError, match="the gradient of rank 0 holds NaN or Inf at its step 4"):
        weights({**HASHED, "sets": sets}, optimizer="row-adagrad")


def test_a_sum_that_overflows_is_no_error(monkeypatch):
    """Finite rows whose sum is beyond float32."""
    step, seen = WideObjective.write, []

    def large(self, batch, back, ids, rows, biases):
        rows = rows.clone()
        rows[0, :2] = 3e38
        seen.append(float(rows.sum()))
        step(self, batch, back, ids, rows, biases)

    monkeypatch.setattr(WideObjective, "write", large)
    assert np.isfinite(weights(HASHED, optimizer="row-adagrad")).all()
    assert not np.isfinite(seen).any()
