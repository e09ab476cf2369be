"""What a method that declares its exchange must move, and how long that takes in virtual time.

From the schedules alone. A message of n float32 values takes A + 4 n B. The tree moves a sum in 2 (P - 1) messages
of n, 2 log2 P of them one after the other; halving in 2 log2 P messages per rank, which add up to as many values;
broadcast and reduce are one way of the tree. An all-gather moves P - 1 blocks into every rank: log2 P messages
each if P is a power of two, else P - 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hooke.catalogue.claims import Step, Transfer, claimed

from tests.engine.contract.cases import Case, Played
from tests.engine.contract.objective import Quadratic

WORD = 4
"""Bytes of a float32."""


@dataclass
class Moved:
    """What all ranks together have asked for and sent."""

    payload: int = 0
    wire: int = 0
    messages: int = 0


def transfers(case: Case, reports: list[Played]) -> list[Transfer]:
    """Return what the declared exchange says of all steps: of all workers at once, or of each worker's own."""
    exchange = claimed(case.kind, "exchange")
    alone = case.kind.coordination != "synchronous"
    counts = [len(report.picked) for report in reports[: case.workers]]
    steps = [t for count in (counts if alone else counts[:1]) for t in range(count)]
    layout = Quadratic.layout_of(case.objective)
    return [each for t in steps for each in exchange(case.method, Step(t, case.workers, layout, case.seed))]


def halves(elements: int, ranks: int) -> int:
    """Return the messages of the first half of halving: P log2 P, but none for the empty half of one element."""
    if ranks == 1:
        return 0
    low, high = elements // 2, elements - elements // 2
    sent = ranks // 2 * ((low > 0) + (high > 0))
    return sent + halves(low, ranks // 2) + halves(high, ranks // 2)


def gathers(ranks: int) -> int:
    """Return the messages of one rank in an all-gather."""
    return ranks.bit_length() - 1 if ranks & (ranks - 1) == 0 else ranks - 1


def moved(case: Case, every: Iterable[Transfer]) -> Moved:
    """Return what these take with the case's collective."""
    total = Moved()
    for each in every:
        p, size = each.ranks, WORD * each.elements
        if p == 1 and each.operation in ("all-reduce", "all-gather", "broadcast", "reduce"):
            continue
        if each.operation == "all-gather":
            total.payload += each.groups * p * size
            total.wire += each.groups * p * (p - 1) * size
            total.messages += each.groups * p * gathers(p)
            continue
        ways = {"all-reduce": 2, "broadcast": 1, "reduce": 1}.get(each.operation)
        asked = {"all-reduce": p, "broadcast": 1, "reduce": p - 1}.get(each.operation, 1)
        total.payload += each.groups * asked * size
        total.wire += each.groups * (1 if ways is None else ways * (p - 1)) * size
        halved = case.collective == "halving" and each.operation == "all-reduce"
        messages = 2 * halves(each.elements, p) if halved else 1 if ways is None else ways * (p - 1)
        total.messages += each.groups * messages
    return total


def seconds(every: Sequence[Transfer], latency: float, per_byte: float, collective: str = "tree") -> float:
    """Return what transfers one after the other take; the number of ranks of an all-reduce is a power of two.

    By halving a rank sends and receives n/2, n/4, ... and the same on the way back: 2 log2(P) messages, which add
    up to 2 (P - 1)/P n. Elements that P does not divide are counted as fractions.
    """
    ways = {"all-reduce": 2, "broadcast": 1, "reduce": 1}
    total = 0.0
    for each in every:
        p, size = each.ranks, WORD * each.elements * per_byte
        rounds = ways.get(each.operation, 0) * math.ceil(math.log2(p))
        if each.operation == "all-gather":
            total += gathers(p) * latency + (p - 1) * size
        elif each.operation == "all-reduce" and collective == "halving":
            total += rounds * latency + 2 * (p - 1) / p * size
        else:
            total += (rounds if each.operation in ways else 1) * (latency + size)
    return total
