"""Lower bounds of the time of an all-reduce on links of a given rate: bytes only, no latency, no processor."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from hooke.comm.collectives import Collective, allreduce

SEGMENT, HEADERS = 1448, 66
"""Payload and headers (Ethernet, IPv4, TCP with time stamps) of a full segment at an MTU of 1500."""


def limits(ranks: int, elements: int, bits_per_second: float) -> dict[str, float]:
    """Return seconds by collective: its schedule on links that are full both ways.

    `any`: the lower bound for every all-reduce, 2 (P - 1)/P |W| per link and direction. The library's schedule is
    unknown.
    """
    seconds_per_element = 4 * 8 * (1 + HEADERS / SEGMENT) / bits_per_second
    found = {"any": 2 * (ranks - 1) / ranks * elements * seconds_per_element}
    for collective in get_args(Collective):
        if collective != "library":
            found[collective] = elements_in_a_row(ranks, elements, collective) * seconds_per_element
    return found


def elements_in_a_row(ranks: int, elements: int, collective: Collective) -> float:
    """Return the time at which the last rank is done, in units of elements sent.

    A rank sends and receives a round concurrently and begins the next one when both are done.
    """
    schedule = allreduce(ranks, elements, collective)
    clock, at = [0.0] * ranks, [0] * ranks
    on_the_way: dict[tuple[int, int], list[float]] = {}
    posted, taken = set(), Counter[tuple[int, int]]()
    while any(at[rank] < len(schedule[rank]) for rank in range(ranks)):
        for rank in range(ranks):
            if at[rank] == len(schedule[rank]):
                continue
            step = schedule[rank][at[rank]]
            own = clock[rank] + (len(step.send) if step.send else 0)
            if step.send and (rank, at[rank]) not in posted:
                posted.add((rank, at[rank]))
                on_the_way.setdefault((rank, step.peer), []).append(own)
            link = (step.source, rank)
            if step.receive:
                if len(on_the_way.get(link, [])) == taken[link]:
                    continue  # its sender has not reached it yet
                own = max(own, on_the_way[link][taken[link]])
                taken[link] += 1
            clock[rank], at[rank] = own, at[rank] + 1
    return max(clock)
