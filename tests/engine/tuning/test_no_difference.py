"""From trials to a verdict on two methods that are equally fast, one with three times as many parameters.

Times are drawn here; which trials there are, the choice and the verdict are the product's. Decision 150 has more
of it, with settings that matter.
"""

import math
from collections import Counter

import numpy as np
import pytest
from hooke.catalogue.validation import validate_experiment
from hooke.comparison.effort import Effort
from hooke.comparison.figures import RunFigures
from hooke.comparison.report import report
from hooke.comparison.trials import trials_made
from hooke.spec.states import RunState
from hooke.tuning.plan import Plan
from hooke.tuning.search import TrialResult
from hooke.tuning.settings import free_spaces

from tests.engine.tuning.test_search import DOCUMENT

OFF = dict.fromkeys(("momentum_kind", "delay"))
MORE = dict.fromkeys(("momentum", "period", "pull", "slow_momentum"))
VARIANTS = [
    {"name": "narrow", "algorithm": "elastic-slowmo", "search": OFF | MORE},
    {"name": "wide", "algorithm": "elastic-slowmo", "search": OFF},
]
TUNING = {"trials": 6, "search": "halving"}
STEP, NOISE = 0.05, 0.1
"""Time between two evaluations, of a median time of 1; standard deviation of the logarithm of times."""


@pytest.fixture(scope="module")
def plan():
    document = DOCUMENT | {"variants": VARIANTS, "baseline": "narrow", "tuning": TUNING}
    made = Plan(validate_experiment(document), {"local": 4})
    searched = {
        where[0]: len(free_spaces(variant, made.offer(where))) for where, (variant, _) in made.locations.items()
    }
    assert searched == {"narrow": 2, "wide": 6}
    return made


def claim(plan, rng, factor):
    """Tune both, measure the choices on fresh seeds and return the claim on `wide`, whose times have a factor."""
    runs = []

    def play(where, trial, seed, share, rung=None):
        seconds = math.exp(NOISE * rng.standard_normal()) * (factor if where[0] == "wide" else 1.0)
        met, budget = math.ceil(seconds / STEP) * STEP, 3.0 * share
        ended = {"clock": budget, "accuracy": 0.9 * (1 - math.exp(-budget / seconds))}
        if met <= budget:
            ended = {"clock": met, "accuracy": 0.9, "time_to_target": met, "target_after": met - STEP}
        cell = where[0], "elastic-slowmo", where[1], where[2], 0, seed, False, RunState.SUCCEEDED
        runs.append(RunFigures(*cell, trial=trial, rung=rung, evaluated_part="validation", **ended))
        return TrialResult(runs[-1].time_to_target, runs[-1].accuracy)

    for where, search in plan.searches.items():
        known = {}
        while missing := search.missing(known):
            shares = {key: search.rungs[key.rung].samples / plan.spec.budget.samples for key in missing}
            known |= {key: play(where, key.trial, key.seed, shares[key], key.rung) for key in missing}
        for seed in range(5):
            play(where, search.chosen(known), seed, 1.0)
    trials, measured = ([run for run in runs if (run.rung is None) == last] for last in (False, True))
    effort = Effort(plan.spec.tuning, ("narrow", "wide"), made=trials_made(trials))
    rows = report(measured, "narrow", plan.spec.target, effort).rows
    return next(row.verdict.claim for row in rows if row.first.variant == "wide")


def test_neither_of_two_equal_methods_is_called_faster_in_more_than_a_twentieth(plan):
    claims = Counter(claim(plan, np.random.default_rng(seed), 1.0) for seed in range(100))
    assert claims["faster"] + claims["at least"] <= 5, claims
    assert claims["slower"] + claims["at most"] <= 5, claims
    assert claims["no claim"] == 0, "both had six trials"


def test_a_difference_is_found_with_as_many_parameters(plan):
    claims = Counter(claim(plan, np.random.default_rng(seed), 1.5) for seed in range(15))
    assert claims["slower"] >= 12, claims
