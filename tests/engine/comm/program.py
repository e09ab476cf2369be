"""Plays every case on MPI ranks; rank 0 prints JSON: {ranks: {case: {collective: [answer per rank]}}}.

Run as `mpirun -n 5 python -m mpi4py -m tests.engine.comm.program`.
"""

import json
import threading
import time
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
from hooke.comm.base import Pending
from hooke.comm.mpi import wait
from hooke.comm.mpi.communicator import MpiComm
from hooke.errors import CommError
from mpi4py import MPI

from tests.engine.comm.cases import CASES, SLEEP
from tests.engine.comm.parts import WORLD, first, in_parts, play
from tests.waiting import LIMIT, wait_for

ELEMENTS = 431_080
"""Of LeNet."""
FEW = (2, 3)
"""Numbers of ranks, one of them no power of two, for what keeps each rank busy, or imports torch into it. With
more of them, the same rounds come once more, and ranks wait for cores meanwhile."""


def noted(comm: MpiComm) -> Pending:
    """Let the thread take note of what is complete; return a sum to wait for, which was posted last.

    The thread goes from job to job in the order posted. No call into MPI, which could do the thread's work.
    """
    x = np.ones(1, np.float32)
    pending = comm.iallreduce(x)
    wait_for(lambda: x[0] == comm.size, "a sum of one element")
    return pending


def overlap(comm: MpiComm) -> dict[str, float]:
    """Post, compute without waiting, and see that the sum was complete before anybody waited."""
    x = np.ones(ELEMENTS, np.float32)
    comm.iallreduce(x.copy()).wait()  # the thread and its buffers exist from here on
    comm.barrier()
    posted = time.perf_counter()
    pending = comm.iallreduce(x)
    waited_for = 0.0
    while x[-1] != comm.size and waited_for < LIMIT:  # only this thread's arithmetic: no call into MPI
        waited_for = time.perf_counter() - posted
    seen = time.perf_counter() - posted
    last = noted(comm)
    entered = time.perf_counter() - posted
    pending.wait()
    last.wait()
    return {"seen": seen, "hidden": pending.hidden, "entered": entered}


def overlap_of_messages(comm: MpiComm) -> dict[str, float]:
    """The same from rank to rank."""
    x, into = np.full(ELEMENTS, comm.rank, np.float32), np.full(ELEMENTS, -1, np.float32)
    left = (comm.rank - 1) % comm.size
    posted = time.perf_counter()
    parts = [comm.irecv(into, left), comm.isend(x, (comm.rank + 1) % comm.size)]
    while into[-1] != left and time.perf_counter() - posted < LIMIT:
        pass
    seen = time.perf_counter() - posted
    last = noted(comm)
    entered = time.perf_counter() - posted
    for part in (*parts, last):
        part.wait()
    return {"seen": seen, "hidden": parts[0].hidden, "entered": entered}


def a_failure_in_the_thread_reaches_the_rank(comm: MpiComm) -> str:
    """Rank 1 sends more than rank 0 expects: the thread of rank 0 finds out, and every later `wait` says so."""
    pending = [comm.iallreduce(np.ones(10 + 10 * comm.rank, np.float32)) for _ in range(2)]
    if comm.rank == 1:
        return ""  # its own wait could never end
    said = []
    for p in (*pending, pending[0]):
        try:
            p.wait()
        except CommError as error:
            said.append(str(error))
    return "; ".join(said)


def idle_cpu(comm: MpiComm) -> dict[str, float]:
    """Processor seconds that a rank burns per second of waiting for a late one, in the call and in the thread."""
    shares = {}
    for name in ("allreduce", "iallreduce", "control"):
        comm.barrier()
        late = comm.rank == 0
        if late:
            time.sleep(0.3)
        before, began = time.process_time(), time.perf_counter()
        if name == "allreduce":
            comm.allreduce(np.zeros(1000, np.float32))
        elif name == "iallreduce":
            comm.iallreduce(np.zeros(1000, np.float32)).wait()
        else:
            comm.control.allreduce((1.0,))
        shares[name] = 0.0 if late else (time.process_time() - before) / (time.perf_counter() - began)
    return shares


def words_wake_who_waits(comm: MpiComm) -> float:
    """Shortest of some waits for a word that is sent while the receiver sleeps for SLEEP.

    The other waits of a rank, which nobody ends, are as long as ever: its sleeps are long in here alone.
    """
    took = []
    for _ in range(4):
        comm.barrier()
        if comm.rank == 0:
            time.sleep(0.2)
            for other in range(1, comm.size):
                comm.control.send((1.0,), other)
            continue
        before, wait._LONGEST_SLEEP, waited = wait._LONGEST_SLEEP, SLEEP, wait.Backoff.waited
        wait.Backoff.waited = property(lambda self: 20 * SLEEP)  # type: ignore[assignment]
        began = time.perf_counter()
        try:
            comm.control.recv(0)
        finally:
            wait._LONGEST_SLEEP, wait.Backoff.waited = before, waited  # type: ignore[method-assign]
        took.append(time.perf_counter() - began)
    return min(took, default=0.0)


def exchanges_allocate_nothing(comm: MpiComm) -> dict[str, int]:
    """Most bytes that Python and NumPy held beyond the beginning, and that torch asked for, during 20 exchanges.

    Of 1.7 MB each, through every wrapper, two under way at any time: what a step of a run does.
    """
    import torch
    from hooke.comm.wrappers.timed import connect
    from hooke.spec.specification import Communication
    from hooke.trace.phases import Ledger

    wired = connect(comm, Communication(wire="bf16"), (), Ledger(comm.clock))
    x, totals = torch.ones(ELEMENTS), [torch.zeros(ELEMENTS), torch.zeros(ELEMENTS)]

    def exchange(times: int) -> None:
        pending = [wired.iallreduce(x, totals[1])]
        for turn in range(times):
            pending.append(wired.iallreduce(x, totals[turn % 2]))
            pending.pop(0).wait()
        pending.pop().wait()

    exchange(3)  # buffers grow at first
    tracemalloc.start()
    begun = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    exchange(20)
    arrays = tracemalloc.get_traced_memory()[1] - begun
    tracemalloc.stop()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        exchange(20)
    tensors = sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    return {"arrays": arrays, "tensors": tensors}


def play_all(world: MPI.Intracomm) -> dict[str, dict[str, list[Any]]]:
    """Return {case: {collective: [answer per rank]}}."""
    answers: dict[str, dict[str, list[Any]]] = {}
    own: dict[str, Any] = {}
    if world.Get_size() in FEW:
        own = {"overlap": overlap, "overlap_of_messages": overlap_of_messages, "idle_cpu": idle_cpu}
        own["allocated"], own["woken"] = exchanges_allocate_nothing, words_wake_who_waits
    for collective in ("tree", "halving"):
        comm = MpiComm(collective, world)
        for name, case in {**CASES, **own}.items():
            answers.setdefault(name, {})[collective] = play(world, name, case, comm)
        comm.close()
        assert [t.name for t in threading.enumerate() if t.name == "progress"] == []
    return answers


def main() -> None:
    answers = in_parts(play_all)
    left_open = MpiComm("tree")  # a run that does not close its communicator ends all the same
    left_open.iallreduce(np.ones(8, np.float32)).wait()
    if (pair := first(2)) is not None:
        failing = partial(play, pair, "failure", a_failure_in_the_thread_reaches_the_rank)
        answers[2]["failure"] = {"tree": failing(MpiComm("tree", pair))}
    if WORLD.Get_rank() == 0:
        print(json.dumps(answers))


if __name__ == "__main__":
    main()
