"""The price of a message: one-port links with a memory of how long they are busy."""

from __future__ import annotations

from hooke.spec.specification import VirtualCluster


class Network:
    """Each rank has one send and one receive link; a message occupies the sender's and the receiver's.

    A message of n bytes takes `latency + n * seconds_per_byte`; `host_seconds_per_byte` instead, where it is
    given, if one end is a server (ranks from `workers` on) or the place of a lock-free center. A server that
    answers many workers is thus limited by its own link, which plain latency plus bandwidth would hide.

    Without latency and seconds per byte the ranks share one host's memory.
    """

    def __init__(self, size: int, constants: VirtualCluster, workers: int | None = None) -> None:
        self.latency = constants.latency
        self.seconds_per_byte = constants.seconds_per_byte
        self.memory_bandwidth = constants.memory_bandwidth
        host = constants.host_seconds_per_byte
        self._host_seconds_per_byte = constants.seconds_per_byte if host is None else host
        self._workers = size if workers is None else workers
        self.shares_memory = constants.shares_memory
        self._send_free = [0.0] * size
        self._receive_free = [0.0] * size

    def price(self, source: int, target: int, size: int) -> float:
        """Return the seconds for which `size` bytes occupy the links of two ranks, without the latency."""
        host = max(source, target) >= self._workers
        return size * (self._host_seconds_per_byte if host else self.seconds_per_byte)

    def place(self) -> int:
        """Return the number of a further place with links of its own, which is no rank: for memory."""
        self._send_free.append(0.0)
        self._receive_free.append(0.0)
        return len(self._send_free) - 1

    def transfer(self, now: float, source: int, target: int, size: int) -> float:
        """Carry `size` bytes as soon as both links are free, first come first served; return the end."""
        start = max(now, self._send_free[source], self._receive_free[target])
        end = start + self.latency + self.price(source, target, size)
        self._send_free[source] = self._receive_free[target] = end
        return end
