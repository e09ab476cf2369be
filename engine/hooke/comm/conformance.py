"""Conformance test of the MPI library's one-sided operations, run before a lock-free method relies on them.

Released MPI libraries have had faults: accumulates that lost additions, counters that returned a number twice.
With such a library a run still trains, but its measurements are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hooke.comm.arrays import Array
from hooke.comm.base import Comm, Counter, Window
from hooke.errors import CommError

_ELEMENTS = 1003
_ROUNDS = 40


def conformance(comm: Comm) -> str:
    """Test windows and counters with all ranks at once; return a sentence for the run's notes.

    Collective; takes milliseconds. Raises CommError on every rank, with the MPI library and the fault.
    """
    window, counter = comm.window(_constant(0)), comm.counter()
    for what, fault in _trials(comm, window, counter):
        (faulty,) = comm.control.allreduce((float(bool(fault)),))
        if faulty:
            raise CommError(
                f"{comm.implementation} failed the conformance test of one-sided operations, {what}: "
                f"{fault or f'{int(faulty)} other rank(s) saw it'}. Results of lock-free methods would be wrong: "
                "use another MPI library or version"
            )
    shared = int(comm.control.allreduce((float(window.shared),))[0])
    window.close()
    counter.close()
    return (
        f"One-sided operations of {comm.implementation} passed the conformance test on {comm.size} rank(s), "
        f"{shared} of which share memory with the window's owner."
    )


def _trials(comm: Comm, window: Window, counter: Counter) -> Iterator[tuple[str, str]]:
    """Yield (test, fault seen by this rank or ""); the caller makes all ranks agree."""
    pattern: Any = np.arange(_ELEMENTS, dtype=np.float32) % 5
    for _ in range(_ROUNDS):
        window.accumulate(pattern + comm.rank + 1)
    comm.barrier()
    everybody = comm.size * (comm.size + 1) / 2
    yield "accumulates by all ranks at once", _compare(window, _ROUNDS * (comm.size * pattern + everybody))
    for turn in sorted({0, comm.size // 2, comm.size - 1}):
        if comm.rank == turn:
            window.put(_constant(turn + 7))
        comm.barrier()
        yield f"a constant stored by rank {turn}", _compare(window, _constant(turn + 7))
        if comm.rank == turn and window.shared:
            window.add(pattern, 2.0)
        elif comm.rank == turn:
            window.accumulate(2 * pattern)
        comm.barrier()
        yield f"an addition by rank {turn} alone", _compare(window, 2 * pattern + turn + 7)
    window.put(_constant(0)) if comm.rank == 0 else None
    comm.barrier()
    found, delta = _constant(-1), pattern + comm.rank + 1
    for _ in range(_ROUNDS):
        window.iexchange(found, lambda: delta).wait()
    comm.barrier()
    yield "exchanges in the background", _compare(window, _ROUNDS * (comm.size * pattern + everybody))
    yield "numbers taken from a counter", _each_once(comm, counter)


def _compare(window: Window, expected: Array) -> str:
    found = _constant(-1)
    window.get(found)
    wrong = np.flatnonzero(found != expected)
    if not wrong.size:
        return ""
    first = int(wrong[0])
    return f"{wrong.size} of {_ELEMENTS} elements differ, element {first} is {found[first]}, not {expected[first]}"


def _each_once(comm: Comm, counter: Counter) -> str:
    comm.barrier()
    numbers = [counter.take() for _ in range(_ROUNDS)]
    times: Any = np.zeros(_ROUNDS * comm.size)  # float64, which no wire type rounds
    for number in numbers:
        if 0 <= number < times.size:
            times[number] += 1
    comm.allreduce(times)
    wrong = np.flatnonzero(times != 1)
    if not wrong.size:
        return ""
    first = int(wrong[0])
    return f"{wrong.size} of {times.size} numbers were not handed out once, {first} was {int(times[first])} times"


def _constant(value: float) -> Any:
    return np.full(_ELEMENTS, value, np.float32)
