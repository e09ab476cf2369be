"""One program for both worlds: every case asserts against an oracle and returns what its rank saw.

A case is `case(comm) -> JSON`; the virtual tests and the program under mpirun play the same ones, so that
their answers can also be compared with each other.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hooke.comm.base import ANY, Comm, Slice
from hooke.comm.collectives import ordered_sum
from hooke.comm.wrappers.packed import Packed
from hooke.comm.wrappers.timed import connect
from hooke.errors import CommError
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger, Phase

SLEEP = 3.0
"""Seconds of a sleep that a word ends, in the program alone."""
LENGTHS = (0, 1, 2, 3, 5, 8, 13, 1000, 4099)
LAYOUT = (Slice("a", 0, 5, (5,)), Slice("b", 5, 6, (1,)), Slice("c", 6, 30, (4, 6)))


def summand(rank: int, elements: int, seed: int = 0) -> np.ndarray:
    """Numbers of very different size, so that another order of summation shows."""
    rng = np.random.default_rng([rank, elements, seed])
    return (rng.standard_normal(elements) * 10.0 ** rng.integers(-3, 4, elements)).astype(np.float32)


def expected_sum(ranks: int, elements: int, seed: int = 0) -> bytes:
    return ordered_sum([summand(r, elements, seed) for r in range(ranks)]).tobytes()


def digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


def work(comm: Comm, seconds: float) -> None:
    """Let time pass in either world."""
    comm.charge(seconds)
    if comm.clock.__func__.__module__ != "hooke.comm.virtual.communicator":  # type: ignore[attr-defined]  # a bound method
        time.sleep(seconds)


def allreduce_is_the_ordered_sum(comm: Comm) -> Any:
    seen = []
    for elements in LENGTHS:
        x = summand(comm.rank, elements)
        comm.allreduce(x)
        assert x.tobytes() == expected_sum(comm.size, elements), elements
        seen.append(x)
    return digest(*seen)


def tensors_are_changed_in_place(comm: Comm) -> Any:
    if comm.size > 2:
        return None  # torch takes long to import in every rank
    import torch

    x = torch.from_numpy(summand(comm.rank, 100))
    comm.allreduce(x)
    assert x.numpy().tobytes() == expected_sum(comm.size, 100)
    return None


def iallreduce_is_the_same_in_any_number(comm: Comm) -> Any:
    """Several in flight, waited for out of order, with delays that differ by rank."""
    rng = np.random.default_rng(comm.rank)
    vectors = [summand(comm.rank, n, seed=1) for n in LENGTHS]
    pending = []
    for x in vectors:
        work(comm, 1e-3 * rng.random())
        pending.append(comm.iallreduce(x))
    for p in reversed(pending):
        p.wait()
        p.wait()  # waiting again changes nothing
        assert p.hidden >= 0
    for x, n in zip(vectors, LENGTHS, strict=True):
        assert x.tobytes() == expected_sum(comm.size, n, seed=1), n
    return digest(*vectors)


def a_sum_into_another_vector(comm: Comm) -> Any:
    """The vector keeps its bits and may change at once, through every wrapper; sums under way do not mix."""
    n = LAYOUT[-1].stop
    for packing in ("one", "per-layer", "buckets"):
        packed = Packed(comm, packing, LAYOUT, bucket_bytes=100)
        x, totals = summand(comm.rank, n, seed=2), [np.zeros(n, np.float32) for _ in range(3)]
        pending = []
        for seed, total in enumerate(totals, 2):
            x[:] = summand(comm.rank, n, seed)
            pending.append(packed.iallreduce(x, total))
            assert x.tobytes() == summand(comm.rank, n, seed).tobytes()
            x.fill(np.nan)
            work(comm, 1e-3 * (comm.rank + 1))
        for p in reversed(pending):
            p.wait()
        for seed, total in enumerate(totals, 2):
            assert total.tobytes() == expected_sum(comm.size, n, seed=seed), (packing, seed)
    try:
        comm.iallreduce(x, np.zeros(n + 1, np.float32))
    except CommError:
        return digest(*totals)
    raise AssertionError("a sum into a longer vector was begun")


def delays_move_no_bit(comm: Comm) -> Any:
    rng = np.random.default_rng([comm.rank, 77])
    c, w = np.zeros(64, np.float32), summand(comm.rank, 64)
    for _ in range(15):
        work(comm, 2e-3 * rng.random() ** 4)
        total = w.copy()
        p = comm.iallreduce(total)
        work(comm, 1e-3 * rng.random() ** 4)
        p.wait()
        pull = np.float32(0.1) * (w - c)
        c += np.float32(0.1) * (total - np.float32(comm.size) * c)
        w -= pull
        comm.broadcast(total, root=comm.size - 1)
    return digest(c)  # the replicated center: the test compares ranks and worlds


def broadcast_from_every_root(comm: Comm) -> Any:
    for root in range(comm.size):
        for elements in (0, 1, 1000):
            x = summand(comm.rank, elements)
            comm.broadcast(x, root)
            assert x.tobytes() == summand(root, elements).tobytes()
    return None


def reduce_leaves_the_ordered_sum_at_every_root(comm: Comm) -> Any:
    """And a broadcast after it is the all-reduce of tree and halving, bit for bit."""
    seen = []
    for root in range(comm.size):
        for elements in LENGTHS:
            x = summand(comm.rank, elements, seed=2)
            comm.reduce(x, root)
            if comm.rank == root:
                assert x.tobytes() == expected_sum(comm.size, elements, seed=2), (root, elements)
            comm.broadcast(x, root)
            assert x.tobytes() == expected_sum(comm.size, elements, seed=2), (root, elements)
            seen.append(x)
    return digest(*seen)


def messages_go_round(comm: Comm) -> Any:
    """A ring of nonblocking messages; tags keep two streams apart, posted in opposite order."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    a, b = summand(comm.rank, 50), summand(comm.rank, 20)
    into_a, into_b = np.zeros(50, np.float32), np.zeros(20, np.float32)
    pending = [comm.irecv(into_b, left, tag=2), comm.irecv(into_a, left, tag=1)]
    pending += [comm.isend(a, right, tag=1), comm.isend(b, right, tag=2)]
    for p in pending:
        p.wait()
    assert into_a.tobytes() == summand(left, 50).tobytes()
    assert into_b.tobytes() == summand(left, 20).tobytes()
    return None


def a_server_receives_from_anyone(comm: Comm) -> Any:
    server = comm.size - 1
    if comm.rank < server:
        comm.send(summand(comm.rank, 10), server)
        answer = np.zeros(10, np.float32)
        assert comm.recv(answer, server).source == server
        assert answer.tobytes() == (2 * summand(comm.rank, 10)).tobytes()
        return None
    into, seen = np.zeros(10, np.float32), []
    for _ in range(server):
        source = comm.recv(into, ANY).source
        assert into.tobytes() == summand(source, 10).tobytes()
        comm.send(2 * into, source)
        seen.append(source)
    assert sorted(seen) == list(range(server))
    return None


def messages_of_one_rank_keep_their_order(comm: Comm) -> Any:
    x = np.zeros(1, np.float32)
    if comm.rank == 0:
        for value in range(20):
            for to in range(1, comm.size):
                x[0] = value
                comm.send(x, to)
    else:
        for value in range(20):
            comm.recv(x, ANY if value % 2 else 0)
            assert x[0] == value
    return None


def control_words(comm: Comm) -> Any:
    control = comm.control
    exact = ordered_sum([np.array([r / 3, 1.0, 10.0**r]) for r in range(comm.size)])
    assert control.allreduce((comm.rank / 3, 1.0, 10.0**comm.rank)) == tuple(exact.tolist())
    posted = [control.ibroadcast((float(k), 0.5, -1.0)[: 1 + k % 3] if comm.rank == 0 else None) for k in range(5)]
    assert [p.wait() for p in posted] == [(float(k), 0.5, -1.0)[: 1 + k % 3] for k in range(5)]
    assert posted[0].wait() == (0.0,)
    for to in range(comm.size):
        control.send((float(comm.rank), float(to)), to)
    heard = [control.recv() for _ in range(comm.size)]
    assert sorted(heard) == [(r, (float(r), float(comm.rank))) for r in range(comm.size)]
    comm.barrier()  # or the next word could overtake another rank's last one
    control.send((), (comm.rank + 1) % comm.size)
    left = (comm.rank - 1) % comm.size
    assert control.recv(left) == (left, ())
    return list(exact)


def words_and_sums_do_not_meet(comm: Comm) -> Any:
    """Words that nobody has heard yet are no part of a sum; a summand on its way is no word."""
    control, last = comm.control, comm.size - 1
    for to in range(comm.size):
        control.send((100.0 + comm.rank,), to)
    expected = (float(comm.size), float(sum(range(comm.size))))
    assert control.allreduce((1.0, float(comm.rank))) == expected
    assert sorted(control.recv() for _ in range(comm.size)) == [(r, (100.0 + r,)) for r in range(comm.size)]
    comm.barrier()
    if comm.rank == last:
        work(comm, 0.02)  # by now all others have begun to add up
        control.send((7.0,), 0)
    if comm.rank == 0:
        assert control.recv(ANY) == (last, (7.0,))
    assert control.allreduce((1.0, float(comm.rank))) == expected
    return list(expected)


def split_makes_worlds_of_their_own(comm: Comm) -> Any:
    part = comm.split(comm.rank % 2, key=-comm.rank)
    members = sorted((r for r in range(comm.size) if r % 2 == comm.rank % 2), reverse=True)
    assert (part.size, part.rank) == (len(members), members.index(comm.rank))
    x = summand(comm.rank, 100)
    pending = part.iallreduce(x)
    y = summand(comm.rank, 7)
    comm.allreduce(y)  # at the same time, by everybody
    pending.wait()
    assert x.tobytes() == ordered_sum([summand(r, 100) for r in members]).tobytes()
    assert y.tobytes() == expected_sum(comm.size, 7)
    assert part.control.allreduce((1.0,)) == (float(len(members)),)
    part.barrier()
    if hasattr(part, "close"):
        part.close()
    return None


def traffic_counts(comm: Comm) -> Any:
    """Payload, wire bytes and messages of each operation; the test sums them over ranks."""
    counts = []
    x = np.zeros(1000, np.float32)

    def count(operation: Callable[[], object]) -> None:
        t = comm.traffic
        before = (t.payload, t.wire, t.messages)
        operation()
        counts.append([t.payload - before[0], t.wire - before[1], t.messages - before[2]])

    count(lambda: comm.allreduce(x))
    count(lambda: comm.iallreduce(x).wait())
    count(lambda: comm.broadcast(x))
    count(comm.barrier)
    count(lambda: comm.control.allreduce((1.0,)))
    count(lambda: comm.reduce(x, comm.size - 1))
    if comm.rank == 0 and comm.size > 1:
        count(lambda: comm.send(x, 1))
    elif comm.rank == 1:
        count(lambda: comm.recv(x, 0))
    return counts


def packing_moves_no_bit(comm: Comm) -> Any:
    """The same bits however cut, as many messages as parts (property P18)."""
    results, messages = [], []
    for packing in ("one", "per-layer", "buckets"):
        packed = Packed(comm, packing, LAYOUT, bucket_bytes=100)  # 64 bytes: 30 elements are 16 and 14
        before = comm.traffic.messages
        x, y, z = (summand(comm.rank, LAYOUT[-1].stop, seed) for seed in range(3))
        packed.allreduce(x)
        pending = packed.iallreduce(y)
        pending.wait()
        packed.broadcast(z, comm.size - 1)
        if comm.size > 1:
            other = np.zeros_like(x)
            if comm.rank == 0:
                packed.send(x, 1)
                packed.isend(y, 1).wait()
            elif comm.rank == 1:
                assert packed.recv(other, ANY).source == 0
                assert other.tobytes() == x.tobytes()
                packed.irecv(other, 0).wait()
                assert other.tobytes() == y.tobytes()
        short = summand(comm.rank, 3)
        packed.allreduce(short)  # has no layers, and fits in a bucket
        packed.reduce(x, 0)
        if comm.rank != 0:
            x.fill(0)  # scratch
        messages.append(comm.traffic.messages - before)
        results.append(digest(x, y, z, short))
    assert len(set(results)) == 1
    return messages


def phases_sum_to_wall_time(comm: Comm) -> Any:
    ledger = Ledger(comm.clock)
    timed = connect(comm, Communication(), LAYOUT, ledger)
    x = np.zeros(LAYOUT[-1].stop, np.float32)
    for _ in range(5):
        pending = timed.iallreduce(x)
        ledger.enter(Phase.COMPUTE)
        work(comm, 2e-3)
        ledger.enter(Phase.UPDATE)
        pending.wait()
        with timed.under(Phase.EVALUATE):
            timed.barrier()
    ledger.enter(Phase.IDLE)
    wall = ledger.since - ledger.began
    assert abs(sum(ledger.seconds.values()) - wall) < 1e-9
    assert ledger.seconds[Phase.COMPUTE] >= 5 * 2e-3 * 0.999
    assert 0 <= ledger.hidden <= wall - ledger.seconds[Phase.COMMUNICATE] + 1e-9
    return ledger.hidden


def a_pause_lasts(comm: Comm) -> Any:
    began = comm.clock()
    comm.pause(2e-3)
    assert comm.clock() - began >= 2e-3 * 0.999


def faults_are_named(comm: Comm) -> Any:
    said = []
    for wrong in (
        lambda: comm.send(np.zeros(1, np.float32), comm.size),
        lambda: comm.broadcast(np.zeros(1, np.float32), -1),
        lambda: comm.allreduce(np.zeros((2, 2), np.float32)),
        lambda: comm.allreduce(np.zeros(4, np.float32)[::2]),
        lambda: comm.control.send((0.0,) * 9, 0),
    ):
        try:
            wrong()
        except CommError as error:
            said.append(str(error))
    assert len(said) == 5, said
    return None


CASES: dict[str, Callable[[Comm], Any]] = {
    case.__name__: case
    for case in (
        allreduce_is_the_ordered_sum,
        tensors_are_changed_in_place,
        iallreduce_is_the_same_in_any_number,
        a_sum_into_another_vector,
        delays_move_no_bit,
        broadcast_from_every_root,
        reduce_leaves_the_ordered_sum_at_every_root,
        messages_go_round,
        a_server_receives_from_anyone,
        messages_of_one_rank_keep_their_order,
        control_words,
        words_and_sums_do_not_meet,
        split_makes_worlds_of_their_own,
        traffic_counts,
        packing_moves_no_bit,
        phases_sum_to_wall_time,
        a_pause_lasts,
        faults_are_named,
    )
}
