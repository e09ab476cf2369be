"""The same cases on real ranks: one mpirun plays them all, on each number of ranks."""

from typing import Any

import pytest

from tests.engine.comm import worlds
from tests.engine.comm.cases import CASES, SLEEP
from tests.engine.comm.worlds import mpirun, virtual
from tests.waiting import LIMIT

COLLECTIVES = ("tree", "halving")
SIZES = (1, 2, 3, 4, 5)
FEW = (2, 3)
"""As in `program.py`: what takes a core for a while is not tried with more ranks than cores."""


def answers(size: int) -> dict[str, dict[str, list[Any]]]:
    """Return {case: {collective: [answer of each rank]}}."""
    return worlds.answers("program")[size]


@pytest.mark.parametrize("size", SIZES)
def test_every_case_holds_on_every_rank(size):
    """A case asserts by itself, and one that fails ends the program: no case can fail without the others."""
    for name in CASES:
        assert {c: len(answers(size)[name][c]) for c in COLLECTIVES} == dict.fromkeys(COLLECTIVES, size), name


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "name",
    [
        "allreduce_is_the_ordered_sum",
        "iallreduce_is_the_same_in_any_number",
        "a_sum_into_another_vector",
        "delays_move_no_bit",
        "control_words",
        "traffic_counts",
        "packing_moves_no_bit",
    ],
)
def test_both_worlds_give_the_same_bits_and_counts(name, size):
    for collective in COLLECTIVES:
        assert answers(size)[name][collective] == virtual(size, CASES[name], collective), collective


@pytest.mark.parametrize("size", SIZES)
def test_the_replicated_center_is_the_same_on_every_rank_and_collective(size):
    found = answers(size)["delays_move_no_bit"]
    assert len({*found["tree"], *found["halving"]}) == 1


@pytest.mark.parametrize("size", FEW)
@pytest.mark.parametrize("what", ["overlap", "overlap_of_messages"])
def test_a_transfer_completes_while_the_rank_computes(what, size):
    """The rank saw the result in its vector before it waited; `hidden` is the completion, not the wait."""
    for collective in COLLECTIVES:
        for rank in answers(size)[what][collective]:
            assert rank["seen"] < LIMIT, "nothing arrived while the rank computed"
            assert rank["hidden"] < rank["entered"]


@pytest.mark.parametrize("size", FEW)
def test_waiting_leaves_the_core_to_others(size):
    for collective in COLLECTIVES:
        for shares in answers(size)["idle_cpu"][collective]:
            assert max(shares.values()) < 0.5, shares  # measured: 0.02 to 0.04; a busy wait is 1


@pytest.mark.parametrize("size", FEW)
def test_who_waits_for_a_word_is_woken_by_its_sender(size):
    for collective in COLLECTIVES:
        assert max(answers(size)["woken"][collective]) < SLEEP / 2


@pytest.mark.parametrize("size", FEW)
def test_exchanges_allocate_nothing(size):
    """Nothing as large as a hundredth of the vector that is exchanged: requests and records are small."""
    for collective in COLLECTIVES:
        for held in answers(size)["allocated"][collective]:
            assert held["arrays"] < 17_000, held
            assert held["tensors"] == 0, held


def test_a_failure_in_the_progress_thread_is_raised_by_wait():
    said = answers(2)["failure"]["tree"][0]
    assert said.count("the all-reduce in the background failed") == 3
    assert "truncated" in said


def test_an_exception_on_one_rank_ends_all():
    done = mpirun(3, "tests.engine.comm.failing")
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    assert "survived" not in done.stdout
