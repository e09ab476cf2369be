"""Wire types, error feedback, the ring and the library's sum; cases in `wire_cases.py`."""

import numpy as np
import pytest
import torch
from hooke.comm.base import Comm
from hooke.comm.shared import Shared
from hooke.comm.wrappers.packed import Packed
from hooke.comm.wrappers.timed import connect
from hooke.comm.wrappers.wire import Wire
from hooke.errors import CommError
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.comm.cases import CASES, expected_sum, summand
from tests.engine.comm.wire_cases import WIRE_CASES, rounded, the_ring_adds_in_its_own_order
from tests.engine.comm.worlds import A, B, exchange_answers, virtual

SIZES = (1, 2, 3, 4, 5)


@pytest.mark.parametrize("collective", ["tree", "halving"])
@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("name", WIRE_CASES)
def test_case_in_the_virtual_world(name, size, collective):
    first = virtual(size, WIRE_CASES[name], collective)
    assert virtual(size, WIRE_CASES[name], collective) == first


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", WIRE_CASES)
def test_both_worlds_give_the_same_bits_and_counts(name, size):
    for collective in ("tree", "halving"):
        assert exchange_answers(size)[f"{name} {collective}"] == virtual(size, WIRE_CASES[name], collective)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["sums_are_rounded_at_every_level", "what_rounding_took_is_sent_later"])
def test_all_ranks_and_both_collectives_agree(name, size):
    found = exchange_answers(size)
    assert len({*found[f"{name} tree"], *found[f"{name} halving"]}) == 1


@pytest.mark.parametrize("size", SIZES)
def test_the_ring_gives_the_same_bits_and_counts_in_both_worlds(size):
    ring = virtual(size, the_ring_adds_in_its_own_order, "ring")
    assert exchange_answers(size)["ring"] == ring
    assert len(set(ring)) == 1
    assert exchange_answers(size)["ring traffic"] == virtual(size, CASES["traffic_counts"], "ring")


@pytest.mark.parametrize("size", SIZES)
def test_the_librarys_sum_is_a_sum(size):
    assert len(exchange_answers(size)["library"]) == size


def test_the_virtual_world_has_no_library():
    with pytest.raises(CommError, match="choose the collective tree, halving or ring"):
        virtual(2, lambda comm: None, "library")


@pytest.mark.parametrize("size", range(2, 9))
def test_a_ring_takes_2_p_minus_1_rounds_of_a_pth_of_the_vector(size):
    elements = 40 * size

    def main(comm: Comm) -> float:
        comm.allreduce(np.zeros(elements, np.float32))  # type: ignore[arg-type]  # an array is a vector here
        return comm.clock()

    expected = 2 * (size - 1) * (A + 4 * elements / size * B)
    assert virtual(size, main, "ring") == pytest.approx([expected] * size)


def test_half_types_take_half_the_time_per_byte():
    def main(comm: Comm) -> float:
        Wire(comm, "bf16", True, {}).allreduce(np.zeros(1000, np.float32))  # type: ignore[arg-type]
        return comm.clock()

    assert virtual(2, main) == pytest.approx([2 * (A + 2000 * B)] * 2)


def test_the_reference_rounds_to_nearest_ties_to_even():
    ulp = 2.0**-7
    x = np.array([1 + ulp / 2, 1 + 1.5 * ulp, 1 + 0.51 * ulp, -1 - ulp / 2, 0.0, 3.4e38], np.float32)
    assert rounded(x, "bf16").tolist() == [1, 1 + 2 * ulp, 1 + ulp, -1, 0, np.inf]


def test_connect_offers_the_residuals_and_takes_them_back():
    def main(comm: Comm) -> None:
        chosen = Communication(wire="bf16")
        x = summand(comm.rank, 30)
        first = connect(comm, chosen, (), Ledger(comm.clock))
        first.allreduce(x)  # type: ignore[arg-type]
        assert list(first.residuals) == ["allreduce.0"]
        second = connect(comm, chosen, (), Ledger(comm.clock))
        second.broadcast(x)  # type: ignore[arg-type]  # as at the start of every run, before anything is restored
        second.residuals["allreduce.0"] = first.residuals["allreduce.0"].copy()
        y = summand(comm.rank, 30, seed=1)
        x[:] = y
        second.allreduce(y)  # type: ignore[arg-type]
        first.allreduce(x)  # type: ignore[arg-type]
        assert x.tobytes() == y.tobytes()
        third = connect(comm, chosen, (), Ledger(comm.clock))
        third.residuals["allreduce.0"] = np.zeros(3, np.float32)
        with pytest.raises(CommError, match="allreduce.0 has 3 elements"):
            third.allreduce(y)  # type: ignore[arg-type]
        exact = connect(comm, Communication(wire="bf16", error_feedback=False), (), Ledger(comm.clock))
        exact.allreduce(y)  # type: ignore[arg-type]
        assert exact.residuals == {} == connect(comm, Communication(), (), Ledger(comm.clock)).residuals

    virtual(2, main)


@given(elements=st.integers(0, 3000), bucket=st.integers(64, 5000), half=st.booleans(), size=st.integers(2, 4))
def test_buckets_are_equal_whole_lines_but_the_last(elements, bucket, half, size):
    lengths: list[int] = []

    class Seen(Packed):
        def allreduce(self, x):
            lengths.append(x.nbytes)
            super().allreduce(x)

    def main(comm: Comm) -> None:
        world = Packed(Seen(comm, "one", ()) if comm.rank == 0 else comm, "buckets", (), bucket)
        before, x = comm.traffic.messages, summand(comm.rank, elements)
        (Wire(world, "bf16", False, {}) if half else world).allreduce(x)  # type: ignore[arg-type]
        if not half:
            assert x.tobytes() == expected_sum(size, elements)
        if comm.rank == size - 1 and elements:
            assert comm.traffic.messages - before == len(lengths) or size > 2

    virtual(size, main)
    whole, step = (2 if half else 4) * elements, bucket // 64 * 64
    assert sum(lengths) == whole
    assert lengths[:-1] == [step] * (len(lengths) - 1) and lengths[-1] <= step
    assert len(lengths) == max(1, -(-whole // step))


def test_a_bucket_holds_a_line():
    def main(comm: Comm) -> None:
        with pytest.raises(CommError, match="at least 64 bytes"):
            Packed(comm, "buckets", (), 63)

    virtual(1, main)


def test_what_a_lock_free_center_lost_is_not_what_rounding_took():
    """Atomic updates lose nothing, whatever vectors travel as; all have read the beginning before any push."""

    def main(comm: Comm) -> float:
        world = connect(comm, Communication(wire="bf16"), (), Ledger(comm.clock))
        center, delta = torch.zeros(100), torch.from_numpy(summand(comm.rank, 100))
        shared = Shared(world, center, torch.zeros(100), "atomic")
        shared.add(delta, 0.3)
        world.barrier()
        lost, pushed = shared.balance()
        return lost / pushed

    assert max(virtual(3, main)) < 1e-6
