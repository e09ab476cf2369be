"""The searches by Optuna: the same proposals from the same results, and the same number of them for all."""

import math
import statistics
import sys

import pytest
from hooke.catalogue.validation import validate_experiment
from hooke.comparison.effort import of_trials
from hooke.errors import SpecError
from hooke.tuning import optuna_search
from hooke.tuning.continued import Tried
from hooke.tuning.optuna_search import BATCH, proposals
from hooke.tuning.plan import Plan
from hooke.tuning.search import TrialKey, TrialResult
from hooke.tuning.settings import free_spaces
from scipy.stats import qmc

from tests.engine.tuning.test_plan import CORES, TWO, offer, variant
from tests.engine.tuning.test_plan import play as follow
from tests.engine.tuning.test_search import DOCUMENT


def plan(tried=None, known=None, variants=TWO, **tuning):
    named = {"variants": variants, "baseline": variants[0]["name"]}
    document = DOCUMENT | named | {"tuning": {"trials": 12, "search": "optuna"} | tuning}
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
    for sampler, count in (("tpe", 4), ("gp", 1)):
        once = proposals(sampler, count, chosen, made, 2, tried, [3, 1, 2, 6, 5])
        assert proposals(sampler, count, chosen, made, 2, tried, [3, 1, 2, 6, 5]) == once
        assert proposals(sampler, count, chosen, made, 2, tried, [6, 5, 2, 1, 3]) != once
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


def test_a_gaussian_process_learns_too():
    """Of a parabola over the logarithm of a rate, with eight rates tried: the next is next to the best of them."""
    made, given = offer("local-sgd"), {"momentum": 0.0, "momentum_kind": "heavy-ball", "period": 4}
    chosen = variant("local-sgd", parameters=given)
    tried = [made.resolve(given | {"lr": 0.003 * 2**k})[0] for k in range(8)]
    for best in (0.01, 0.08):
        away = [abs(math.log(each["lr"] / best)) for each in tried]
        ranking = [1 + k for k in sorted(range(8), key=away.__getitem__)]
        (found,) = proposals("gp", 1, chosen, made, 2, tried, ranking)
        assert abs(math.log(found["lr"] / best)) < math.log(2)


def test_a_gaussian_process_has_as_many_trials_as_others():
    step = plan(sampler="gp", variants=[TWO[1]]).next()
    assert (len(step.runs), step.complete) == (6, False)
    assert plan(sampler="gp").settings == plan().settings, "the first half is that of the estimator"


@pytest.mark.parametrize("sampler", ["random", "qmc"])
def test_without_results_to_learn_from_all_trials_are_made_at_once(sampler):
    steps, tried, _ = play(by_rate, sampler=sampler)
    assert [sum(run.rung is not None for run in step.runs) for step in steps] == [24, 0]
    for trials in tried.values():
        settings = [trial.parameters for trial in trials.values()]
        assert len(settings) == 12 and all(each not in settings[:k] for k, each in enumerate(settings))
    quasi = plan(search="quasi-random").settings["local", "local", 2]
    assert plan(sampler=sampler).settings["local", "local", 2] != quasi


def test_what_was_proposed_is_there_where_another_thread_has_cleared_the_memory(monkeypatch):
    """Pages of tunings and the planner ask at the same time."""

    class Cleared(dict):
        def __setitem__(self, key, value):
            pass

    monkeypatch.setattr(optuna_search, "_PROPOSED", Cleared())
    monkeypatch.setattr(optuna_search, "proposals", lambda *_: [{"lr": 0.1}])
    assert optuna_search.remembered("tpe", 1, variant("diloco"), offer("diloco"), 2, [], []) == [{"lr": 0.1}]


def test_a_sequence_of_sobol_is_that_of_scipy_and_goes_on_where_it_ended():
    space = {"momentum": {"low": 0.1, "high": 0.9}, "momentum_kind": None}
    chosen, made = variant("local-sgd", search=space), offer("local-sgd")
    whole = proposals("qmc", 8, chosen, made, 2, [], ())
    spaces, points = free_spaces(chosen, made), qmc.Sobol(3, scramble=True, seed=0).random(8)
    for setting, point in zip(whole, points, strict=True):
        for (name, each), share in zip(spaces.items(), point, strict=True):
            assert setting[name] == each.at(share)
    assert proposals("qmc", 5, chosen, made, 2, whole[:3], ()) == whole[3:]


@pytest.mark.parametrize("sampler", ["gp", "random", "qmc"])
def test_a_condition_holds_with_every_sampler(sampler):
    """Momentum has no kind where it is 0; kinds have no order."""
    made, zero = offer("local-sgd"), {"choices": [0.0, 0.5]}
    chosen = variant("local-sgd", parameters={"lr": 0.1}, search={"momentum": zero})
    tried = [made.resolve({"lr": 0.1, "momentum": m, "period": k})[0] for m, k in ((0.0, 2), (0.5, 3), (0.5, 9))]
    count = 1 if sampler == "gp" else 6
    found = proposals(sampler, count, chosen, made, 2, tried, [1, 2, 3])
    assert len(found) == count
    assert {each["momentum_kind"] for each in found if each["momentum"] == 0} <= {"heavy-ball"}
    if sampler != "gp":  # which learns
        assert {each["momentum"] for each in found} == {0.0, 0.5}
        assert {each["momentum_kind"] for each in found} == {"heavy-ball", "nesterov"}


def test_a_sampler_is_named_where_it_counts():
    tuned = validate_experiment(DOCUMENT | {"tuning": {"search": "optuna", "sampler": "gp"}})
    assert of_trials(tuned).startswith("model-based search of Optuna by a Gaussian process, 1 tuning seed")
    plain = validate_experiment(DOCUMENT | {"tuning": {"search": "optuna", "sampler": "tpe"}})
    assert "sampler" not in plain.model_dump()["tuning"], "stored documents keep their fingerprint"
    with pytest.raises(SpecError) as caught:
        validate_experiment(DOCUMENT | {"tuning": {"search": "halving", "sampler": "gp"}})
    assert [(each.pointer, each.message) for each in caught.value.faults] == [
        ("/tuning/sampler", "no effect with the search `halving`: samplers are those of `optuna`")
    ]


def test_what_a_gaussian_process_lacks_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as Python marks what cannot be imported
    with pytest.raises(SpecError) as caught:
        plan(sampler="gp")
    why = "the sampler gp needs `torch` where experiments are planned: install it there, or choose tpe"
    assert [(each.pointer, each.message) for each in caught.value.faults] == [("/tuning/sampler", why)]


def test_what_to_do_without_the_package_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SpecError) as caught:
        plan()
    (fault,) = caught.value.faults
    assert fault.pointer == "/tuning/search"
    assert "'engine[optuna]' in the clone of Hooke there, or choose `quasi-random`" in fault.message


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
