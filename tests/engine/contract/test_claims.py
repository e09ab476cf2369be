"""What methods claim can be checked, and what nobody claims is said: such properties are skipped here, by name."""

import pytest
from hooke.algorithms.local_sgd import LocalSGD
from hooke.catalogue.algorithm import Algorithm, catalogue
from hooke.catalogue.claims import Limit, after_steps, claimed, nothing, swap
from hooke.methods.descent import Descent

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, play_virtual
from tests.engine.contract.expected import drift
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
        assert_traffic(lambda case, _: play_virtual(case, tmp_path), Case("local-sgd", workers=4), "virtual")


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


def test_a_preset_is_one_of_a_method_that_is_tested_and_all_there_is_to_it(monkeypatch):
    """Otherwise nobody would test its options."""

    class More(LocalSGD):
        more: bool = False

    class Own(Base):
        """Of a class that is in no catalogue."""

    monkeypatch.delenv(suite.ONLY, raising=False)
    known = {"local-sgd": LocalSGD, "more": More, "own": Own, "preset": type("Plain", (LocalSGD,), {})}
    monkeypatch.setattr(suite, "catalogue", lambda: known)
    assert {name: suite.preset(name) for name in known} == {
        "local-sgd": False,
        "more": False,
        "own": False,
        "preset": True,
    }
    monkeypatch.setenv(suite.ONLY, "preset")
    assert not suite.preset("preset")


def test_the_suite_can_be_collected_for_a_method_without_defaults_or_parameters(monkeypatch):
    class Bare(Algorithm):
        """Nothing to choose."""

    class Stern(Algorithm):
        """Nothing by default."""

        period_field = "stride"
        tested_with = {"rate": 0.1}
        rate: float
        fast: bool
        stride: int

    monkeypatch.setattr(suite, "catalogue", lambda: {"bare": Bare, "stern": Stern})
    assert suite.options("bare") == [{}]
    assert suite.base("stern") == {"rate": 0.1, "stride": suite.PERIOD}


class Ring(Descent):
    """Every worker takes the mean of its neighbours and itself, after its step."""

    conserves = "weights"

    def run(self, r):
        x, mine, theirs = r.params, r.buffer(r.params), r.buffer(r.params)
        mean = r.buffer(r.params)
        for _ in r.steps(evaluated=lambda: r.mean(x, into=mean)):
            x.add_(r.gradient(), alpha=-self.lr)
            mine.copy_(x)
            peers = ((r.rank + 1) % r.workers, (r.rank - 1) % r.workers)
            sent = [r.comm.isend(mine, peer) for peer in peers]
            for peer in peers:
                r.comm.recv(theirs, peer)
                x.add_(theirs)
            for each in sent:
                each.wait()
            x.mul_(1 / 3)


class Leaky(Ring):
    """The same, and a millionth of the weights is lost at each step."""

    def run(self, r):
        steps, x = r.steps, r.params

        def leaking(**given):
            for t in steps(**given):
                yield t
                x.mul_(1 - 1e-6)

        r.steps = leaking
        super().run(r)


@pytest.mark.parametrize("seed", (5, 6, 7))
def test_rounding_is_no_breach_of_what_exchanges_conserve_and_a_leak_is(catalogued, tmp_path, seed):
    """Also where an element of the weights ends near 0."""
    for kind in (Ring, Leaky):
        catalogued(kind)
        case = Case(kind.id(), workers=3, seed=seed)
        assert (drift(case, play_virtual(case, tmp_path)) < 1e-6) == (kind is Ring)


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


class DriftsLate(EvaluatesItself):
    """Equal on all ranks at first, and apart later."""

    by: float = 1e-3

    def run(self, r):
        for t in r.steps():
            g = r.gradient()
            r.comm.allreduce(g)
            r.params.add_(g, alpha=-self.lr)
            if t >= 6:
                r.params.mul_(1 + self.by * r.rank)


class OneHoldsNaN(EvaluatesItself):
    """What rank 1 evaluates is no number."""

    def run(self, r):
        c = r.buffer(r.params).zero_()
        for _ in r.steps(evaluated=c):
            r.gradient()
            if r.rank == 1:
                c.mul_(float("nan"))


def test_ranks_that_drift_apart_end_the_run_before_its_result(catalogued, tmp_path):
    from hooke.errors import AlgorithmError

    catalogued(DriftsLate)
    with pytest.raises(AlgorithmError, match="at 96 samples 1 of 2 ranks evaluate other weights"):
        play_virtual(Case("drifts-late"), tmp_path)
    play_virtual(Case("drifts-late", (("by", 1e-6),)), tmp_path)  # rounding


def test_a_rank_that_alone_evaluates_nan_ends_the_run(catalogued, tmp_path):
    from hooke.errors import AlgorithmError

    catalogued(OneHoldsNaN)
    with pytest.raises(AlgorithmError, match="1 of 2 ranks evaluate other weights"):
        play_virtual(Case("one-holds-na-n"), tmp_path)


class EvaluatesTheMeanWithoutLocks(EvaluatesItself):
    """Workers around a shared center, evaluated at their mean."""

    coordination = "lock-free"
    may_drop = True
    deterministic = False

    def run(self, r):
        mean, center = r.buffer(r.params), r.shared("center", like=r.params)
        for _ in r.steps(evaluated=lambda: r.mean(r.params, into=mean)):
            center.read(into=r.params)
            center.add(r.gradient(), alpha=-self.lr)
            if r.rank == 1 and r.t == 4:
                r.params.mul_(float("nan"))


def test_the_mean_is_that_of_the_workers_that_are_left(catalogued, tmp_path):
    import numpy as np

    catalogued(EvaluatesTheMeanWithoutLocks)
    reports = play_virtual(Case("evaluates-the-mean-without-locks", workers=3, drop=True), tmp_path)
    left = np.mean([reports[i].weights for i in (0, 2)], axis=0)
    np.testing.assert_allclose(reports[0].center, left, rtol=1e-6)
    assert np.isfinite([loss for _, loss in reports[0].scores]).all()


@pytest.mark.parametrize("wire", ["fp32", "bf16"])
def test_a_function_that_is_evaluated_is_no_part_of_the_method(catalogued, tmp_path, wire):
    """It returns the mean of all workers in float32; what it sends is neither traffic nor on the clock."""
    import numpy as np

    catalogued(EvaluatesTheMean)

    class OnThatWire(Case):
        def spec(self, world, samples=None):
            spec = super().spec(world, samples)
            return spec.model_copy(update={"communication": spec.communication.model_copy(update={"wire": wire})})

    alike = (("compute_jitter", 0.0),)  # else ranks wait for the last one, on the clock, at every evaluation
    often, hardly = (
        play_virtual(OnThatWire("evaluates-the-mean", every=every, workers=3, network=alike), tmp_path)
        for every in (12, 10**6)
    )
    for reports in (often, hardly):
        mean = np.mean([report.weights for report in reports], axis=0)
        np.testing.assert_allclose(reports[0].center, mean, rtol=1e-6)
        assert {report.done["wire"] for report in reports} == {0}
        assert {report.done["phases"]["communicate"] for report in reports} == {0}
    assert [r.weights.tobytes() for r in often] == [r.weights.tobytes() for r in hardly]
    assert often[0].done["clock"] == pytest.approx(hardly[0].done["clock"], rel=1e-9)
