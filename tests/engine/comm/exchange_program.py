"""Windows, wire types, the ring and the library's sum under MPI; rank 0 prints {ranks: {case: [answer per rank]}}.

Run as `program.py` is. Windows are tried twice: in memory that the ranks share, and as across nodes, without plain
access.
"""

import json
import time
from typing import Any

import numpy as np
from hooke.comm.base import Window
from hooke.comm.conformance import conformance
from hooke.comm.mpi import window as mpi_window
from hooke.comm.mpi.communicator import MpiComm
from hooke.comm.mpi.window import MpiWindow
from hooke.errors import CommError
from mpi4py import MPI

from tests.engine.comm.cases import traffic_counts
from tests.engine.comm.compressed_cases import COMPRESSED_CASES, COMPRESSED_SIZES
from tests.engine.comm.parts import WORLD, in_parts
from tests.engine.comm.parts import play as play_case
from tests.engine.comm.window_cases import WINDOW_CASES, constant, found
from tests.engine.comm.wire_cases import WIRE_CASES, the_librarys_sum_is_a_sum, the_ring_adds_in_its_own_order

ELEMENTS, ROUNDS = 1 << 18, 60


class FarComm(MpiComm):
    """Ranks that act as if no two shared a node."""

    def window(self, initial: object, owner: int = 0) -> Window:
        return MpiWindow(self._sums, initial, owner, self._patience, self.traffic, map_memory=False)


def plain_additions_may_be_lost(comm: MpiComm) -> dict[str, float]:
    """All ranks add at once: what is in the end less than what was added is lost. Also: is a torn read seen?"""
    window = comm.window(constant(0, ELEMENTS))
    one, into, torn = constant(1, ELEMENTS), constant(0, ELEMENTS), 0
    comm.barrier()
    for _ in range(ROUNDS):
        window.add(one)
        window.get(into)
        torn += bool(into.min() != into.max())
    comm.barrier()
    window.get(into)
    window.close()
    added = comm.size * ROUNDS
    assert into.max() <= added and into.min() >= 1  # nothing is added that nobody added
    return {"lost": 1 - float(into.mean(dtype=np.float64)) / added, "torn": torn / ROUNDS}


def atomic_additions_are_never_lost(comm: MpiComm) -> float:
    window = comm.window(constant(0, ELEMENTS // 8))
    one = constant(1, ELEMENTS // 8)
    comm.barrier()
    began = time.perf_counter()
    for _ in range(ROUNDS):
        window.accumulate(one)
    seconds = (time.perf_counter() - began) / ROUNDS
    comm.barrier()
    window.get(one)
    window.close()
    assert one.min() == one.max() == comm.size * ROUNDS
    return seconds


def ranks_that_disagree_are_told(comm: MpiComm) -> list[str]:
    said = []
    for ask in (
        lambda: comm.window(constant(0, 3 + (comm.rank == 0))),
        lambda: comm.window(constant(0), min(comm.rank, 1)),
    ):
        try:
            ask()
        except CommError as error:
            said.append(str(error))
    return said


def a_window_larger_than_shared_memory_is_refused(comm: MpiComm) -> str:
    measured, mpi_window.free_shared_memory = mpi_window.free_shared_memory, lambda: 4 * ELEMENTS
    try:
        comm.window(constant(0, ELEMENTS))
    except CommError as error:
        return str(error)
    finally:
        mpi_window.free_shared_memory = measured
    return ""


def far_windows_have_no_plain_additions(comm: MpiComm) -> str:
    window = comm.window(constant(0))
    assert window.shared == (comm.rank == 0)
    said = ""
    if comm.rank:
        try:
            window.add(constant(1))
        except CommError as error:
            said = str(error)
    comm.barrier()
    assert found(window).max() == 0
    window.close()
    return said


def conformance_is_quick(comm: MpiComm) -> dict[str, float]:
    comm.barrier()
    began, before = time.perf_counter(), time.process_time()
    conformance(comm)
    return {"seconds": time.perf_counter() - began, "processor": time.process_time() - before}


def play_all(world: MPI.Intracomm) -> dict[str, list[Any]]:
    """Return {case: [answer per rank]}."""
    answers: dict[str, list[Any]] = {}

    def play(name, run, comm):
        answers[name] = play_case(world, name, run, comm)

    near, far = MpiComm("tree", world), FarComm("tree", world)
    needs_memory = ("a_lone_plain", "one_sided_traffic", "one_sided_time", "this_world", "faults_of")
    for name, case in WINDOW_CASES.items():
        play(name, case, near)
        if not name.startswith(needs_memory):
            play(f"far {name}", case, far)
    for run in (plain_additions_may_be_lost, atomic_additions_are_never_lost, conformance_is_quick):
        play(run.__name__, run, near)
    play("far atomic_additions_are_never_lost", atomic_additions_are_never_lost, far)
    play("far conformance", conformance, far)
    play("a_window_larger_than_shared_memory_is_refused", a_window_larger_than_shared_memory_is_refused, near)
    if world.Get_size() > 1:
        play("ranks_that_disagree_are_told", ranks_that_disagree_are_told, near)
        play("far_windows_have_no_plain_additions", far_windows_have_no_plain_additions, far)
    part = near.split(near.rank % 2)
    play("this_world_conforms after a split", WINDOW_CASES["this_world_conforms"], part)
    play("ranks_of_the_world_of_a_part", lambda comm: comm.world.allgather(world.Get_rank()), part)
    part.close()
    play("freed_with_its_part", lambda comm: comm.world == MPI.COMM_NULL, part)
    for collective in ("tree", "halving"):
        comm = MpiComm(collective, world)
        for name, case in WIRE_CASES.items():
            play(f"{name} {collective}", case, comm)
        comm.close()
    if world.Get_size() in COMPRESSED_SIZES:
        comm = MpiComm("tree", world)
        for name, case in COMPRESSED_CASES.items():
            play(name, case, comm)
        comm.close()
    ring, library = MpiComm("ring", world), MpiComm("library", world)
    play("ring", the_ring_adds_in_its_own_order, ring)
    play("ring traffic", traffic_counts, ring)
    play("library", the_librarys_sum_is_a_sum, library)
    for each in (ring, library, near, far):
        each.close()
    return answers


def main() -> None:
    answers = in_parts(play_all)
    comm = MpiComm()
    left_open = comm.window(constant(0)), comm.counter()  # a run that does not close them ends all the same
    assert left_open[0].shared
    if WORLD.Get_rank() == 0:
        print(json.dumps(answers))


if __name__ == "__main__":
    main()
