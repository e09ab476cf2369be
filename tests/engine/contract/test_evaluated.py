"""What a method evaluates: the same weights on all ranks, and at no cost to the method."""

import numpy as np
import pytest
from hooke.catalogue.algorithm import Algorithm
from hooke.errors import AlgorithmError

from tests.engine.contract.cases import Case, play_virtual


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


def test_ranks_that_evaluate_different_weights_end_the_run(catalogued, tmp_path):
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
    catalogued(DriftsLate)
    with pytest.raises(AlgorithmError, match="at 96 samples 1 of 2 ranks evaluate other weights"):
        play_virtual(Case("drifts-late"), tmp_path)
    play_virtual(Case("drifts-late", (("by", 1e-6),)), tmp_path)  # rounding


def test_a_rank_that_alone_evaluates_nan_ends_the_run(catalogued, tmp_path):
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
    catalogued(EvaluatesTheMeanWithoutLocks)
    reports = play_virtual(Case("evaluates-the-mean-without-locks", workers=3, drop=True), tmp_path)
    left = np.mean([reports[i].weights for i in (0, 2)], axis=0)
    np.testing.assert_allclose(reports[0].center, left, rtol=1e-6)
    assert np.isfinite([loss for _, loss in reports[0].scores]).all()


@pytest.mark.parametrize("wire", ["fp32", "bf16"])
def test_a_function_that_is_evaluated_is_no_part_of_the_method(catalogued, tmp_path, wire):
    """It returns the mean of all workers in float32; what it sends is neither traffic nor on the clock."""
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
