"""A counter in virtual time."""

from __future__ import annotations

from hooke.comm.virtual.group import Group
from hooke.errors import CommError


class VirtualCounter:
    """See `hooke.comm.base.Counter`, in the order of virtual time.

    It costs no time, unless messages of windows have constants of their own: then that of one message.
    """

    def __init__(self, group: Group, rank: int) -> None:
        self._group, self._rank = group, rank
        self._value: list[int] | None = group.meet(rank, "making a counter", None, lambda _: [0], 0.0)

    def take(self, amount: int = 1) -> int:
        """Add `amount`; return the previous value."""
        if self._value is None:
            raise CommError("this counter has been closed")
        self._group.baton.charge(self._group.members[self._rank], self._group.links.one_sided)
        self._group.turn(self._rank)
        before = self._value[0]
        self._value[0] += amount
        return before

    def close(self) -> None:
        """Free it; collective."""
        if self._value is None:
            raise CommError("this counter has been closed")
        self._group.meet(self._rank, "closing a counter", None, lambda _: None, 0.0)
        self._value = None
