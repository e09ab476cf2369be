"""Fragments of a flat vector, which Streaming DiLoCo synchronizes one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hooke.catalogue.claims import Behind, Step, Transfer, Transfers
from hooke.comm.base import Slice


def fragments(layout: Sequence[Slice], count: int) -> list[slice]:
    """Return `count` contiguous fragments of similar size, cut between layer parameters; some may be empty."""
    borders = [0, *(part.stop for part in layout)]
    cuts = [min(borders, key=lambda border: abs(border * count - k * borders[-1])) for k in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]


def due(n: int, parts: Sequence[slice], period: int) -> list[int]:
    """Return the fragments to synchronize after n local steps: the k-th of F at k H / F, and every H steps."""
    return [
        k
        for k, part in enumerate(parts)
        if n > 0 and part.stop > part.start and (n - k * period // len(parts)) % period == 0
    ]


def fragment_sums(method: Any, step: Step) -> Transfers:
    """Return the all-reduces of the fragments that are sent after a step, hidden behind `delay` steps."""
    parts = fragments(step.layout, method.fragments)
    sizes = [parts[k].stop - parts[k].start for k in due(step.t + 1, parts, method.period)]
    hidden: Behind = method.delay or "nothing"
    return [Transfer("all-reduce", size, step.workers, behind=hidden, begins="after") for size in sizes]
