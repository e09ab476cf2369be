"""Selection of learning rates: the same search for every method and peer, on a seed that is not reported.

Rates are FIRST * 2 ** k in units of a method's scale, k from LOWEST to HIGHEST. The search starts at k = 0 and
extends beyond the best rate so far, upwards before downwards, until both neighbours of the best rate have been
run; the best rate is then strictly inside of the range tried. If the best rate is at an end of the ladder, there
is no conclusion against the method, because the next rate might be better.

The largest stable rate of one seed often diverges with others. The best rate must therefore not diverge with
further seeds, which are in no result either; otherwise it counts as diverged and the search continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from benchmarks.evidence.conditions import HOLDING_SEEDS, TUNING_SEED

FIRST, LOWEST, HIGHEST = 0.1, -6, 5
LADDER = range(LOWEST, HIGHEST + 1)
LEAST_TRIED = 3 + len(HOLDING_SEEDS)
"""Runs of a search whose first rate is the best."""
Key = TypeVar("Key", int, str)


@dataclass(frozen=True)
class Trial:
    """Outcome of a run to the target, as needed to compare rates."""

    seconds: float | None
    accuracy: float
    diverged: bool = False


@dataclass(frozen=True)
class Search:
    """A method's search so far: `best` and `following` (the rate to be run next; None: it is over) as k."""

    tried: Mapping[int, Trial]
    best: int | None
    following: int | None
    seed: int = TUNING_SEED
    """With which `following` is to be run."""

    @property
    def over(self) -> bool:
        """Return whether every rate has been run that the search asks for."""
        return self.following is None

    @property
    def at_edge(self) -> bool:
        """Return whether the best rate is not strictly inside of the rates that were tried."""
        return self.best is not None and not {self.best - 1, self.best + 1} <= self.tried.keys()


def rate_of(k: int) -> float:
    """Return a rate of the ladder."""
    return float(f"{FIRST * 2.0**k:.6g}")


def best_of(trials: Mapping[Key, Trial]) -> Key | None:
    """Return the trial that reached the target first; else the most accurate; the first if all diverged."""
    if not trials:
        return None
    met = {key: trial.seconds for key, trial in trials.items() if trial.seconds is not None}
    if met:
        return min(met, key=lambda key: met[key])
    stood = {key: trial.accuracy for key, trial in trials.items() if not trial.diverged}
    return max(stood, key=lambda key: stood[key]) if stood else min(trials)


def search(tried: Mapping[int, Trial], fixed: bool = False) -> Search:
    """Return how far a search is; `fixed`: one rate is all that is run, and it is at the edge."""
    best = best_of(tried)
    if best is None:
        return Search(tried, None, 0)
    beyond = [k for k in (best + 1, best - 1) if k in LADDER and k not in tried]
    if fixed or not beyond:
        return Search(tried, best, None)
    diverged = tried[best].diverged
    return Search(tried, best, beyond[-1] if diverged else beyond[0])


def search_that_holds(by_seed: Mapping[int, Mapping[int, Trial]], fixed: bool = False) -> Search:
    """Return how far a search is whose best rate must hold with HOLDING_SEEDS; `by_seed`: seed -> k -> trial."""
    others = [by_seed.get(seed, {}) for seed in HOLDING_SEEDS]
    tried = {
        k: replace(trial, seconds=None, diverged=True) if any(k in o and o[k].diverged for o in others) else trial
        for k, trial in by_seed.get(TUNING_SEED, {}).items()
    }
    state = search(tried, fixed)
    if fixed or not state.over or state.best is None or tried[state.best].diverged:
        return state
    missing = [seed for seed, other in zip(HOLDING_SEEDS, others, strict=True) if state.best not in other]
    return replace(state, following=state.best, seed=missing[0]) if missing else state
