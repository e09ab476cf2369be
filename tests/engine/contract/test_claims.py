"""What methods claim can be checked, and what nobody claims is said: such properties are skipped here, by name."""

import pytest
from hooke.algorithms.local_sgd import LocalSGD
from hooke.catalogue.algorithm import Algorithm, catalogue
from hooke.catalogue.claims import Limit, after_steps, claimed, nothing, swap
from hooke.methods.descent import Descent

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, play_virtual
from tests.engine.contract.test_accounts import test_traffic_is_what_the_method_declares as assert_traffic
from tests.engine.contract.test_reductions import test_at_its_limit_a_method_is_another_one as assert_limit
from tests.engine.reference.observed import equations

CLAIMS = {
    "reference": "names no equations: they are not verified",
    "exchange": "does not declare what it exchanges: bytes, messages and virtual seconds are not verified",
    "limits": "names no limit in which it is another method",
    "conserves": "does not claim that exchanges conserve anything",
}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("name", suite.methods())
def test_a_claim_is_made_and_can_be_read(name, claim):
    found = claimed(catalogue()[name], claim)
    if not found:
        pytest.skip(f"NOT VERIFIED: {name} {CLAIMS[claim]}")
    if claim == "reference":
        assert callable(equations(found))
    if claim == "limits":
        assert all(isinstance(limit, Limit) and limit.of in catalogue() for limit in found)


class Base(Descent):
    reference = "descent.gradient_averaging"
    limits = (Limit("sgd"),)

    def run(self, r):
        """Do nothing."""


class Preset(Base):
    """Runs as its base class does."""


class Different(Base):
    """Runs in its own way."""

    def run(self, r):
        """Do something else."""


def test_a_claim_is_about_one_run():
    assert claimed(Base, "reference") == claimed(Preset, "reference") == "descent.gradient_averaging"
    assert claimed(Different, "reference") is None
    assert claimed(Algorithm, "exchange") is None


def test_limits_are_those_of_the_class_that_states_them():
    """Other defaults are no limit of the base class any more."""
    assert suite.limits_of(Base)
    assert suite.limits_of(Preset) == ()


@pytest.mark.parametrize("wrong", [swap, nothing])
def test_a_false_exchange_is_noticed(monkeypatch, tmp_path, wrong):
    monkeypatch.setattr(LocalSGD, "exchange", after_steps(wrong))
    with pytest.raises(AssertionError):
        assert_traffic(lambda case, _: play_virtual(case, tmp_path), Case("local-sgd", workers=2), "virtual")


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("sma", Limit("sync-easgd", {"center_momentum": 0.1})),
        ("slowmo", Limit("local-sgd", {"slow_momentum": 0.0, "slow_lr": 0.9})),
        ("local-sgd", Limit("sync-sgd", {"period": 2, "momentum": 0.0})),
        ("downpour", Limit("sgd", {"period": 2}, workers=(1,), exact=True)),
    ],
)
def test_a_false_limit_is_noticed(tmp_path, name, limit):
    with pytest.raises(AssertionError):
        assert_limit(lambda case, _: play_virtual(case, tmp_path), limit, name, limit.workers[0])


class EvaluatesItself(Algorithm):
    """Local steps, evaluated at each worker's own weights."""

    lr: float = 0.05

    def run(self, r):
        for _ in r.steps():
            r.params.add_(r.gradient(), alpha=-self.lr)


class EvaluatesTheMean(EvaluatesItself):
    """The same, evaluated at the mean of all workers."""

    def run(self, r):
        mean = r.buffer(r.params)
        for _ in r.steps(evaluated=lambda: r.mean(r.params, into=mean)):
            r.params.add_(r.gradient(), alpha=-self.lr)


@pytest.fixture
def catalogued(monkeypatch):
    """Return a function that adds a class to the catalogue."""
    from hooke.catalogue import algorithm

    from tests.engine.contract import cases

    def put(cls):
        known = algorithm.catalogue() | {cls.id(): cls}
        for module in (algorithm, cases):
            monkeypatch.setattr(module, "catalogue", lambda: known)

    return put


def test_ranks_that_evaluate_different_weights_end_the_run(catalogued, tmp_path):
    from hooke.errors import AlgorithmError

    catalogued(EvaluatesItself)
    with pytest.raises(AlgorithmError, match="at 16 samples 1 of 2 ranks evaluate other weights than rank 0"):
        play_virtual(Case("evaluates-itself"), tmp_path)
    play_virtual(Case("evaluates-itself", workers=1), tmp_path)


@pytest.mark.parametrize("wire", ["fp32", "bf16"])
def test_a_function_that_is_evaluated_is_no_part_of_the_method(catalogued, tmp_path, wire):
    """It returns the mean of all workers in float32; what it sends is neither traffic nor on the clock."""
    import numpy as np

    catalogued(EvaluatesTheMean)

    class OnThatWire(Case):
        def spec(self, world, samples=None):
            spec = super().spec(world, samples)
            return spec.model_copy(update={"communication": spec.communication.model_copy(update={"wire": wire})})

    often, hardly = (
        play_virtual(OnThatWire("evaluates-the-mean", every=every, workers=3), tmp_path) for every in (12, 10**6)
    )
    for reports in (often, hardly):
        mean = np.mean([report.weights for report in reports], axis=0)
        np.testing.assert_allclose(reports[0].center, mean, rtol=1e-6)
        assert {report.done["wire"] for report in reports} == {0}
        assert {report.done["phases"]["communicate"] for report in reports} == {0}
    assert [r.weights.tobytes() for r in often] == [r.weights.tobytes() for r in hardly]
    assert often[0].done["clock"] == pytest.approx(hardly[0].done["clock"], rel=1e-9)
