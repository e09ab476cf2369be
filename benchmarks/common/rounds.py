"""Carries out what is missing of a comparison in virtual time, in this process or on several."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from benchmarks.common.pool import make_pool

Todo = TypeVar("Todo")


def carry_out(
    following: Callable[[Sequence[Todo], int], Sequence[Todo]],
    run: Callable[[Todo], dict[str, Any]],
    keep: Callable[[Todo, dict[str, Any]], None],
    minutes: float,
    processes: int = 1,
) -> None:
    """Carry out what follows until nothing does, or `minutes` are over: then what is under way is completed.

    `following(busy, room)`: at most `room` pieces of work, none of which is under way; it is asked again after
    every `keep`. `run` carries one out and returns its record, with several `processes` in one of a pool.
    """
    until = time.monotonic() + 60 * minutes
    if processes == 1:
        while time.monotonic() < until and (found := following((), 1)):
            keep(found[0], run(found[0]))
        return
    under_way: dict[Future[dict[str, Any]], Todo] = {}
    with make_pool(processes) as pool:
        while True:
            room = processes - len(under_way) if time.monotonic() < until else 0
            for todo in following(tuple(under_way.values()), room) if room > 0 else ():
                under_way[pool.submit(run, todo)] = todo
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                keep(under_way.pop(future), future.result())
