"""The search by Optuna: the same proposals from the same results, and the same number of them for all."""

import math
import statistics
import sys

import pytest
from hooke.catalogue.validation import validate_experiment
from hooke.errors import SpecError
from hooke.tuning.continued import Tried
from hooke.tuning.model_based import BATCH, proposals
from hooke.tuning.plan import Plan
from hooke.tuning.search import TrialKey, TrialResult

from tests.engine.tuning.test_plan import CORES, TWO, offer, variant
from tests.engine.tuning.test_plan import play as follow
from tests.engine.tuning.test_search import DOCUMENT


def plan(tried=None, known=None, variants=TWO, **tuning):
    document = DOCUMENT | {"variants": variants, "tuning": {"trials": 12, "search": "optuna"} | tuning}
    return Plan(validate_experiment(document), CORES, None, tried, (), known)


def play(seconds, **tuning):
    """Follow an experiment to its end, with a new plan for every step; return the steps and all trials."""
    known, tried, steps, reported = {}, {}, [], frozenset()
    while True:
        step = plan(tried, known, **tuning).next(reported)
        steps.append(step)
        for run in step.runs:
            where = run.variant, run.cluster, run.workers
            if run.rung is None:
                reported |= {run.place}
                continue
            known.setdefault(where, {})[TrialKey(run.trial, run.rung, run.seed)] = seconds(run)
            tried.setdefault(where, {})[run.trial] = Tried(run.spec.algorithm.parameters)
        if step.complete:
            return steps, tried, known


def distance(parameters):
    return abs(math.log(parameters["lr"] / 0.05))


def by_rate(run):
    return TrialResult(1 + distance(run.spec.algorithm.parameters), 0.95)


def test_batches_of_equal_size_follow_one_another_until_all_trials_are_made():
    steps, tried, _ = play(by_rate)
    per_variant = [sum(run.variant == "sync" and run.rung is not None for run in step.runs) for step in steps]
    assert per_variant == [6, BATCH, 2, 0]
    assert {where[0]: sorted(trials) for where, trials in tried.items()} == {
        name: list(range(1, 13)) for name in ("sync", "local")
    }
    for trials in tried.values():
        settings = [trial.parameters for trial in trials.values()]
        assert all(setting not in settings[:k] for k, setting in enumerate(settings))
        first = statistics.median(distance(setting) for setting in settings[:6])
        assert statistics.median(distance(setting) for setting in settings[6:]) < first, "it has learned"
    assert plan().trial_runs == 24


def test_a_plan_that_goes_on_proposes_what_a_new_one_does():
    """A program keeps its plan, the API makes one for every step."""

    def told(steps):
        return [[(r.variant, r.trial, r.rung, r.spec.algorithm.parameters) for r in step.runs] for step in steps]

    assert told(follow(plan(), by_rate)) == told(play(by_rate)[0])


def test_a_batch_is_a_function_of_the_trials_before_it():
    """Whatever process plans it, and in whatever order the results have arrived."""
    chosen, made = variant("diloco"), offer("diloco")
    tried = [made.resolve({"lr": 0.01 * k})[0] for k in range(1, 7)]
    once = proposals(4, chosen, made, 2, tried, [3, 1, 2, 6, 5])
    assert proposals(4, chosen, made, 2, tried, [3, 1, 2, 6, 5]) == once
    assert proposals(4, chosen, made, 2, tried, [6, 5, 2, 1, 3]) != once
    _, tried_runs, known = play(by_rate)
    where = "local", "local", 2
    first = {where: {trial: tried_runs[where][trial] for trial in range(1, 7)}}
    results = [item for item in known[where].items() if item[0].trial <= 6]
    for order in (results, results[::-1]):
        again = plan(first, {where: dict(order)})
        assert again.settings[where] == [tried_runs[where][trial].parameters for trial in range(1, 11)]


def test_while_trials_run_nothing_is_proposed_and_the_search_has_not_ended():
    made = plan()
    where = "sync", "local", 2
    known = {TrialKey(trial, 0, 1_000_003): TrialResult(1.0, 0.9) for trial in range(1, 6)}
    tried = {where: {trial: Tried(made.settings[where][trial - 1]) for trial in range(1, 7)}}
    waiting = plan(tried, {where: known | {TrialKey(6, 0, 1_000_003): None}}).searches[where]
    assert (waiting.own_trials, waiting.to_come, waiting.ended(known)) == (6, True, False)


def test_a_space_without_other_settings_ends_the_search():
    fixed = {"lr": 0.1, "momentum": 0.0, "momentum_kind": "heavy-ball"}
    few = {
        "name": "local",
        "algorithm": "local-sgd",
        "parameters": fixed,
        "search": {"period": {"choices": [4, 8]}},
    }
    document = DOCUMENT | {"variants": [few], "tuning": {"trials": 12, "search": "optuna"}}
    spec, where = validate_experiment(document), ("local", "local", 2)
    tried = {where: {k + 1: Tried(setting) for k, setting in enumerate(Plan(spec, CORES).settings[where])}}
    known = {where: {TrialKey(trial, 0, 1_000_003): TrialResult(1.0, 0.9) for trial in (1, 2)}}
    ended = Plan(spec, CORES, None, tried, (), known)
    assert ended.searches[where].ended(known[where])
    assert ended.next().complete


def test_what_to_do_without_the_package_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)  # as Python marks what cannot be imported
    with pytest.raises(SpecError) as caught:
        plan()
    (fault,) = caught.value.faults
    assert fault.pointer == "/tuning/search"
    assert "install `hooke[optuna]` there, or choose `quasi-random`" in fault.message


@pytest.mark.parametrize(
    ("space", "trials", "made"),
    [
        ({"low": 1, "high": 64, "scale": "log", "integer": True}, 20, 20),
        ({"low": 1, "high": 32, "scale": "log", "integer": True}, 24, 24),
        ({"choices": list(range(1, 13))}, 12, 12),
        ({"choices": [1, 2, 4]}, 12, 3),
    ],
)
def test_a_small_space_gets_all_of_its_trials(space, trials, made):
    """The estimator proposes settings twice there; a variant with fewer trials than others would make no claim."""
    fixed = {"lr": 0.1, "momentum": 0.0, "momentum_kind": "heavy-ball"}
    local = {"name": "local", "algorithm": "local-sgd", "parameters": fixed, "search": {"period": space}}
    _, tried, _ = play(lambda run: TrialResult(float(run.trial), 0.9), variants=[TWO[0], local], trials=trials)
    assert len(tried["local", "local", 2]) == made
