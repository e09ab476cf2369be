"""Vectors of a made-up device: nothing but the staging can read or write them, as MPI cannot read CUDA memory.

Each case does the same with host vectors and with device vectors and returns both results as bytes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hooke.comm.base import ANY, Comm, Slice
from hooke.comm.wrappers.packed import Packed
from hooke.comm.wrappers.staged import Staged
from hooke.comm.wrappers.wire import Wire

N = 4099
LAYOUT = (Slice("a", 0, 5, (5,)), Slice("b", 5, N, (N - 5,)))


class Device:
    """A vector that no communicator takes: it has neither a buffer nor `numpy()`."""

    def __init__(self, values: np.ndarray) -> None:
        self.hidden_values = values.copy()


class HostCopies:
    """Staging for it; counts its buffers."""

    def __init__(self) -> None:
        self.buffers: dict[int, np.ndarray] = {}
        self.made: dict[int, Callable[[Any], None]] = {}
        self.settled = 0

    def takes(self, x: Any) -> bool:
        return isinstance(x, Device)

    def keep(self, x: Any, made: Callable[[Any], None]) -> None:
        self.made[id(x)] = made

    def buffer(self, x: Any) -> np.ndarray:
        if id(x) not in self.buffers:
            self.buffers[id(x)] = np.full_like(x.hidden_values, np.nan)
            self.made.get(id(x), lambda _: None)(self.buffers[id(x)])
        return self.buffers[id(x)]

    def out(self, x: Any) -> np.ndarray:
        host = self.buffer(x)
        host[:] = x.hidden_values
        return host

    def back(self, host: Any, x: Any) -> None:
        x.hidden_values[:] = host

    def settle(self) -> None:
        self.settled += 1


def values(rank: int, salt: int = 0) -> np.ndarray:
    rng = np.random.default_rng([rank, salt])
    return (rng.standard_normal(N) * 10.0 ** rng.integers(-3, 4, N)).astype(np.float32)


def collectives(comm: Comm, vector: Callable[[np.ndarray], Any]) -> list[Any]:
    last = comm.size - 1
    a, b, c, d = (vector(values(comm.rank, salt)) for salt in range(4))
    for _ in range(3):  # again and again: the same buffers
        comm.allreduce(a)
    comm.broadcast(b, last)
    pending = comm.iallreduce(c)
    pending.wait()
    pending.wait()
    comm.reduce(d, last)
    return [a, b, c, *([d] if comm.rank == last else [])]


def gathers(comm: Comm, vector: Callable[[np.ndarray], Any]) -> list[Any]:
    last = comm.size - 1
    a, b, c = (vector(values(comm.rank, salt)[: 30 * comm.size]) for salt in range(3))
    comm.allgather(a)
    comm.gather(b, last)
    pending = comm.iallgather(c)
    pending.wait()
    return [a, c, *([b] if comm.rank == last else [])]


def messages(comm: Comm, vector: Callable[[np.ndarray], Any]) -> list[Any]:
    mine, there, into = vector(values(comm.rank)), vector(values(9)), vector(values(8))
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    parts = [comm.irecv(there, left, 1), comm.isend(mine, right, 1)]
    for part in parts:
        part.wait()
    if comm.rank == 0:
        for _ in range(comm.size - 1):
            assert comm.recv(into, ANY).source > 0
            comm.send(mine, 1) if comm.size == 2 else None
    else:
        comm.send(mine, 0)
        if comm.size == 2:
            comm.recv(into, 0)
    half = comm.split(comm.rank % 2)
    half.allreduce(there)
    return [mine, there, *([into] if comm.size == 2 else [])]


def windows(comm: Comm, vector: Callable[[np.ndarray], Any]) -> list[Any]:
    start, into, whole = vector(values(5)), vector(values(6)), vector(np.ones(N, np.float32))
    window = comm.window(start)
    comm.barrier()
    window.accumulate(whole)
    comm.barrier()
    if comm.rank == 0:
        window.put(whole)
        window.add(whole, 2.0)
    comm.barrier()
    window.get(into)
    comm.barrier()
    window.close()
    return [into]


CASES = {case.__name__: case for case in (collectives, gathers, messages, windows)}


def both(comm: Comm, name: str, wire: bool) -> tuple[list[bytes], list[bytes], int]:
    """Return results on host vectors, on device vectors, and the number of buffers made."""

    def world() -> Comm:
        packed = Packed(comm, "per-layer", LAYOUT)
        return Wire(packed, "bf16", True, {}) if wire else packed

    plain = [x.tobytes() for x in CASES[name](world(), np.copy)]
    copies = HostCopies()
    staged = [x.hidden_values.tobytes() for x in CASES[name](Staged(world(), copies), Device)]
    unchanged = CASES[name](Staged(world(), copies), np.copy)  # host vectors pass through the same wrapper
    assert [x.tobytes() for x in unchanged] == plain
    return plain, staged, len(copies.buffers)
