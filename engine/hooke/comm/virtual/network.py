"""The time of a message: a one-port model, in which each link carries one message at a time."""

from __future__ import annotations

from hooke.spec.specification import VirtualCluster


class Network:
    """Each rank has one send and one receive link; a message occupies the sender's and the receiver's.

    A message of n bytes takes `latency + n * seconds_per_byte`, or with `host_seconds_per_byte`, if given, when
    one end is a server (ranks from `workers` on) or the host of a lock-free center. A server that answers many
    workers is thus limited by its own link, which a model of latency and bandwidth alone would not show.

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
        """Return the number of a new host with its own links and without a rank, for a window's memory."""
        self._send_free.append(0.0)
        self._receive_free.append(0.0)
        return len(self._send_free) - 1

    def transfer(self, now: float, source: int, target: int, size: int) -> float:
        """Send `size` bytes as soon as both links are free, first come, first served; return the end time, s."""
        start = max(now, self._send_free[source], self._receive_free[target])
        end = start + self.latency + self.price(source, target, size)
        self._send_free[source] = self._receive_free[target] = end
        return end
