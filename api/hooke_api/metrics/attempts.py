"""Selects the valid points of several attempts: those of the newest, and of earlier ones up to its checkpoint.

Superseded points stay stored and are hidden here, so a curve never goes backwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hooke_api.metrics.table import COLUMNS, Column


@dataclass(frozen=True)
class Begun:
    """An attempt with at least one started rank, and the step of its checkpoint (None: from the start)."""

    number: int
    restored_step: int | None


def keep_steps(
    columns: Mapping[tuple[int, int], dict[str, Column]],
    begun: Sequence[Begun],
    ranks: Iterable[int],
    names: Sequence[str] = COLUMNS,
) -> dict[int, dict[str, Column]]:
    """Return the columns of each rank without superseded steps.

    columns: by (attempt, rank), with these names. The first step of a rank in a later attempt determines where it
    continued, because with a server every worker has its own; before that step, the restored step of the attempt
    is used.
    """
    numbers = sorted({attempt for attempt, _ in columns} | {b.number for b in begun})
    restored = {b.number: b.restored_step or 0 for b in begun}
    kept: dict[int, dict[str, Column]] = {}
    for rank in ranks:
        parts: list[dict[str, Column]] = []
        limit = np.inf
        for attempt in reversed(numbers):
            own = columns.get((attempt, rank))
            if own is not None and len(own["step"]):
                below = own["step"] <= limit
                if below.any():
                    parts.append(own if below.all() else {name: own[name][below] for name in names})
                limit = min(limit, float(own["step"][0]) - 1)
            else:
                limit = min(limit, restored.get(attempt, 0))
        if len(parts) == 1:
            kept[rank] = parts[0]
        elif parts:
            kept[rank] = {name: np.concatenate([p[name] for p in reversed(parts)]) for name in names}
    return kept


def limits_of(
    numbers: Sequence[int], begun: Sequence[Begun], firsts: Mapping[tuple[int, int], int], ranks: Iterable[int]
) -> dict[tuple[int, int], float]:
    """Return (attempt, rank) -> the last step that `keep_steps` keeps of it.

    numbers: of the attempts, ascending; firsts: (attempt, rank) -> first step, of all but the first attempt.
    """
    restored = {b.number: b.restored_step or 0 for b in begun}
    limits: dict[tuple[int, int], float] = {}
    for rank in ranks:
        limit = np.inf
        for attempt in reversed(numbers):
            limits[attempt, rank] = limit
            first = firsts.get((attempt, rank))
            limit = min(limit, first - 1 if first is not None else restored.get(attempt, 0))
    return limits


def keep_evaluations(
    evaluations: Sequence[tuple[Any, ...]], begun: Sequence[Begun], restored_samples: int
) -> list[tuple[Any, ...]]:
    """Return the evaluations without superseded ones.

    evaluations: (attempt, samples, ...), ascending. Earlier attempts count up to `restored_samples`, and only
    below the first evaluation of a later attempt.
    """
    newest = max([b.number for b in begun] + [int(row[0]) for row in evaluations], default=1)
    kept: list[tuple[Any, ...]] = []
    limit = np.inf
    for row in reversed(evaluations):
        attempt, samples = row[0], row[1]
        if attempt == newest or 0 < restored_samples >= samples < limit:
            kept.append(row)
            limit = samples
    return kept[::-1]
