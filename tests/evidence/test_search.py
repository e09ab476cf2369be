"""The search for a rate: the same for everybody, until the best has been tried from both sides."""

import pytest

from benchmarks.evidence.conditions import HOLDING_SEEDS, TUNING_SEED
from benchmarks.evidence.search import (
    HIGHEST,
    LADDER,
    LOWEST,
    Trial,
    best_of,
    rate_of,
    search,
    search_that_holds,
)


def through(outcome):
    """Search with what `outcome(k)` says of a rate; return the search when it is over."""
    tried = {}
    while (following := search(tried).following) is not None:
        assert following not in tried
        tried[following] = outcome(following)
    return search(tried)


def met(seconds):
    return Trial(seconds, 0.97)


DIVERGED = Trial(None, 0.1, diverged=True)


@pytest.mark.parametrize("best", range(LOWEST + 1, HIGHEST))
def test_a_search_goes_on_until_the_best_rate_lies_inside(best):
    """Beyond the best of a method everything diverges, below it every halving takes twice as long."""
    found = through(lambda k: DIVERGED if k > best else met(10 * 2.0 ** (best - k)))
    assert found.best == best
    assert not found.at_edge
    assert {best - 1, best + 1} <= found.tried.keys()


def test_three_runs_do_where_the_first_rate_is_the_best():
    assert sorted(through(lambda k: met(10 + abs(k))).tried) == [-1, 0, 1]


def test_a_best_rate_at_an_end_of_the_ladder_is_at_the_edge():
    upper = through(lambda k: met(100 - k))
    assert (upper.best, upper.at_edge) == (HIGHEST, True)
    lower = through(lambda k: met(100 + k))
    assert (lower.best, lower.at_edge) == (LOWEST, True)


def test_a_method_that_diverges_everywhere_is_at_the_edge():
    found = through(lambda k: DIVERGED)
    assert (found.best, found.at_edge, found.over) == (LOWEST, True, True)
    assert found.tried.keys() == set(range(LOWEST, 1)), "no larger rate is tried where smaller ones diverge"


def test_where_nobody_meets_the_target_the_most_accurate_leads_on():
    found = through(lambda k: DIVERGED if k > 1 else Trial(None, 0.9 - 0.1 * abs(k - 1)))
    assert (found.best, found.at_edge) == (1, False)


def test_a_search_that_is_not_over_says_what_is_next():
    assert search({}).following == 0
    assert search({0: met(10)}).following == 1
    assert search({0: DIVERGED}).following == -1
    assert search({0: met(10), 1: DIVERGED}).following == -1
    assert search({0: met(10)}, fixed=True).following is None
    assert search({0: met(10)}, fixed=True).at_edge


def test_the_best_is_the_soonest_then_the_most_accurate_and_never_who_diverged():
    assert best_of({1: Trial(9.0, 0.99), 2: Trial(5.0, 0.988), 3: Trial(None, 0.999)}) == 2
    assert best_of({1: Trial(None, 0.97), 2: Trial(None, 0.98), 3: Trial(None, 0.99, diverged=True)}) == 2
    assert best_of({"a": Trial(9.0, 0.99), "b": Trial(None, 0.995)}) == "a"
    assert best_of(dict[int, Trial]()) is None


def test_the_best_rate_must_hold_with_other_seeds():
    """0.2 is the best by the seed that chooses, and diverges with another one; 0.1 holds."""
    first, *others = TUNING_SEED, *HOLDING_SEEDS
    by_seed = {seed: {} for seed in (first, *others)}
    asked = []
    while (state := search_that_holds(by_seed)).following is not None:
        asked.append((state.following, state.seed))
        k = state.following
        borne = k <= (1 if state.seed == first else 0)
        by_seed[state.seed][k] = met(100 - 10 * k) if borne else DIVERGED
    assert asked == [
        (0, first),
        (1, first),
        (2, first),
        (1, others[0]),
        (-1, first),
        (0, others[0]),
        (0, others[1]),
    ]
    assert (state.best, state.at_edge, state.over) == (0, False, True)
    assert state.tried[1].diverged


def test_a_look_at_one_rate_asks_for_no_other_seed():
    assert search_that_holds({TUNING_SEED: {0: met(10)}}, fixed=True).over


def test_rates_double():
    assert [rate_of(k) for k in (-1, 0, 1, 2)] == [0.05, 0.1, 0.2, 0.4]
    assert len({rate_of(k) for k in LADDER}) == len(LADDER)
