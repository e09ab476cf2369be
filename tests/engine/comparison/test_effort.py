"""What tuning allows a comparison to claim."""

from dataclasses import replace

import pytest
from hooke.comparison.effort import Effort, refuted
from hooke.comparison.report import report
from hooke.spec.states import RunState
from hooke.spec.tuning import Tuning

from tests.engine.comparison.test_across import TARGET, runs


def diverging(variant, seeds):
    """Return two variants on one cluster, `a` ten times as fast; `variant` diverges with these seeds."""
    for run in runs("here", {"base": 100.0, "a": 10.0}):
        if run.variant == variant and run.seed in seeds:
            yield replace(run, state=RunState.FAILED_USER, diverged=True, time_to_target=None)
        else:
            yield run


def claims(found, effort):
    (row,) = [row for row in report(list(found), "base", TARGET, effort).rows if row.first.variant == "a"]
    assert row.verdict.unfair is None or row.verdict.unfair in row.sentence
    return row.verdict


TUNED = Effort(Tuning(trials=8), ("base", "a"), made={(name, "here", 4): 8 for name in ("base", "a")})


@pytest.mark.parametrize("variant", ["base", "a"])
@pytest.mark.parametrize(("seeds", "claimed"), [((), True), ((0,), True), ((0, 1), True), ((0, 1, 2), False)])
def test_a_tuned_setting_that_diverges_with_most_seeds_makes_no_claim(variant, seeds, claimed):
    verdict = claims(diverging(variant, seeds), TUNED)
    assert (verdict.claim != "no claim") == claimed
    assert bool(verdict.unfair) != claimed
    if not claimed:
        assert verdict.unfair == (
            f"the setting chosen for {variant} diverged with 3 of 5 seeds, which 1 tuning seed did not show: "
            "tune with more seeds"
        )


def test_a_setting_that_was_given_keeps_its_bound():
    assert claims(diverging("base", (0, 1, 2)), Effort()).claim == "at least"


def test_half_of_the_seeds_are_not_most():
    assert refuted("a", dict.fromkeys((0, 1), True) | dict.fromkeys((2, 3), False), 1) is None
    assert refuted("a", {}, 1) is None


@pytest.mark.parametrize(("simulated", "claimed"), [(True, "no claim"), (False, "faster")])
@pytest.mark.parametrize("effort", [Effort(), TUNED])
def test_simulated_gradients_of_other_settings_of_the_workload_make_no_claim(effort, simulated, claimed):
    """Virtual time does not know what an output layer costs."""
    found = [replace(run, simulated=simulated) for run in runs("here", {"base": 100.0, "a": 10.0})]
    assert claims(found, replace(effort, trained={"base": "all", "a": "all"})).claim == "faster"
    verdict = claims(found, replace(effort, trained={"base": "all", "a": "sampled"}))
    assert verdict.claim == claimed
    assert (verdict.unfair or "").startswith("simulated gradients") == simulated
    (fastest,) = report(found, "base", TARGET, replace(effort, trained={"base": "all", "a": "sampled"})).fastest
    assert fastest is None if simulated else fastest.variant == "a"
