"""The time of a message: a one-port model, in which each link carries one message at a time."""

from __future__ import annotations

from collections.abc import Sequence

from hooke.comm.schedule import Round
from hooke.spec.measured import Operation
from hooke.spec.specification import VirtualCluster


class Network:
    """Each rank has one send and one receive link; a message occupies the sender's and the receiver's.

    A message of n bytes takes `latency + n * seconds_per_byte`, or with `host_seconds_per_byte`, if given, when
    one end is a server (ranks from `workers` on) or the host of a lock-free center. A server that answers many
    workers is thus limited by its own link, which a model of latency and bandwidth alone would not show. Where
    workers have devices with links of their own, bytes pass those of both ends instead, the slower one counts.

    Without latency and seconds per byte the ranks share one host's memory.

    A message also takes its overhead on both ends, copies, and additions where it is added to a vector. These are
    0 unless they are given (`hooke.spec.measured`). An operation with constants of its own takes those instead of
    all others.
    """

    def __init__(self, size: int, constants: VirtualCluster, workers: int | None = None) -> None:
        self.latency = constants.latency
        self.seconds_per_byte = constants.seconds_per_byte
        self.memory_bandwidth = constants.memory_bandwidth
        self._operations = constants.operations
        window = constants.operations.get("window")
        self.one_sided = window.seconds_per_message if window else 0.0
        """Seconds of a one-sided operation on a few bytes; 0 where it has no constants of its own."""
        self._overhead = 2 * constants.message_overhead
        self._copy = constants.copy_seconds_per_byte
        self._addition = constants.addition_seconds_per_byte
        host = constants.host_seconds_per_byte
        self._host_seconds_per_byte = constants.seconds_per_byte if host is None else host
        self._workers = size if workers is None else workers
        self.shares_memory = constants.shares_memory
        profiles = [constants.profile(rank) for rank in range(self._workers)] if constants.own_links else []
        links = [profile.seconds_per_byte for profile in profiles if profile is not None]
        self._links = [constants.seconds_per_byte if link is None else link for link in links]
        """Seconds per byte of each worker's device; empty: all links are alike."""
        self._send_free = [0.0] * size
        self._receive_free = [0.0] * size

    def price(self, source: int, target: int, size: int) -> float:
        """Return the seconds for which `size` bytes occupy the links of two ranks, without the latency."""
        if self._links:
            return size * max(self._links[end] for end in (source, target) if end < self._workers)
        host = max(source, target) >= self._workers
        return size * (self._host_seconds_per_byte if host else self.seconds_per_byte)

    def place(self) -> int:
        """Return the number of a new host with its own links and without a rank, for a window's memory."""
        self._send_free.append(0.0)
        self._receive_free.append(0.0)
        return len(self._send_free) - 1

    def occupy(self, rank: int, until: float) -> None:
        """Let both links of a rank be taken until a time, s."""
        for free in (self._send_free, self._receive_free):
            free[rank] = max(free[rank], until)

    def surcharge(self, source: int, target: int, size: int, operation: Operation | None, adds: bool) -> float:
        """Return the seconds of a message beyond latency and bytes; negative where its operation takes less."""
        own = self._operations.get(operation) if operation else None
        if own is not None:
            whole = own.seconds_per_message + size * own.seconds_per_byte
            return whole - self.latency - self.price(source, target, size)
        return self._overhead + size * (self._copy + (self._addition if adds else 0.0))

    def beside(self, operation: Operation, rounds: Sequence[Round], itemsize: int) -> float:
        """Return the seconds of `background` or `behind` of these rounds of an operation in the background."""
        own = self._operations.get(operation)
        if own is None:
            return 0.0
        elements = sum(max(len(r.send or ()), len(r.receive or ())) for r in rounds)
        return len(rounds) * own.seconds_per_message + elements * itemsize * own.seconds_per_byte

    def transfer(
        self,
        now: float,
        source: int,
        target: int,
        size: int,
        operation: Operation | None = None,
        adds: bool = False,
    ) -> float:
        """Send `size` bytes as soon as both links are free, first come, first served; return the end time, s.

        `operation`: the one that the message belongs to; `adds`: whether it is added to a vector where it arrives.
        """
        start = max(now, self._send_free[source], self._receive_free[target])
        end = start + self.latency + self.price(source, target, size)
        end += self.surcharge(source, target, size, operation, adds)
        self._send_free[source] = self._receive_free[target] = end
        return end
