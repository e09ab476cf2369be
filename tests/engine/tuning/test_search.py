"""Successive halving against an independent simulation: what is run, what goes on, what is chosen."""

import math
import random

import pytest
from hooke.catalogue.validation import validate_experiment
from hooke.tuning.search import Rung, Search, TrialKey, TrialResult, rungs, share_met, tuning_seeds

DOCUMENT = {
    "name": "tuned",
    "workload": {"name": "digits-mlp"},
    "variants": [{"name": "local", "algorithm": "local-sgd"}],
    "baseline": "local",
    "clusters": [{"name": "local", "workers": [2], "seeds": 3}],
    "budget": {"samples": 16_000},
    "evaluation": {"every": 500},
    "target": {"value": 0.9},
}


def tuned(**tuning):
    return validate_experiment(DOCUMENT | {"tuning": tuning})


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        (2, [(2, 16_000)]),
        (5, [(5, 16_000)]),
        (6, [(6, 8000), (3, 16_000)]),
        (12, [(12, 4000), (6, 8000), (3, 16_000)]),
        (13, [(13, 4000), (7, 8000), (4, 16_000)]),
        (100, [(100, 500), (50, 1000), (25, 2000), (13, 4000), (7, 8000), (4, 16_000)]),
    ],
)
def test_each_rung_has_half_the_trials_and_twice_the_budget(trials, expected):
    assert [(rung.trials, rung.samples) for rung in rungs(tuned(trials=trials, search="halving"))] == expected
    assert rungs(tuned(trials=trials)) == [Rung(trials, 16_000)]
    assert rungs(tuned(trials=trials, samples=700)) == [Rung(trials, 700)]


def test_no_reported_run_has_a_tuning_seed():
    spec = tuned(trials=4, seeds=10)
    assert set(tuning_seeds(spec)).isdisjoint(range(spec.first_seed, spec.first_seed + 100))
    assert len(tuning_seeds(spec)) == 10


def outcome(seed, trial, rung, run_seed, stages):
    """Return what a run shows: the time to the target of its trial, if that is within the budget of its rung."""
    draw = random.Random(f"{seed} {trial} {run_seed}")
    needs, level = draw.choice([math.inf, draw.uniform(0, 2 * stages[-1].samples)]), draw.random()
    if draw.random() < 0.1:
        return TrialResult(None, None)
    met = needs <= stages[rung].samples
    return TrialResult(needs / 1000 if met else None, 0.95 if met else level * 0.9)


def simulate(seed, trials, stages, seeds):
    """Halve by the book: whole lists, sorted by hand; returns the runs made and the trial that is best."""
    made, alive, last = set(), list(range(1, trials + 1)), {}
    for rung, stage in enumerate(stages):
        alive = alive[: stage.trials]
        for trial in alive:
            for run_seed in seeds:
                if trial in last and last[trial].get(run_seed) and last[trial][run_seed].seconds is not None:
                    continue
                made.add((trial, rung, run_seed))
                last.setdefault(trial, {})[run_seed] = outcome(seed, trial, rung, run_seed, stages)

        def key(trial):
            found = [last[trial][s] for s in seeds]
            times = [r.seconds for r in found if r.seconds is not None]
            missed = len(found) - len(times)
            product = math.prod(times) ** (1 / len(times)) if times and not missed else math.inf
            quality = sum(-math.inf if r.quality is None else r.quality for r in found) / len(found)
            return missed, product, -quality, trial

        alive = sorted(alive, key=key)
    good = [t for t in alive if all(r.seconds is not None or r.quality is not None for r in last[t].values())]
    return made, (good or [None])[0]


@pytest.mark.parametrize("seed", range(40))
def test_the_search_is_that_of_an_independent_simulation(seed):
    draw = random.Random(seed)
    trials, seeds = draw.randint(2, 20), list(range(draw.randint(1, 3)))
    stages = rungs(tuned(trials=trials, search=draw.choice(["halving", "quasi-random"])))
    search, known = Search(trials, stages, seeds), {}
    while lacking := search.missing(known):
        assert len(set(lacking)) == len(lacking)
        assert not set(lacking) & set(known)
        assert not search.ended(known)
        order = draw.sample(lacking, len(lacking))  # runs end in any order
        known |= dict.fromkeys(order)
        for key in order:
            assert search.missing(known) == [], "nothing more while these run"
            known[key] = outcome(seed, key.trial, key.rung, key.seed, stages)
    assert search.ended(known)
    made, best = simulate(seed, trials, stages, seeds)
    assert {(key.trial, key.rung, key.seed) for key in known} == made
    on_last_rung = [t for t in search.ranking(known) if search.usable(t, known)]
    if best is not None:
        assert search.chosen(known) == best == on_last_rung[0]


def test_a_trial_that_met_the_target_is_not_run_again():
    stages = [Rung(6, 8000), Rung(3, 16_000)]
    search = Search(6, stages, [1])
    known = {TrialKey(t, 0, 1): TrialResult(float(t), 0.95) for t in (1, 2)}
    known |= {TrialKey(t, 0, 1): TrialResult(None, 0.5 + t / 100) for t in (3, 4, 5, 6)}
    assert search.missing(known) == [TrialKey(6, 1, 1)]


def test_nothing_is_chosen_if_every_trial_diverged():
    search = Search(2, [Rung(2, 100)], [1])
    known = {TrialKey(t, 0, 1): TrialResult(None, None) for t in (1, 2)}
    assert search.ended(known)
    assert search.chosen(known) is None


def test_a_seed_that_missed_the_target_counts_more_than_speed():
    search = Search(2, [Rung(2, 100)], [1, 2])
    fast = {TrialKey(1, 0, 1): TrialResult(0.1, 0.95), TrialKey(1, 0, 2): TrialResult(None, 0.89)}
    slow = {TrialKey(2, 0, s): TrialResult(50.0, 0.95) for s in (1, 2)}
    assert search.chosen(fast | slow) == 2


def test_trials_that_did_not_have_their_budget_say_nothing_of_how_many_meet_the_target():
    """Two met it, one missed it, one diverged; two were cancelled, or lost their machine."""
    shown = [TrialResult(3.0, 0.95), TrialResult(5.0, 0.95), TrialResult(None, 0.5), TrialResult(None, None)]
    lost = [TrialResult(None, None, had_budget=False)] * 2
    found = Search(6, [Rung(6, 100)], [1])
    known = {TrialKey(trial, 0, 1): each for trial, each in enumerate([*lost, *shown], 1)}
    times = found.times(known)
    assert times[:2] == pytest.approx([3.0, 5.0]) and times[2:] == [None, None]
    assert share_met(times) == 0.5 and found.chosen(known) == 3
    assert share_met(Search(2, [Rung(2, 100)], [1]).times({k: v for k, v in known.items() if k.trial < 3})) is None
