"""Compressed wires; cases in `compressed_cases.py`."""

import numpy as np
import pytest
from hooke.comm import collectives
from hooke.comm.base import Comm
from hooke.comm.schedule import sent
from hooke.comm.wrappers.timed import connect
from hooke.errors import CommError
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger

from tests.engine.comm.cases import summand
from tests.engine.comm.compressed_cases import COMPRESSED_CASES, COMPRESSED_SIZES, WIRES, wired
from tests.engine.comm.worlds import A, B, exchange_answers, virtual


@pytest.mark.parametrize("size", (3, 4))
@pytest.mark.parametrize("name", COMPRESSED_CASES)
def test_case_in_the_virtual_world(name, size):
    answers = virtual(size, COMPRESSED_CASES[name])
    if name.startswith("sums"):
        assert len(set(answers)) == 1


@pytest.mark.parametrize("size", COMPRESSED_SIZES)
@pytest.mark.parametrize("name", COMPRESSED_CASES)
def test_both_worlds_give_the_same_bits(name, size):
    assert exchange_answers(size)[name] == virtual(size, COMPRESSED_CASES[name])


@pytest.mark.parametrize("wire", WIRES)
def test_a_single_rank_changes_nothing(wire):
    def main(comm: Comm) -> None:
        comms, x = wired(comm, wire), summand(0, 600)
        comms.allreduce(x)
        comms.iallreduce(x).wait()
        comms.broadcast(x)
        comms.reduce(x)
        assert x.tobytes() == summand(0, 600).tobytes() and comms.residuals == {}

    virtual(1, main)


@pytest.mark.parametrize("collective", ["tree", "ring"])
@pytest.mark.parametrize("size", range(1, 9))
def test_every_rank_gathers_all_blocks(size, collective):
    """In both kinds of gather: bytes that must move, no more; the time of the schedule; blocks in order."""

    def main(comm: Comm) -> float:
        blocks = np.full(10 * size, 255, np.uint8)
        mine = slice(10 * comm.rank, 10 * comm.rank + 10)
        blocks[mine] = comm.rank
        comm.allgather(blocks)  # type: ignore[arg-type]  # an array is a vector here
        assert np.array_equal(blocks, np.repeat(np.arange(size), 10))
        took = comm.clock()
        assert comm.traffic.wire == 10 * (size - 1) and comm.traffic.payload == 10 * (size > 1)
        comm.barrier()
        blocks.fill(255)
        blocks[mine] = comm.rank
        comm.gather(blocks, size - 1)  # type: ignore[arg-type]
        if comm.rank == size - 1:
            assert np.array_equal(blocks, np.repeat(np.arange(size), 10))
        return took

    doubling = collective == "tree" and size & (size - 1) == 0
    messages = (size - 1).bit_length() if doubling else size - 1
    assert virtual(size, main, collective) == pytest.approx([messages * A + 10 * (size - 1) * B] * size)
    rounds = collectives.gather(size, 10, 0)
    assert [sent(each) for each in rounds] == [(0, 0), *[(10, 1)] * (size - 1)]


def test_a_gather_needs_equal_blocks_and_a_schedule():
    def main(comm: Comm) -> None:
        with pytest.raises(CommError, match="2 equal blocks"):
            comm.allgather(np.zeros(5, np.uint8))  # type: ignore[arg-type]

    virtual(2, main)
    with pytest.raises(CommError, match="tree, halving or ring"):
        collectives.allgather(2, 1, "library")


@pytest.mark.parametrize(("wire", "size"), [("int8", 4 * 2 + 1000), ("sign", 4 * 2 + 128), ("top-k", 8 * 100)])
def test_what_is_counted_and_charged_is_what_travels(wire, size):
    """An all-reduce of 1000 elements by 4 ranks: the first in full; then blocks of a known size."""

    def main(comm: Comm) -> tuple[float, int]:
        chosen = Communication(wire=wire, wire_share=0.1)
        comms, x = connect(comm, chosen, (), Ledger(comm.clock)), summand(comm.rank, 1000)
        comms.allreduce(x)  # type: ignore[arg-type]
        comm.barrier()
        began, before = comm.clock(), comm.traffic.wire
        comms.allreduce(x)  # type: ignore[arg-type]
        return comm.clock() - began, comm.traffic.wire - before

    padded = -(-size // 4) * 4
    expected = 2 * A + 3 * padded * B
    for seconds, traffic in virtual(4, main):
        assert seconds == pytest.approx(expected) and traffic == 3 * padded


def test_layers_and_buckets_are_compressed_one_by_one():
    """Each part has its own largest elements, residual and name, in full first or not."""

    def main(comm: Comm) -> None:
        chosen = Communication(wire="top-k", wire_share=0.01, packing="buckets", bucket_bytes=1024)
        comms, x = connect(comm, chosen, (), Ledger(comm.clock)), summand(comm.rank, 600)
        comms.label(x, "g")  # type: ignore[arg-type]
        comms.sending("updates").allreduce(x)  # type: ignore[arg-type]
        assert sorted(comms.residuals) == [f"allreduce.g.{p}.residual" for p in ("0-256", "256-512", "512-600")]
        assert np.count_nonzero(x[512:]) in (1, 2)  # one of each rank
        exact = summand(comm.rank, 600)
        comms.in_full().allreduce(exact)  # type: ignore[arg-type]
        assert np.allclose(exact, summand(0, 600) + summand(1, 600))

    virtual(2, main)


def test_without_error_feedback_weights_still_arrive():
    def main(comm: Comm) -> None:
        comms = connect(comm, Communication(wire="sign", error_feedback=False), (), Ledger(comm.clock))
        x, y = summand(comm.rank, 600), summand(comm.rank, 600)
        for _ in range(2):
            x[:] = summand(comm.rank, 600)
            comms.sending("averages").allreduce(x)  # type: ignore[arg-type]
        comms.sending("updates").allreduce(y)  # type: ignore[arg-type]
        assert list(comms.residuals) == ["allreduce.0.average"]
        assert np.unique(np.abs(y)).size <= 4  # +-s_0 +-s_1 in each of two blocks

    virtual(2, main)


@pytest.mark.parametrize("wire", WIRES)
def test_faults_are_named(wire):
    def main(comm: Comm) -> None:
        comms, x = wired(comm, wire), np.zeros(30, np.float32)
        if wire == "int8":
            comms.without_feedback()  # unbiased: what arrives is right on average
        else:
            with pytest.raises(CommError, match="choose int8, bf16"):
                comms.without_feedback()
        comms.sending("updates").without_feedback().allreduce(x)
        with pytest.raises(CommError, match="name the source"):
            comms.irecv(x, -1)
        pending = []
        for _ in range(3):
            pending.append(comms.isend(x, 1 - comm.rank))
        arriving = [comms.irecv(np.zeros(30, np.float32), 1 - comm.rank) for _ in range(3)]
        for each in pending:
            each.wait()
        arriving[0].wait()
        with pytest.raises(CommError, match="difference 1 .* where 0 was expected"):
            arriving[2].wait()
        with pytest.raises(CommError, match="has 30 elements, the vector 20"):
            short = wired(comm, wire, comms.residuals)
            short.send(np.zeros(20, np.float32), 1 - comm.rank)

    virtual(2, main)
