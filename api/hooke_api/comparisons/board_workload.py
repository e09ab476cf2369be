"""A workload of a board, with what a reader has to know of how it was measured."""

from __future__ import annotations

from collections.abc import Sequence

from hooke.comparison.by_hand import fewest_and_most
from sqlalchemy.orm import Session

from hooke_api.comparisons.entries import Entry
from hooke_api.comparisons.extended import made_apart
from hooke_api.comparisons.leaderboard_schemas import BoardWorkload, Counted


def workload_of(session: Session, name: str, found: Sequence[Entry]) -> BoardWorkload:
    """Return a workload by its name; `found`: what measured it at one place, the newest first."""
    refs = [
        Counted(id=each.experiment.id, number=each.experiment.number, name=each.experiment.name) for each in found
    ]
    given = [f"#{each.experiment.number}:{each.by_hand}" for each in found if each.by_hand]
    given.append(_numbers_searched(found))
    told = [f"#{each.experiment.number}: {each.extended}" for each in found if each.extended]
    if len(refs) > 1:
        cluster, workers, _ = found[0].place
        told.append(made_apart(session, {each.id: each.number for each in refs}, cluster, workers))
    return BoardWorkload(
        name=name,
        target=found[0].target,
        trials=found[0].trials,
        experiments=refs,
        by_hand=" ".join(filter(None, given)),
        extended=" ".join(filter(None, told)),
    )


def _numbers_searched(found: Sequence[Entry]) -> str:
    """Return how many parameters were searched, if not as many of all variants of all experiments."""
    several = len(found) > 1
    numbers = {
        f"{name} of #{each.experiment.number}" if several else name: number
        for each in found
        for name, number in each.searched.items()
    }
    known = {name: number for name, number in numbers.items() if number is not None}
    return fewest_and_most(known, known_of_all=len(known) == len(numbers)).strip()
