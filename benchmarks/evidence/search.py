"""How a learning rate is chosen: the same search for every method and peer, on a seed that is not reported.

Rates lie on one ladder, FIRST * 2 ** k in units of a method's scale, k from LOWEST to HIGHEST: its stated ends.
The search begins at k = 0 and goes on beyond the best rate so far, upwards before downwards, until both of its
neighbours have been run: then the best lies strictly inside of what was tried. A best rate at an end of the ladder
does not: nothing is said against a method that may do better with the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

FIRST, LOWEST, HIGHEST = 0.1, -6, 5
LADDER = range(LOWEST, HIGHEST + 1)
LEAST_TRIED = 3
Key = TypeVar("Key", int, str)


@dataclass(frozen=True)
class Score:
    """How a run towards the target went, as far as a choice between several needs it."""

    seconds: float | None
    accuracy: float
    diverged: bool = False


@dataclass(frozen=True)
class Search:
    """A method's search so far: `best` and `following` (the rate to be run next; None: it is over) as k."""

    tried: Mapping[int, Score]
    best: int | None
    following: int | None

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


def best_of(scores: Mapping[Key, Score]) -> Key | None:
    """Return who met the target soonest; if none did, who was the most accurate; the first where all diverged."""
    if not scores:
        return None
    met = {key: score.seconds for key, score in scores.items() if score.seconds is not None}
    if met:
        return min(met, key=lambda key: met[key])
    stood = {key: score.accuracy for key, score in scores.items() if not score.diverged}
    return max(stood, key=lambda key: stood[key]) if stood else min(scores)


def search(tried: Mapping[int, Score], fixed: bool = False) -> Search:
    """Return how far a search is; `fixed`: one rate is all that is run, and it is at the edge."""
    best = best_of(tried)
    if best is None:
        return Search(tried, None, 0)
    beyond = [k for k in (best + 1, best - 1) if k in LADDER and k not in tried]
    if fixed or not beyond:
        return Search(tried, best, None)
    diverged = tried[best].diverged
    return Search(tried, best, beyond[-1] if diverged else beyond[0])
