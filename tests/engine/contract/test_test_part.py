"""The test part: scored once, when a run has met its target or its budget, at the final center."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.contract import suite
from tests.engine.contract.expected import center_of
from tests.engine.contract.objective import TEST


def ids(value):
    return getattr(value, "name", str(value))


def expected(case, reports) -> float:
    """The mean over TEST items, shared among the ranks that have the center, of twice a rank's own loss there."""
    center, family = center_of(reports).astype(np.float64), case.objective
    shares = {case.workers: TEST}
    if not case.kind.servers:
        ends = [TEST * rank // case.workers for rank in range(case.workers + 1)]
        shares = {rank: ends[rank + 1] - ends[rank] for rank in range(case.workers)}
    loss = {rank: (family.h(rank) * (center - family.b(rank)) ** 2).sum() for rank in shares}
    return sum(loss[rank] * count for rank, count in shares.items()) / TEST


@pytest.mark.parametrize(("case", "world"), suite.worlds((2, 3)), ids=ids)
def test_it_is_a_function_of_the_final_center(played, case, world):
    case = suite.straight(case)
    reports = played(case, world)
    deciding = reports[-1] if suite.served(case) else reports[0]
    assert deciding.done["test_loss"] == pytest.approx(expected(case, reports), rel=1e-4)
    assert deciding.done["test_accuracy"] == 1  # on the validation part every second item is right
    assert deciding.done["final_accuracy"] == pytest.approx(0.5, abs=0.1)
    others = [report.done for report in reports if report is not deciding]
    assert {done["test_loss"] for done in others} <= {None}
    scoring = reports[-1:] if case.kind.servers else reports
    assert [report.tests for report in scoring] == [1] * len(scoring)
    if case.kind.deterministic and world == "mpi":
        twin = played(case, "virtual")[-1 if suite.served(case) else 0]
        assert deciding.done["test_loss"] == twin.done["test_loss"], "not bit by bit"


@pytest.mark.parametrize(("case", "world"), suite.ends(suite.aiming()), ids=ids)
def test_a_run_that_met_its_target_has_it(played, case, world):
    reports = played(case, world)
    done = reports[-1 if suite.served(case) else 0].done
    assert (done["reason"], done["test_accuracy"]) == ("target", 1)


@pytest.mark.parametrize(("case", "world"), suite.ends(suite.cancelled()), ids=ids)
def test_a_run_that_was_stopped_has_none_until_it_has_gone_on_to_its_end(played, case, world):
    reports = played(case, world)
    at = -1 if suite.served(case) else 0
    assert (reports[at].first["reason"], reports[at].first["test_loss"]) == ("cancelled", None)
    assert reports[at].done["test_loss"] is not None
    assert max(report.tests for report in reports) == 1
    if case.kind.deterministic and world == "virtual":
        straight = played(replace(case, cancel=None, slow=None), "virtual")
        assert reports[at].done["test_loss"] == straight[at].done["test_loss"], "not bit by bit"


@pytest.mark.parametrize("case", suite.defaults((2,)), ids=ids)
def test_a_run_whose_time_is_over_has_none(played, case):
    reports = played(replace(case, steps=200, seconds=0.02, every=10**6), "virtual")
    assert {report.done["reason"] for report in reports} == {"timed_out"}
    assert {(report.done["test_loss"], report.tests) for report in reports} == {(None, 0)}
