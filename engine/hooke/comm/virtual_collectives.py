"""Collectives in virtual time: every message of the schedule is priced by the links it occupies.

A rank enters round k + 1 when its round k has ended, and a round begins when both partners have entered it.
So a late rank delays exactly those that depend on it, and two collectives, or a collective and messages from
rank to rank, share the links as they would in a real network.
"""

from __future__ import annotations

from collections import deque

from hooke.comm import collectives
from hooke.comm.arrays import Array
from hooke.comm.collectives import Round, Schedule
from hooke.comm.virtual_group import Group
from hooke.comm.virtual_transfer import Transfer
from hooke.errors import CommError

SUM = "an all-reduce"


class Operation:
    """One collective of a group; `arrays` fills as the ranks post their parts."""

    def __init__(self, number: int, kind: str, elements: int, schedule: Schedule) -> None:
        self.number = number
        self.kind = kind
        self.elements = elements
        self.schedule = schedule
        self.arrays: dict[int, Array] = {}
        self.waiting: dict[tuple[int, int], Share] = {}
        self.finished = 0


class Share:
    """One rank's part of an operation: which round it is in, and what it waits for."""

    def __init__(self, operation: Operation, rank: int, transfer: Transfer) -> None:
        self.operation = operation
        self.rank = rank
        self.transfer = transfer
        self.rounds = iter(operation.schedule[rank])


class Collectives:
    """The collectives of one group that are under way."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._operations: dict[int, Operation] = {}
        self._posted = [0] * group.size
        self._queues: list[deque[Share]] = [deque() for _ in range(group.size)]

    def allreduce(self, rank: int, array: Array) -> Transfer:
        """Begin this rank's part of an all-reduce."""
        schedule = collectives.allreduce(self._group.size, array.size, self._group.collective)
        return self._post(SUM, rank, array, schedule)

    def broadcast(self, rank: int, array: Array, root: int) -> Transfer:
        """Begin this rank's part of a broadcast."""
        schedule = collectives.broadcast(self._group.size, array.size, root)
        return self._post(f"a broadcast from rank {root}", rank, array, schedule)

    def _post(self, kind: str, rank: int, array: Array, schedule: Schedule) -> Transfer:
        group = self._group
        group.turn(rank)
        number = self._posted[rank]
        self._posted[rank] += 1
        operation = self._operations.setdefault(number, Operation(number, kind, array.size, schedule))
        if (operation.kind, operation.elements) != (kind, array.size):
            raise CommError(
                f"rank {rank} is in {kind} of {array.size} elements while ranks {sorted(operation.arrays)} "
                f"are in {operation.kind} of {operation.elements}"
            )
        operation.arrays[rank] = array
        if kind == SUM and len(operation.arrays) == group.size:
            _sum_everywhere([operation.arrays[r] for r in range(group.size)])
        share = Share(operation, rank, group.transfer(rank, f"in {kind}"))
        self._queues[rank].append(share)
        if len(self._queues[rank]) == 1:
            self._advance(share, share.transfer.posted)
        return share.transfer

    def _advance(self, share: Share, now: float) -> None:
        """Let a rank enter its next round at time `now`; begin the round if the partner is there already."""
        following = next(share.rounds, None)
        if following is None:
            self._finish(share, now)
            return
        operation = share.operation
        pair = (min(share.rank, following.peer), max(share.rank, following.peer))
        partner = operation.waiting.pop(pair, None)
        if partner is None:
            operation.waiting[pair] = share
        else:
            self._exchange(share, partner, following, now)

    def _exchange(self, share: Share, partner: Share, following: Round, now: float) -> None:
        end = now
        for sender, receiver, part in (
            (share, partner, following.send),
            (partner, share, following.receive),
        ):
            if part is None:
                continue
            source, target = share.operation.arrays[sender.rank], share.operation.arrays[receiver.rank]
            if share.operation.kind != SUM:  # whose sum was formed when the last rank posted
                target[part.start : part.stop] = source[part.start : part.stop]
            members = self._group.members
            size = len(part) * source.itemsize
            end = max(end, self._group.links.transfer(now, members[sender.rank], members[receiver.rank], size))
        self._group.baton.at(end, lambda time: self._both(share, partner, time))

    def _both(self, share: Share, partner: Share, now: float) -> None:
        for each in sorted((share, partner), key=lambda s: s.rank):
            self._advance(each, now)

    def _finish(self, share: Share, now: float) -> None:
        share.transfer.finish(now)
        operation = share.operation
        operation.finished += 1
        if operation.finished == self._group.size:
            del self._operations[operation.number]
        queue = self._queues[share.rank]
        queue.popleft()
        if queue:
            self._advance(queue[0], now)


def _sum_everywhere(arrays: list[Array]) -> None:
    """Overwrite every array by the ordered sum; all of them are in the hands of the operation."""
    collectives.add_up(arrays)
    for other in arrays[1:]:
        other[:] = arrays[0]
