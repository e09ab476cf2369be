"""A window of a rank's phases, at the resolution of a screen: shares of each pixel, or the slices themselves."""

from __future__ import annotations

import numpy as np
from hooke.trace.phases import PHASES

from hooke_api.timeline.columns import Floats, Indices, RankColumns

BUSY = [PHASES.index(phase) for phase in PHASES if phase in ("data", "compute", "rebuild", "update")]
"""Phases in which a rank is in no operation."""


def inside(rank: RankColumns, start: float, stop: float) -> Indices:
    """Return the positions of the slices that overlap the window from `start` to `stop`, s."""
    first = int(np.searchsorted(rank.ended, start, side="right"))
    last = int(np.searchsorted(rank.began, stop, side="left"))
    return np.arange(first, max(first, last))


def shares(rank: RankColumns, start: float, stop: float, bins: int) -> Floats:
    """Return the share of each phase in each of `bins` equal parts of a window: (phases, bins), each in 0..1.

    Exact: no slice is lost, however short. Sums are below 1 where nothing is recorded.
    """
    edges = np.linspace(start, stop, bins + 1)
    found = np.zeros((len(PHASES), bins))
    for phase in range(len(PHASES)):
        mine = rank.phase == phase
        began, ended = rank.began[mine], rank.ended[mine]
        if not len(began):
            continue
        before = np.concatenate(([0.0], np.cumsum(ended - began)))
        index = np.searchsorted(began, edges, side="right")  # slices begun at each edge
        latest = np.maximum(index - 1, 0)
        under_way = np.clip(edges, began[latest], ended[latest]) - ended[latest]
        found[phase] = np.diff(before[index] + np.where(index > 0, under_way, 0.0))
    width = (stop - start) / bins
    return np.clip(found / width, 0.0, 1.0)


def operation_of(rank: RankColumns, slices: Indices) -> Indices:
    """Return for each slice the first operation that began within it, as its name's position; -1: none.

    Slices in which the rank computes have none: an operation that takes no time begins where they do.
    """
    began = rank.operations.began
    if not len(began) or not len(slices):
        return np.full(len(slices), -1, dtype=np.int64)
    index = np.searchsorted(began, rank.began[slices], side="left")
    known = np.minimum(index, len(began) - 1)
    within = (index < len(began)) & (began[known] < rank.ended[slices])
    within &= ~np.isin(rank.phase[slices], BUSY)
    return np.where(within, rank.operations.name[known], -1)
