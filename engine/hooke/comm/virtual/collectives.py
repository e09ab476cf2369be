"""Collectives in virtual time: the time of every message of the schedule follows from the links it occupies.

A rank enters round k + 1 when its round k has ended, and a round begins when both partners have entered it. A late
rank therefore delays exactly the ranks that depend on it, and concurrent collectives and point-to-point messages
share the links as in a real network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hooke.comm import collectives, elements
from hooke.comm.arrays import Array
from hooke.comm.collectives import Collective
from hooke.comm.schedule import Part, Schedule
from hooke.comm.virtual.group import Group
from hooke.comm.virtual.transfer import Transfer
from hooke.errors import CommError
from hooke.spec.measured import Operation as Priced

Form = Callable[[list[Array]], None]
"""Overwrites the arrays of all ranks with the result of a reduction."""


class Operation:
    """One collective of a group; `arrays` fills as the ranks post their parts."""

    def __init__(
        self,
        number: int,
        kind: str,
        elements: int,
        schedule: Schedule,
        form: Form | None,
        priced: Priced | None,
    ) -> None:
        self.number = number
        self.kind = kind
        self.priced = priced
        self.elements = elements
        self.schedule = schedule
        self.form = form
        self.arrays: dict[int, Array] = {}
        self.waiting: dict[tuple[int, int], tuple[RankShare, bool]] = {}
        """(sender, receiver) -> the end that has entered, and whether it adds what it receives."""
        self.finished = 0


class RankShare:
    """One rank's part of an operation: its current round and the number of its pending messages."""

    def __init__(self, operation: Operation, rank: int, transfer: Transfer) -> None:
        self.operation = operation
        self.rank = rank
        self.transfer = transfer
        self.rounds = iter(operation.schedule[rank])
        self.open = 0


class Collectives:
    """The pending collectives of one group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._operations: dict[int, Operation] = {}
        self._posted = [0] * group.size
        self._queues: list[deque[RankShare]] = [deque() for _ in range(group.size)]

    def allreduce(self, rank: int, array: Array) -> Transfer:
        """Begin this rank's part of an all-reduce."""
        collective = self._group.collective
        schedule = collectives.allreduce(self._group.size, array.size, collective)
        priced = None if collective == "library" else collective

        def form(parts: list[Array]) -> None:
            _sum_everywhere(parts, collective)

        return self._post("an all-reduce", rank, array, schedule, form, priced)

    def broadcast(self, rank: int, array: Array, root: int) -> Transfer:
        """Begin this rank's part of a broadcast."""
        schedule = collectives.broadcast(self._group.size, array.size, root)
        return self._post(f"a broadcast from rank {root}", rank, array, schedule, None)

    def gather(self, rank: int, array: Array, block: int, root: int) -> Transfer:
        """Begin this rank's part of a gather of blocks."""
        schedule = collectives.gather(self._group.size, block, root)
        return self._post(f"a gather to rank {root}", rank, array, schedule, None)

    def allgather(self, rank: int, array: Array, block: int) -> Transfer:
        """Begin this rank's part of an all-gather of blocks."""
        schedule = collectives.allgather(self._group.size, block, self._group.collective)
        return self._post("an all-gather", rank, array, schedule, None, "gather")

    def reduce(self, rank: int, array: Array, root: int) -> Transfer:
        """Begin this rank's part of a reduce; scratch vectors become NaN, so that reading them is noticed.

        The vector is copied, because a leaf of the tree may return, and overwrite it, before others have entered.
        """
        schedule = collectives.reduce(self._group.size, array.size, root)
        offered = array if rank == root else array.copy()
        if rank != root:
            elements.spoil(array)
        return self._post(f"a reduce to rank {root}", rank, offered, schedule, lambda parts: _sum_at(parts, root))

    def _post(
        self,
        kind: str,
        rank: int,
        array: Array,
        schedule: Schedule,
        form: Form | None,
        priced: Priced | None = None,
    ) -> Transfer:
        group = self._group
        group.turn(rank)
        number = self._posted[rank]
        self._posted[rank] += 1
        fresh = Operation(number, kind, array.size, schedule, form, priced)
        operation = self._operations.setdefault(number, fresh)
        if (operation.kind, operation.elements) != (kind, array.size):
            raise CommError(
                f"rank {rank} is in {kind} of {array.size} elements while ranks {sorted(operation.arrays)} "
                f"are in {operation.kind} of {operation.elements}"
            )
        operation.arrays[rank] = array
        if operation.form is not None and len(operation.arrays) == group.size:
            operation.form([operation.arrays[r] for r in range(group.size)])
        share = RankShare(operation, rank, group.transfer(rank, f"in {kind}"))
        self._queues[rank].append(share)
        if len(self._queues[rank]) == 1:
            self._advance(share, share.transfer.posted)
        return share.transfer

    def _advance(self, share: RankShare, now: float) -> None:
        """Let a rank enter its next round at time `now`; begin the messages whose partner has entered already."""
        following = next(share.rounds, None)
        if following is None:
            self._finish(share, now)
            return
        share.open = (following.send is not None) + (following.receive is not None)
        if following.send is not None:
            self._meet(share, (share.rank, following.peer), following.send, now)
        if following.receive is not None:
            self._meet(share, (following.source, share.rank), following.receive, now, following.add)

    def _meet(self, share: RankShare, ends: tuple[int, int], part: Part, now: float, adds: bool = False) -> None:
        """Begin the message (sender, receiver) = `ends` if the other end has entered before.

        `adds`: this end is the receiver and adds the message to its vector.
        """
        operation = share.operation
        met = operation.waiting.pop(ends, None)
        if met is None:
            operation.waiting[ends] = share, adds
            return
        other, added = met
        source, target = (operation.arrays[rank] for rank in ends)
        if operation.form is None:  # else the result was formed when the last rank posted
            target[part.start : part.stop] = source[part.start : part.stop]
        members, size = self._group.members, len(part) * source.itemsize
        source_rank, target_rank = members[ends[0]], members[ends[1]]
        links = self._group.links
        end = links.transfer(now, source_rank, target_rank, size, operation.priced, adds or added)
        self._group.baton.at(end, lambda time: self._arrived(share, other, time))

    def _arrived(self, share: RankShare, other: RankShare, now: float) -> None:
        for each in sorted((share, other), key=lambda s: s.rank):
            each.open -= 1
        for each in sorted((share, other), key=lambda s: s.rank):
            if each.open == 0:
                self._advance(each, now)

    def _finish(self, share: RankShare, now: float) -> None:
        share.transfer.finish(now)
        operation = share.operation
        operation.finished += 1
        if operation.finished == self._group.size:
            del self._operations[operation.number]
        queue = self._queues[share.rank]
        queue.popleft()
        if queue:
            self._advance(queue[0], now)


def _sum_everywhere(arrays: list[Array], collective: Collective) -> None:
    """Overwrite every array with the sum; the operation owns all of them."""
    collectives.add_up(arrays, collective)
    for other in arrays[1:]:
        other[:] = arrays[0]


def _sum_at(arrays: list[Array], root: int) -> None:
    """Overwrite the root's array with the ordered sum; the others are copies."""
    collectives.add_up(arrays)
    arrays[root][:] = arrays[0]
