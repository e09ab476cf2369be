"""State shared by the ranks of one virtual communicator: posted messages, words and rendezvous.

Only the holder of the baton accesses it, so there are no locks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hooke.comm.arrays import Array, Words, check_message
from hooke.comm.base import ANY
from hooke.comm.collectives import Collective
from hooke.comm.virtual.baton import Baton
from hooke.comm.virtual.network import Network
from hooke.comm.virtual.transfer import Transfer
from hooke.errors import CommError


@dataclass(eq=False)
class _Post:
    """One side of a transfer from rank to rank; `source` may be ANY on the receiving side."""

    source: int
    tag: int
    array: Array
    transfer: Transfer


@dataclass
class _Meeting:
    """A rendezvous: the ranks that have entered an operation that no rank leaves before all have entered."""

    kind: str = ""
    values: dict[int, Any] = field(default_factory=dict)
    result: Any = None


@dataclass
class _Announcement:
    """One control broadcast: the root's words once posted, the waiting ranks, and the ranks that have read."""

    words: Words | None = None
    asleep: list[int] = field(default_factory=list)
    read: int = 0


class Group:
    """The members (world ranks) of one communicator and everything they have posted."""

    def __init__(self, members: tuple[int, ...], baton: Baton, links: Network, collective: Collective) -> None:
        self.members = members
        self.size = len(members)
        self.baton = baton
        self.links = links
        self.collective = collective
        self._sends: list[list[_Post]] = [[] for _ in members]
        self._receives: list[list[_Post]] = [[] for _ in members]
        self._words: list[list[tuple[int, Words]]] = [[] for _ in members]
        self._reading: dict[int, int] = {}
        self._meeting = _Meeting()
        self._announcements: dict[int, _Announcement] = {}
        self._announced = [0] * self.size

    def turn(self, rank: int) -> None:
        """Return when it is this member's turn for an operation that others can observe."""
        self.baton.turn(self.members[rank])

    def transfer(self, rank: int, reason: str) -> Transfer:
        """Return a new transfer that this member begins now."""
        return Transfer(self.baton, self.members[rank], reason)

    # -- vectors from rank to rank ----------------------------------------------------------------------

    def post_send(self, rank: int, to: int, tag: int, array: Array) -> Transfer:
        """Post a send to one rank; it matches the earliest posted receive that fits."""
        self.turn(rank)
        post = _Post(rank, tag, array, self.transfer(rank, f"to send to rank {to} (tag {tag})"))
        for wanted in self._receives[to]:
            if wanted.tag == tag and wanted.source in (ANY, rank):
                self._receives[to].remove(wanted)
                self._move(post, to, wanted)
                return post.transfer
        self._sends[to].append(post)
        return post.transfer

    def post_receive(self, rank: int, source: int, tag: int, array: Array) -> Transfer:
        """Post a receive from one rank, or ANY; it matches the earliest posted send that fits."""
        self.turn(rank)
        whom = "any rank" if source == ANY else f"rank {source}"
        wanted = _Post(source, tag, array, self.transfer(rank, f"to receive from {whom} (tag {tag})"))
        for post in self._sends[rank]:
            if post.tag == tag and source in (ANY, post.source):
                self._sends[rank].remove(post)
                self._move(post, rank, wanted)
                return wanted.transfer
        self._receives[rank].append(wanted)
        return wanted.transfer

    def _move(self, post: _Post, to: int, wanted: _Post) -> None:
        sent, room = post.array, wanted.array
        check_message(sent.nbytes, room.nbytes, room.itemsize, f"message from rank {post.source} to rank {to}")
        room[: sent.size] = sent
        wanted.transfer.source = post.source
        now = max(post.transfer.posted, wanted.transfer.posted)
        end = self.links.transfer(now, self.members[post.source], self.members[to], post.array.nbytes)
        post.transfer.finish(end)
        wanted.transfer.finish(end)

    # -- control words ----------------------------------------------------------------------------------

    def post_words(self, rank: int, to: int, words: Words) -> None:
        """Post words for one rank; turns put them in the order of virtual time."""
        self.turn(rank)
        self._words[to].append((rank, words))
        if self._reading.get(to) in (ANY, rank):
            del self._reading[to]
            self.baton.wake(self.members[to], self.baton.time[self.members[rank]])

    def take_words(self, rank: int, source: int) -> tuple[int, Words]:
        """Return (sender, words) of the first message from `source` or ANY; wait for it."""
        while True:
            found = self.poll_words(rank, source)
            if found is not None:
                return found
            self._reading[rank] = source
            whom = "any rank" if source == ANY else f"rank {source}"
            self.baton.block(self.members[rank], f"for control words from {whom}")

    def poll_words(self, rank: int, source: int) -> tuple[int, Words] | None:
        """Return (sender, words) of the first message from `source` or ANY, or None if there is none."""
        self.turn(rank)
        for position, (sender, words) in enumerate(self._words[rank]):
            if source in (ANY, sender):
                del self._words[rank][position]
                return sender, words
        return None

    def post_announcement(self, rank: int, words: Words | None) -> Callable[[], Words]:
        """Post this member's part of the next control broadcast; return the function that waits for it."""
        self.turn(rank)
        number = self._announced[rank]
        self._announced[rank] += 1
        announcement = self._announcements.setdefault(number, _Announcement())
        if rank == 0:
            if words is None:
                raise CommError("rank 0 posted a control broadcast without words")
            announcement.words = words
            for sleeper in announcement.asleep:
                self.baton.wake(self.members[sleeper], self.baton.time[self.members[0]])
        return lambda: self._read_announcement(rank, number)

    def _read_announcement(self, rank: int, number: int) -> Words:
        announcement, me = self._announcements[number], self.members[rank]
        if announcement.words is None:
            announcement.asleep.append(rank)
            self.baton.block(me, "for a control broadcast from rank 0")
        # Turns ensure that no rank reads words before the time at which they were posted.
        announcement.read += 1
        if announcement.read == self.size:
            del self._announcements[number]
        return announcement.words or ()

    # -- operations that no rank leaves before all have entered --------------------------------------------

    def meet(self, rank: int, kind: str, value: Any, combine: Callable[[list[Any]], Any], delay: float) -> Any:
        """Enter with a value; return `combine(values by rank)`, `delay` seconds after the last has entered."""
        self.turn(rank)
        meeting, me = self._meeting, self.members[rank]
        if meeting.values and meeting.kind != kind:
            raise CommError(f"rank {rank} is {kind} while ranks {sorted(meeting.values)} are {meeting.kind}")
        meeting.kind = kind
        meeting.values[rank] = value
        if len(meeting.values) < self.size:
            self.baton.block(me, kind)
            return meeting.result
        self._meeting = _Meeting()  # ranks that leave may enter the next one at once
        meeting.result = combine([meeting.values[r] for r in range(self.size)])
        self.baton.time[me] += delay
        for other in range(self.size):
            if other != rank:
                self.baton.wake(self.members[other], self.baton.time[me])
        return meeting.result

    def divide(self, choices: list[tuple[int, int]]) -> dict[int, Group]:
        """Return the new group of each color; members are ordered by key, then by rank."""
        by_color: dict[int, list[tuple[int, int]]] = {}
        for rank, (color, key) in enumerate(choices):
            by_color.setdefault(color, []).append((key, rank))
        return {
            color: Group(tuple(self.members[r] for _, r in sorted(ranks)), self.baton, self.links, self.collective)
            for color, ranks in by_color.items()
        }
