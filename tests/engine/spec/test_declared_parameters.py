"""What a class declares of its parameters is read from the declaration: any name will do."""

import pytest
from hooke.algorithms.local_sgd import LocalSGD
from hooke.catalogue import algorithm
from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.validation import validate_run
from hooke.catalogue.warnings import warnings
from hooke.comm.base import Updates

from tests.engine.spec.documents import experiment, run
from tests.engine.spec.test_experiment import problems_of


class AddsPlainly(Algorithm):
    """Adds to a shared center; another parameter happens to be called as that of built-in methods is."""

    coordination = "lock-free"
    updates_field = "adding"
    adding: Updates = "plain"
    updates: str = "plain"


def test_plain_stores_are_refused_whatever_the_method_calls_its_parameter(monkeypatch):
    """Also where they are its default."""
    known = algorithm.catalogue() | {"adds-plainly": AddsPlainly}
    monkeypatch.setattr(algorithm, "catalogue", lambda: known)
    for given in ({}, {"adding": "plain"}):
        chosen = {"name": "adds-plainly", "parameters": given}
        assert set(problems_of(run(algorithm=chosen), validate_run)) == {"/algorithm/parameters/adding"}
        variant = {"name": "sync", "algorithm": "adds-plainly", "parameters": given}
        assert set(problems_of(experiment(variants=[variant]))) == {"/variants/0/parameters/adding"}
    atomic = {"name": "adds-plainly", "parameters": {"adding": "atomic"}}
    assert validate_run(run(algorithm=atomic)).algorithm.parameters == {"adding": "atomic"}


class RarelyByItself(LocalSGD):
    """Its period is in no parameter."""

    period_field = None

    def exchange_period(self):
        return 10**6


@pytest.mark.parametrize(
    ("kind", "place"),
    [(LocalSGD, "/algorithm/parameters/period"), (RarelyByItself, "/algorithm/parameters")],
)
def test_a_period_longer_than_the_budget_is_told_where_it_is_chosen(monkeypatch, kind, place):
    monkeypatch.setattr(algorithm, "catalogue", lambda: {kind.id(): kind})
    spec = validate_run(run(algorithm={"name": kind.id(), "parameters": {"period": 10_000}}))
    (pointer,) = (each.pointer for each in warnings(spec) if "longer than the budget" in each.message)
    assert pointer == place
