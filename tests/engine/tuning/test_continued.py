"""Experiments that continue another one: its trials count, and every variant gets as many new ones."""

import math

import pytest
from hooke.catalogue.validation import validate_experiment
from hooke.errors import SpecError
from hooke.tuning.plan import Earlier, Plan, Tried
from hooke.tuning.search import Bracket, Rung, Search, TrialKey, TrialResult
from scipy.stats import qmc

from tests.engine.tuning.test_plan import CORES, TWO
from tests.engine.tuning.test_search import DOCUMENT

GIVEN = {"momentum": 0.0, "momentum_kind": "heavy-ball"}
SYNC = {"name": "sync", "algorithm": "sync-sgd", "parameters": GIVEN}
LOCAL = {"name": "local", "algorithm": "local-sgd", "parameters": GIVEN | {"period": 4}}
FIRST = DOCUMENT | {"variants": [SYNC, LOCAL], "tuning": {"trials": 4}}
SEARCHED = ("sync", "local", 2)


def wide(high):
    return LOCAL | {"search": {"lr": {"low": 0.003, "high": high, "scale": "log"}}}


def made(document, rate_of, **more):
    """Return an experiment all of whose trials have ended, with their results."""
    spec = validate_experiment(document)
    plan = Plan(spec, CORES, **more)
    known = {key: dict(value) for key, value in (more.get("known") or {}).items()}
    tried = {}
    for run in plan.first().runs:
        where = run.variant, run.cluster, run.workers
        known.setdefault(where, {})[TrialKey(run.trial, run.rung, run.seed)] = rate_of(run)
        tried.setdefault(where, {})[run.trial] = Tried(run.spec.algorithm.parameters)
    return Earlier(spec, tried), known


def by_rate(run):
    """The faster, the nearer the rate is to 2."""
    return TrialResult(1 + abs(math.log(run.spec.algorithm.parameters["lr"] / 2)), 0.95)


def continued(change=None, results=by_rate, **document):
    earlier, known = made(FIRST, results)
    tuning = {"trials": 4, "continues": "exp_1"} | (change or {})
    spec = validate_experiment(FIRST | {"variants": [SYNC, wide(9.0)], "tuning": tuning} | document)
    return Plan(spec, CORES, None, None, [earlier], known), known


def test_new_trials_are_the_next_points_of_the_sequence_in_each_space():
    """Where nothing was widened, both experiments together have tried what one with twice the trials tries."""
    plan, _ = continued()
    points = qmc.Halton(1, scramble=True, rng=0).random(8)[:, 0]
    for variant, highs in (("sync", [1.0] * 8), ("local", [1.0] * 4 + [9.0] * 4)):
        rates = [setting["lr"] for setting in plan.settings[variant, "local", 2]]
        expected = [0.003 * (high / 0.003) ** point for high, point in zip(highs, points, strict=True)]
        assert rates == pytest.approx(expected, rel=1e-3)
    runs = plan.first().runs
    assert sorted((run.variant, run.trial) for run in runs) == [
        (name, trial) for name in ("local", "sync") for trial in (5, 6, 7, 8)
    ]
    assert plan.trial_runs == 8


def test_the_best_of_all_trials_is_measured_wherever_it_was_made():
    for best in (0.003, 9.0):  # an earlier trial is nearest to the first, a new one of `local` to the second
        plan, known = continued(results=lambda run, best=best: nearest(run.spec.algorithm.parameters, best))
        for run in plan.first().runs:
            result = nearest(run.spec.algorithm.parameters, best)
            known[run.variant, run.cluster, run.workers][TrialKey(run.trial, run.rung, run.seed)] = result
        step = plan.following(known)
        assert step.complete
        rates = [setting["lr"] for setting in plan.settings["local", "local", 2]]
        expected = min(rates, key=lambda rate: abs(math.log(rate / best)))
        assert {run.spec.algorithm.parameters["lr"] for run in step.runs if run.variant == "local"} == {expected}
        assert {run.trial for run in step.runs if run.variant == "local"} == {rates.index(expected) + 1}


def nearest(parameters, best):
    return TrialResult(1 + abs(math.log(parameters["lr"] / best)), 0.95)


def test_an_experiment_that_continues_can_be_continued():
    earlier, known = made(FIRST, by_rate)
    second = FIRST | {"variants": [SYNC, wide(3.0)], "tuning": {"trials": 2, "continues": "exp_1"}}
    again, known = made(second, by_rate, earlier=[earlier], known=known)
    third = FIRST | {"variants": [SYNC, wide(9.0)], "tuning": {"trials": 3, "continues": "exp_2"}}
    plan = Plan(validate_experiment(third), CORES, None, None, [earlier, again], known)
    assert {run.trial for run in plan.first().runs} == {7, 8, 9}
    assert [each.trials for each in plan.searches[SEARCHED].earlier] == [4, 2]


def test_trials_of_several_halvings_are_ranked_by_their_largest_budget():
    """By the book: with the whole budget before with half of it, and of these the faster first."""
    stages = [Rung(4, 500), Rung(2, 1000)]
    search = Search(4, stages, [1], (Bracket(1, 4, stages, [1]),))
    known = {TrialKey(trial, 0, 1): TrialResult(None, trial / 10) for trial in range(1, 9)}
    known |= {TrialKey(3, 1, 1): TrialResult(7.0, 0.9), TrialKey(4, 1, 1): TrialResult(None, 0.85)}
    assert search.missing(known) == [TrialKey(8, 1, 1), TrialKey(7, 1, 1)]
    known |= {TrialKey(7, 1, 1): TrialResult(6.0, 0.9), TrialKey(8, 1, 1): TrialResult(None, 0.8)}
    assert search.ended(known)
    assert search.ranking(known) == [7, 3, 4, 8, 6, 5, 2, 1]
    assert (search.chosen(known), search.seconds(3, known)) == (7, pytest.approx(7.0))


def test_a_space_without_other_settings_is_measured_at_once():
    fixed = {"lr": {"choices": [0.1, 0.2]}}
    variants = [SYNC | {"search": fixed}, LOCAL | {"search": fixed}]
    earlier, known = made(FIRST | {"variants": variants}, by_rate)
    spec = validate_experiment(FIRST | {"variants": variants, "tuning": {"trials": 4, "continues": "exp_1"}})
    step = Plan(spec, CORES, None, None, [earlier], known).first()
    assert (len(step.runs), {run.rung for run in step.runs}, step.complete) == (6, {None}, True)


NARROW = {"lr": {"low": 0.5, "high": 1.0}}


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"batch": 8}, "/batch", "differs in the experiment that this one continues"),
        ({"budget": {"samples": 9000}}, "/budget/samples", "differs"),
        ({"change": {"seeds": 2}}, "/tuning/seeds", "differs"),
        ({"variants": [SYNC, LOCAL | {"search": NARROW}]}, "/variants/1/search/lr", "it can only become wider"),
        (
            {"variants": [SYNC, LOCAL | {"parameters": GIVEN | {"period": 8}}]},
            "/variants/1/parameters/period",
            "trial 1 of the experiment that is continued had 4, not 8",
        ),
        ({"variants": [SYNC, LOCAL, TWO[0] | {"name": "new"}]}, "/variants/2/name", "its trials would be fewer"),
        (
            {"clusters": [{"name": "local", "workers": [2, 4], "seeds": 3}]},
            "/tuning/continues",
            "no trials of local on local with 4 workers",
        ),
        ({"results": lambda run: None}, "/tuning/continues", "wait for them"),
    ],
)
def test_trials_count_only_where_all_else_is_equal(change, pointer, words):
    with pytest.raises(SpecError) as caught:
        continued(**change)
    assert any(fault.pointer == pointer and words in fault.message for fault in caught.value.faults), caught.value


VIRTUAL = {"latency": 1e-6, "seconds_per_byte": 1e-9, "compute_seconds_per_sample": 1e-4}
LAN = {"name": "lan", "computed_on": "local", "workers": [2], "seeds": 3, "virtual": VIRTUAL}


def test_a_cluster_is_that_of_every_experiment_with_trials_of_it():
    """Here the last one has none of it, and the one before had another network."""
    clusters = [*FIRST["clusters"], LAN]
    first, known = made(FIRST | {"clusters": clusters}, by_rate)
    tuning = FIRST["tuning"] | {"continues": "exp_1"}
    second, known = made(FIRST | {"tuning": tuning}, by_rate, earlier=[first], known=known)
    other = LAN | {"virtual": VIRTUAL | {"latency": 1.0}}
    for lan, refused in ((LAN, []), (other, ["/clusters/1"])):
        spec = validate_experiment(FIRST | {"clusters": [FIRST["clusters"][0], lan], "tuning": tuning})
        try:
            Plan(spec, CORES, None, None, [first, second], known)
            faults = []
        except SpecError as error:
            faults = [fault.pointer for fault in error.faults]
        assert faults == refused


@pytest.mark.parametrize(("speed", "refused"), [(0.5, []), (0.25, ["/clusters/0"])])
def test_trials_of_other_kinds_of_workers_do_not_count(speed, refused):
    def slowed(by):
        workers = [{"kind": "cpu"}, {"kind": "cpu", "speed": by}]
        return {"clusters": [{"name": "local", "workers": workers, "seeds": 3}]}

    earlier, known = made(FIRST | slowed(0.5), by_rate)
    tuning = {"trials": 4, "continues": "exp_1"}
    spec = validate_experiment(FIRST | slowed(speed) | {"tuning": tuning})
    try:
        Plan(spec, CORES, None, None, [earlier], known)
        faults = []
    except SpecError as error:
        faults = [fault.pointer for fault in error.faults]
    assert faults == refused


def test_a_choice_that_was_tried_and_is_gone_is_a_fault_for_every_search():
    both = {"search": {"momentum_kind": {"choices": ["heavy-ball", "nesterov"]}}, "parameters": {"momentum": 0.5}}
    one = {"search": {"momentum_kind": {"choices": ["heavy-ball"]}}, "parameters": {"momentum": 0.5}}
    local = {"name": "local", "algorithm": "local-sgd"}
    first, known = made(FIRST | {"variants": [SYNC, local | both]}, by_rate)
    for search in ("quasi-random", "optuna"):
        tuning = {"trials": 4, "continues": "exp_1", "search": search}
        spec = validate_experiment(FIRST | {"variants": [SYNC, local | one], "tuning": tuning})
        with pytest.raises(SpecError, match="it can only become wider"):
            Plan(spec, CORES, None, None, [first], known)
