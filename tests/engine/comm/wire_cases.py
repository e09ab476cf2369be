"""Wire types, the ring and the library's sum in both worlds, against NumPy written here; see `cases.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hooke.comm.base import ANY, Comm
from hooke.comm.wrappers.packed import Packed
from hooke.comm.wrappers.timed import connect
from hooke.comm.wrappers.wire import Wire
from hooke.errors import CommError
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger

from tests.engine.comm.cases import LENGTHS, digest, summand

WIRES = ("bf16", "fp16")


def rounded(x: np.ndarray, wire: str) -> np.ndarray:
    """The nearest number of the wire type, ties to even, as float32: by integer arithmetic for bf16."""
    if wire == "fp16":
        with np.errstate(over="ignore"):
            return x.astype(np.float16).astype(np.float32)
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)


def tree_sum(vectors: list[np.ndarray], wire: str) -> np.ndarray:
    """Fold the ranks beyond a power of two, then pairs at distance 1, 2, 4...; round after every addition."""
    x = [rounded(v, wire) for v in vectors]
    q = 1
    while 2 * q <= len(x):
        q *= 2
    for r in range(q, len(x)):
        x[r - q] = rounded(x[r - q] + x[r], wire)
    x = x[:q]
    while len(x) > 1:
        x = [rounded(a + b, wire) for a, b in zip(x[::2], x[1::2], strict=True)]
    return x[0]


def ring_sum(vectors: list[np.ndarray]) -> np.ndarray:
    """Segment s is summed beginning with rank s, then s + 1, and so on around the ring."""
    ranks, n = len(vectors), vectors[0].size
    out = np.zeros(n, np.float32)
    for s in range(ranks):
        part = slice(s * n // ranks, (s + 1) * n // ranks)
        total = vectors[s][part].copy()
        for k in range(1, ranks):
            total = total + vectors[(s + k) % ranks][part]
        out[part] = total
    return out


def small(rank: int, elements: int, seed: int = 0) -> np.ndarray:
    """Like `summand`, but within the range of float16."""
    return summand(rank, elements, seed) * np.float32(0.25)


def everyone(comm: Comm, elements: int, seed: int = 0) -> list[np.ndarray]:
    return [small(r, elements, seed) for r in range(comm.size)]


def sums_are_rounded_at_every_level(comm: Comm) -> Any:
    seen = []
    for wire in WIRES:
        wired = Wire(comm, wire, False, {})
        for elements in LENGTHS:
            expected = tree_sum(everyone(comm, elements), wire) if comm.size > 1 else small(0, elements)
            x, y, z = (small(comm.rank, elements) for _ in range(3))
            wired.allreduce(x)
            pending = wired.iallreduce(y)
            pending.wait()
            pending.wait()
            assert pending.hidden >= 0
            root = elements % comm.size
            wired.reduce(z, root)
            for got in (x, y, z) if comm.rank == root else (x, y):
                assert got.tobytes() == expected.tobytes(), (wire, elements)
            seen.append(x)
    return digest(*seen)


def a_broadcast_gives_everybody_what_travels(comm: Comm) -> Any:
    for wire in WIRES:
        wired = Wire(comm, wire, False, {})
        for root in range(comm.size):
            x = small(comm.rank, 100)
            wired.broadcast(x, root)
            sent = small(root, 100)
            assert x.tobytes() == (rounded(sent, wire) if comm.size > 1 else sent).tobytes()
    return None


def messages_arrive_rounded(comm: Comm) -> Any:
    if comm.size == 1:
        return None
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for wire in WIRES:
        wired = Wire(comm, wire, False, {})
        x, into = small(comm.rank, 99), np.zeros(99, np.float32)
        for p in [wired.irecv(into, left), wired.isend(x, right)]:
            p.wait()
        assert into.tobytes() == rounded(small(left, 99), wire).tobytes()
        assert x.tobytes() == small(comm.rank, 99).tobytes()  # the sender keeps its bits
        if comm.rank == 0:
            wired.send(x, 1, tag=3)
        elif comm.rank == 1:
            assert wired.recv(into, ANY, tag=3).source == 0
            assert into.tobytes() == rounded(small(0, 99), wire).tobytes()
        exact = np.full(7, 1 / 3)
        wired.allreduce(exact)  # float64 travels as it is
        assert np.allclose(exact, comm.size / 3, rtol=1e-15)
    return None


def a_sum_elsewhere_has_the_residual_of_its_vector(comm: Comm) -> Any:
    """Sums in two vectors by turns, two under way: the bits of one after the other in place, and one residual."""
    kept: dict[str, Any] = {}
    in_place, elsewhere = Wire(comm, "bf16", True, {}), Wire(comm, "bf16", True, kept)
    x, y = np.zeros(500, np.float32), np.zeros(500, np.float32)
    totals, expected, pending = [np.zeros_like(x), np.zeros_like(x)], [], []
    for seed in range(5):
        y[:] = small(comm.rank, 500, seed)
        in_place.allreduce(y)
        expected.append(y.tobytes())
        if seed > 1:
            pending.pop(0).wait()
            assert totals[seed % 2].tobytes() == expected[seed - 2]
        x[:] = small(comm.rank, 500, seed)
        pending.append(elsewhere.iallreduce(x, totals[seed % 2]))
        assert x.tobytes() == small(comm.rank, 500, seed).tobytes()
    pending.pop().wait()
    assert totals[0].tobytes() == expected[4]
    pending.pop().wait()
    assert totals[1].tobytes() == expected[3]
    assert len(kept) == (comm.size > 1)
    return digest(*totals)


def half_the_bytes_travel(comm: Comm) -> Any:
    counts = []
    for wire in ("fp32", *WIRES):
        before = (comm.traffic.payload, comm.traffic.wire, comm.traffic.messages)
        chosen = Communication(wire=wire, packing="buckets", bucket_bytes=1024)  # type: ignore[arg-type]
        world = connect(comm, chosen, (), Ledger(comm.clock))
        x: Any = small(comm.rank, 2048)
        world.allreduce(x)
        world.broadcast(x)
        world.reduce(x)
        now = (comm.traffic.payload, comm.traffic.wire, comm.traffic.messages)
        counts.append([b - a for a, b in zip(before, now, strict=True)])
    assert [counts[0], counts[0]] == [[2 * c for c in each] for each in counts[1:]]  # half the buckets, too
    return counts


def what_rounding_took_is_sent_later(comm: Comm) -> Any:
    """Step by step against the definition; names in the order of first use; a restart moves no bit."""
    if comm.size == 1:
        return None
    trace = []
    for wire in WIRES:
        residuals: dict[str, np.ndarray] = {}
        wired, left = Wire(comm, wire, True, residuals), [np.zeros(50, np.float32) for _ in range(comm.size)]
        gradient, other = np.zeros(50, np.float32), np.zeros(50, np.float32)
        for step in range(12):
            if step == 6:  # a restart: new objects, other buffers, the residuals by name
                kept = {name: array.copy() for name, array in residuals.items()}
                assert list(kept) == ["allreduce.0", "allreduce.1", *(["broadcast.0"] if comm.rank == 0 else [])]
                residuals = {}
                wired = Wire(comm, wire, True, residuals)
                residuals.update(kept)
                gradient, other = np.zeros(50, np.float32), np.zeros(50, np.float32)
            gradient[:], other[:] = small(comm.rank, 50, step), 0.1
            wired.allreduce(gradient)
            wanted = [small(r, 50, step) + left[r] for r in range(comm.size)]
            assert gradient.tobytes() == tree_sum(wanted, wire).tobytes(), (wire, step)
            left = [w - rounded(w, wire) for w in wanted]
            assert np.array_equal(residuals["allreduce.0"], left[comm.rank])
            wired.iallreduce(other).wait()
            wired.broadcast(other)
            trace += [gradient.copy(), other.copy()]
    return digest(*trace)


def a_stream_of_updates_loses_nothing_in_the_long_run(comm: Comm) -> Any:
    """Rank 0 sends 0.3001 and 1000.3 many times; their sum arrives but for one rounding; else it would not."""
    if comm.size == 1:
        return None
    errors = []
    for feedback in (True, False):
        for wire in WIRES:
            wired, total = Wire(comm, wire, feedback, {}), np.zeros(2)
            x, into = np.array([0.3001, 1000.3], np.float32), np.zeros(2, np.float32)
            for _ in range(100):
                if comm.rank == 0:
                    wired.send(x, 1)
                elif comm.rank == 1:
                    wired.recv(into, 0)
                    total += into
            errors.append(float(np.max(np.abs(total - 100 * x.astype(np.float64)) / x)))
    if comm.rank == 1:
        assert errors[0] < 2**-7 and errors[1] < 2**-10  # one rounding of one vector
        assert errors[2] > 2**-4 and errors[3] > 2**-7  # a hundred of them
    return errors if comm.rank == 1 else None


def long_vectors_are_rounded_in_blocks(comm: Comm) -> Any:
    """Two blocks and a bit: the second call must make up for the first one's rounding in all of them."""
    if comm.size != 2:
        return None
    n = 2 * (1 << 16) + 77
    wired, x = Wire(comm, "bf16", True, {}), np.zeros(n, np.float32)
    left = [np.zeros(n, np.float32)] * 2
    for step in range(2):
        wanted = [small(r, n, step) + left[r] for r in range(2)]
        left = [w - rounded(w, "bf16") for w in wanted]
        x[:] = small(comm.rank, n, step)
        wired.allreduce(x)
        assert x.tobytes() == tree_sum(wanted, "bf16").tobytes()
    return digest(x)


def an_overflow_is_seen_by_everybody(comm: Comm) -> Any:
    if comm.size == 1:
        return None
    wired = Wire(comm, "fp16", True, {})
    x = np.array([40000.0, 1.0, 70000.0 * (comm.rank == 0)], np.float32)
    wired.allreduce(x)  # two halves add up to more than float16 holds; one cannot even be rounded
    assert np.isinf(x[0]) and x[1] == comm.size and np.isinf(x[2])
    y = np.full(3, np.nan if comm.rank == comm.size - 1 else 1.0, np.float32)
    Wire(comm, "bf16", True, {}).allreduce(y)
    assert np.isnan(y).all()
    return None


def parts_keep_their_residuals_with_the_whole(comm: Comm) -> Any:
    residuals: dict[str, np.ndarray] = {}
    part = Wire(comm, "bf16", True, residuals).split(comm.rank % 2)
    x = small(comm.rank, 10)
    part.allreduce(x)  # type: ignore[arg-type]  # an array is a vector here
    assert list(residuals) == (["part-0.allreduce.0"] if part.size > 1 else [])
    members = [r for r in range(comm.size) if r % 2 == comm.rank % 2]
    vectors = [small(r, 10) for r in members]
    assert x.tobytes() == (tree_sum(vectors, "bf16") if part.size > 1 else vectors[0]).tobytes()
    if hasattr(part.inner, "close"):  # type: ignore[attr-defined]  # under MPI
        part.inner.close()  # type: ignore[attr-defined]
    return None


WIRE_CASES: dict[str, Callable[[Comm], Any]] = {
    case.__name__: case
    for case in (
        sums_are_rounded_at_every_level,
        a_broadcast_gives_everybody_what_travels,
        messages_arrive_rounded,
        a_sum_elsewhere_has_the_residual_of_its_vector,
        half_the_bytes_travel,
        what_rounding_took_is_sent_later,
        a_stream_of_updates_loses_nothing_in_the_long_run,
        long_vectors_are_rounded_in_blocks,
        an_overflow_is_seen_by_everybody,
        parts_keep_their_residuals_with_the_whole,
    )
}


def the_ring_adds_in_its_own_order(comm: Comm) -> Any:
    seen = []
    for elements in LENGTHS:
        x, y = summand(comm.rank, elements), summand(comm.rank, elements, seed=1)
        comm.allreduce(x)
        comm.iallreduce(y).wait()
        for got, seed in ((x, 0), (y, 1)):
            wanted = ring_sum([summand(r, elements, seed) for r in range(comm.size)])
            assert got.tobytes() == wanted.tobytes(), elements
        wired = small(comm.rank, elements)
        Wire(comm, "bf16", False, {}).allreduce(wired)  # type: ignore[arg-type]  # an array is a vector here
        seen += [x, y, wired]
    return digest(*seen)


def the_librarys_sum_is_a_sum(comm: Comm) -> Any:
    """In an order of its own: exact for integers, near for others; in the background and at once."""
    for elements in LENGTHS:
        x = np.arange(elements, dtype=np.float32) + comm.rank
        y, z = x.copy(), summand(comm.rank, elements)
        comm.allreduce(x)
        pending = [comm.iallreduce(y), comm.iallreduce(z)]
        for p in reversed(pending):
            p.wait()
        wanted = comm.size * np.arange(elements) + comm.size * (comm.size - 1) / 2
        assert np.array_equal(x, wanted) and np.array_equal(y, wanted)
        vectors = np.array([summand(r, elements) for r in range(comm.size)], np.float64)
        assert np.all(np.abs(z - vectors.sum(0)) <= 2e-7 * comm.size * np.abs(vectors).sum(0))
    packed = Packed(comm, "buckets", (), 64)
    x = np.full(100, 1.0, np.float32)
    packed.iallreduce(x).wait()  # type: ignore[arg-type]  # an array is a vector here
    assert np.all(x == comm.size)
    comm.reduce(x)
    comm.broadcast(x)
    assert np.all(x == comm.size**2)
    assert comm.control.allreduce((1.0,)) == (float(comm.size),)
    if comm.size > 1:
        for wire in WIRES:
            try:
                Wire(comm, wire, True, {}).allreduce(x)  # type: ignore[arg-type]
            except CommError as error:
                assert "choose another collective" in str(error)
            else:
                raise AssertionError("the library added half types as integers")
    return None
