"""Compressed wires in both worlds, against simulations of all ranks in NumPy written here; see `cases.py`."""

import zlib
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from hooke.comm.base import ANY, Comm
from hooke.comm.compressors import compressor
from hooke.comm.wrappers.compressed import Coding, Compressed

from tests.engine.comm.cases import digest

COMPRESSED_SIZES = (2, 5)
"""Numbers of MPI ranks on which these cases are played."""
WIRES = ("int8", "sign", "top-k")
SHARE, SEED, N = 0.1, 11, 700
"""N: a block of 512 and a shorter one."""


def int8_of(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Blocks of 512, 128 blocks per draw: the upper of the two nearest levels if chance reaches it."""
    out = np.zeros(x.size)
    whole = x.size // 512 * 512
    cuts = [*range(0, whole, 128 * 512), whole, x.size]
    for first, last in zip(cuts, cuts[1:], strict=False):
        words = draw.bit_generator.random_raw(-(-(last - first) // 4)).view(np.uint16)
        for start in range(first, last, 512):
            block = x[start : min(start + 512, last)].astype(np.float64)
            scale = np.abs(block).max() / 127
            chance = (words[start - first :][: block.size] + 0.5) / 65536
            out[start : start + block.size] = np.floor(block / scale + chance) * scale if scale else 0
    return out


def sign_of(x: np.ndarray) -> np.ndarray:
    out = np.zeros(x.size)
    for start in range(0, x.size, 512):
        block = x[start : start + 512].astype(np.float64)
        out[start : start + 512] = np.where(block >= 0, 1, -1) * np.abs(block).mean()
    return out


def top_k_of(x: np.ndarray, share: float) -> np.ndarray:
    out = np.zeros(x.size)
    kept = np.argsort(-np.abs(x), kind="stable")[: max(1, round(share * x.size))]
    out[kept] = x[kept]
    return out


def normal(rank: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([rank, seed]).standard_normal(N).astype(np.float32)


class Simulated:
    """One rank's compressor, in float64; random numbers by seed, rank, name and count of the vector."""

    def __init__(self, wire: str, rank: int) -> None:
        self.wire, self.rank = wire, rank
        self.counts: dict[str, int] = defaultdict(int)
        self.left: dict[str, Any] = defaultdict(float)

    def coded(self, x: np.ndarray, name: str) -> np.ndarray:
        if self.wire == "int8":
            own = [] if "broadcast" in name else [self.rank]  # replicas are broadcast alike in all parts
            key = [SEED, *own, zlib.crc32(name.encode()), self.counts[name]]
            self.counts[name] += 1
            return int8_of(x, np.random.Generator(np.random.SFC64(np.random.SeedSequence(key))))
        return sign_of(x) if self.wire == "sign" else top_k_of(x, SHARE)

    def update(self, x: np.ndarray, name: str) -> np.ndarray:
        """Error feedback: what arrives, and what is left for the next time."""
        wanted = x + self.left[name]
        sent = self.coded(wanted, name)
        self.left[name] = wanted - sent
        return sent


def wired(comm: Comm, wire: str, kept: dict[str, Any] | None = None) -> Any:
    coding = Coding(compressor(wire, SHARE), True, SEED)  # type: ignore[arg-type]
    return Compressed(comm, coding, {} if kept is None else kept)


def near(got: np.ndarray, wanted: np.ndarray) -> None:
    """Float32 against float64; a level or an element may be chosen otherwise where two are equally near."""
    assert np.mean(np.abs(got - wanted) > 1e-5 * (1 + np.abs(wanted))) < 0.01
    np.testing.assert_allclose(got, wanted, atol=0.2 * max(1.0, float(np.abs(wanted).max())))


def drifting(rank: int, step: int, seed: int = 0) -> np.ndarray:
    """Weights: a point of its own for each rank, and a walk."""
    base = normal(rank, seed).astype(np.float64)
    return (base + 0.05 * step * normal(rank + 50, seed)).astype(np.float32)


def sums_of_updates(wire: str, comm: Comm) -> Any:
    """An all-reduce and a reduce of gradients, with residuals; the first message is encoded, too."""
    comms = wired(comm, wire).sending("updates")
    ranks = [Simulated(wire, r) for r in range(comm.size)]
    x, y, seen = np.zeros(N, np.float32), np.zeros(N, np.float32), []
    for step in range(4):
        x[:], y[:] = normal(comm.rank, step), normal(comm.rank, step)
        comms.allreduce(x)
        near(x, sum(rank.update(normal(r, step), "allreduce.0") for r, rank in enumerate(ranks)))
        comms.reduce(y, comm.size - 1)
        wanted = sum(rank.update(normal(r, step), f"reduce-{comm.size - 1}.0") for r, rank in enumerate(ranks))
        if comm.rank == comm.size - 1:
            near(y, wanted)
        seen.append(x.copy())
    return digest(*seen)


def sums_of_weights(wire: str, comm: Comm) -> Any:
    """In the background, in two vectors by turns, two under way, waited for in the opposite order at the end."""
    comms = wired(comm, wire)
    ranks, h = [Simulated(wire, r) for r in range(comm.size)], [np.zeros(N)] * comm.size
    x, totals, pending, wanted, seen = np.zeros(N, np.float32), np.zeros((3, N), np.float32), [], [], []
    for step in range(6):
        x[:] = drifting(comm.rank, step)
        for r, rank in enumerate(ranks):
            change = drifting(r, step) - h[r]
            h[r] = h[r] + (rank.coded(change, "allreduce.0") if step else change)
        wanted.append(sum(h))
        pending.append(comms.iallreduce(x, totals[step % 3]))
        assert x.tobytes() == drifting(comm.rank, step).tobytes()
        if step in (1, 2, 3):
            pending[step - 1].wait()
            near(totals[(step - 1) % 3], wanted[step - 1])
            seen.append(totals[(step - 1) % 3].copy())
    for step in (5, 4, 3):
        pending[step].wait()
        near(totals[step % 3], wanted[step])
    return digest(*seen, *totals)


def sums_of_averages(wire: str, comm: Comm) -> Any:
    """Local steps from the average of before: what is encoded is the change since, with a residual."""
    comms = wired(comm, wire).sending("averages")
    ranks, total = [Simulated(wire, r) for r in range(comm.size)], np.zeros(N)
    mean, x, seen = np.zeros(N), np.zeros(N, np.float32), []
    for step in range(5):
        local = [(mean + 0.1 * normal(r, step)).astype(np.float32) for r in range(comm.size)]
        x[:] = local[comm.rank]
        comms.allreduce(x)
        if step:
            changes = [local[r] - total / comm.size for r in range(comm.size)]
            total = total + sum(rank.update(changes[r], "allreduce.0") for r, rank in enumerate(ranks))
        else:
            total = np.sum(local, axis=0, dtype=np.float64)
        near(x, total)
        mean = x.astype(np.float64) / comm.size
        seen.append(x.copy())
    return digest(*seen)


def pairs_swap_two_vectors(wire: str, comm: Comm) -> Any:
    """Gossip: weights and an update, received in one vector one after the other."""
    comms, peer = wired(comm, wire), comm.rank ^ 1
    if peer >= comm.size:
        return None
    theirs, updates = Simulated(wire, peer), comms.sending("updates")
    h, c, delta, into, seen = (
        np.zeros(N),
        np.zeros(N, np.float32),
        np.zeros(N, np.float32),
        np.zeros(N, np.float32),
        [],
    )
    for step in range(4):
        c[:], delta[:] = drifting(comm.rank, step), normal(comm.rank, step)
        sent = [comms.isend(c, peer), updates.isend(delta, peer)]
        comms.recv(into, peer)
        change = drifting(peer, step) - h
        h = h + (theirs.coded(change, f"send-{comm.rank}.0") if step else change)
        near(into, h)
        seen.append(into.copy())
        comms.recv(into, peer)
        near(into, theirs.update(normal(peer, step), f"send-{comm.rank}.1"))
        seen.append(into.copy())
        for each in sent:
            each.wait()
    return digest(*seen)


def a_server_swaps_with_everybody(wire: str, comm: Comm) -> Any:
    """Workers push updates and pull the center: an estimate per worker on the server, one on the worker."""
    server, comms = comm.size - 1, wired(comm, wire)
    updates, into, x = comms.sending("updates"), np.zeros(N, np.float32), np.zeros(N, np.float32)
    if comm.rank < server:
        center = Simulated(wire, server)
        h: Any = 0.0
        for step in range(3):
            x[:] = normal(comm.rank, step)
            updates.send(x, server)
            comms.irecv(into, server).wait()
            change = drifting(server, step) - h
            h = h + (center.coded(change, f"send-{comm.rank}.0") if step else change)
            near(into, h)
        comm.barrier()
        return digest(into)
    workers, served = [Simulated(wire, r) for r in range(server)], [0] * server
    for _ in range(3 * server):  # a fast worker may be served again before a slow one
        source = comms.recv(into, ANY).source
        step = served[source]
        served[source] += 1
        near(into, workers[source].update(normal(source, step), f"send-{server}.0"))
        x[:] = drifting(server, step)
        comms.send(x, source)
    comm.barrier()  # or a worker's next case could begin in this one
    return None


class Estimated:
    """What a receiver knows of one rank's weights: the first in full, then encoded differences."""

    def __init__(self, rank: Simulated, name: str) -> None:
        self.rank, self.name = rank, name
        self.known: Any = None

    def sent(self, x: np.ndarray) -> np.ndarray:
        """Return what the receiver knows after the next message."""
        if self.known is None:
            self.known = x.astype(np.float64)
        else:
            self.known = self.known + self.rank.coded(x - self.known, self.name)
        return self.known  # type: ignore[no-any-return]


def parts_reduce_and_broadcast(wire: str, comm: Comm) -> Any:
    """Weights, in subgroups; random numbers are those of the rank in the whole."""
    part = wired(comm, wire).split(comm.rank % 2)
    members = [r for r in range(comm.size) if r % 2 == comm.rank % 2]
    root = len(members) - 1
    up = [Estimated(Simulated(wire, r), f"part-0.reduce-{root}.0") for r in members]
    down = Estimated(Simulated(wire, members[root]), f"part-0.broadcast-{root}.0")
    x, y, seen = np.zeros(N, np.float32), np.zeros(N, np.float32), []
    for step in range(3 if root else 0):
        x[:], y[:] = drifting(comm.rank, step), drifting(comm.rank, step, 1)
        part.reduce(x, root)
        total = sum(each.sent(drifting(r, step)) for r, each in zip(members, up, strict=True))
        if part.rank == root:
            near(x, total)
        part.broadcast(y, root)
        near(y, down.sent(drifting(members[root], step, 1)))
        seen.append(y.copy())
    if hasattr(part.inner, "close"):  # under MPI
        part.inner.close()
    return digest(*seen)


def what_does_not_change_arrives_in_the_end(wire: str, comm: Comm) -> Any:
    """The first sum is in full; after a jump, differences get the new one across; signs converge slowly."""
    comms, x, seen = wired(comm, wire), np.zeros(N, np.float32), []
    for step in range(50):
        x[:] = normal(comm.rank, step > 0)
        comms.allreduce(x)
        wanted = np.sum([normal(r, step > 0) for r in range(comm.size)], axis=0, dtype=np.float64)
        seen.append(float(np.linalg.norm(x - wanted) / np.linalg.norm(wanted)))
    assert seen[0] < 1e-6 and seen[1] > 1e-3
    assert seen[-1] < (seen[1] / 8 if wire == "sign" else 1e-5)
    return seen[-1]


def a_restart_moves_no_bit(wire: str, comm: Comm) -> Any:
    """New objects and buffers, named as before, in another order of first use; what is remembered is copied."""
    straight, kept = wired(comm, wire), dict[str, Any]()
    halted, right, left = wired(comm, wire, kept), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    mine, theirs = {straight: np.zeros((3, N), np.float32)}, np.zeros(N, np.float32)

    def labelled(comms: Any) -> None:
        mine[comms] = np.zeros((3, N), np.float32)
        for number in range(3):
            comms.label(mine[comms][number], f"vector {number}")

    labelled(straight)
    labelled(halted)
    for step in range(6):
        if step == 3:
            saved = {name: array.copy() for name, array in kept.items()}
            kept = {}
            halted = wired(comm, wire, kept)
            kept.update(saved)
            labelled(halted)
        found = []
        for comms in (straight, halted):
            g, x, y = mine[comms]
            g[:], x[:], y[:] = (drifting(comm.rank, step, seed) for seed in range(3))
            order = (0, 1) if step < 3 else (1, 0)
            for which in order:
                comms.sending("updates").allreduce(g) if which == 0 else comms.allreduce(x)
            if comm.size > 1:
                pending = comms.isend(y, right)
                comms.recv(theirs, left)
                pending.wait()
            found.append(digest(g, x, theirs))
        assert found[0] == found[1], (wire, step)
    return found[0]


COMPRESSED_CASES: dict[str, Callable[[Comm], Any]] = {
    f"{case.__name__} {wire}": partial(case, wire)
    for case in (
        sums_of_updates,
        sums_of_weights,
        sums_of_averages,
        pairs_swap_two_vectors,
        a_server_swaps_with_everybody,
        parts_reduce_and_broadcast,
        what_does_not_change_arrives_in_the_end,
        a_restart_moves_no_bit,
    )
    for wire in WIRES
}
