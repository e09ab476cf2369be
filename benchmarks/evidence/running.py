"""Runs cells at their places, one after the other, and stores the results."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from hooke.catalogue.validation import validate_run

from benchmarks import speed
from benchmarks.common import forked
from benchmarks.evidence.cells import Cell, cells
from benchmarks.evidence.conditions import MAX_SECONDS, Place
from benchmarks.evidence.matrix import Matrix
from benchmarks.evidence.store import Store, over
from benchmarks.netlab import calibrate
from benchmarks.netlab import lab as labs
from benchmarks.netlab import running as netlab
from benchmarks.peers import running as peers
from benchmarks.peers.invariants import faults as peer_faults
from benchmarks.peers.settings import Settings

OVERTIME = 240.0
"""Seconds beyond the wall limit after which a run is ended from outside: starting, evaluations, a hang."""
HANGS = 6 * 3600.0
"""Wall seconds after which even a simulated run is ended, whose limit is processor time: it hangs."""
OWN_LIMIT = "ended by the limit of this benchmark, which says nothing of the method"
LAB = "evidence"


class Overrun(Exception):
    """A run did not end in time."""


class BrokenClock(Exception):
    """A run's journals violate the rules of the train clock; it is not used as a result."""


def run_matrix(
    matrix: Matrix, store: Store, minutes: float | None, only: Callable[[Cell], bool], again: bool = False
) -> int:
    """Run missing cells, most important first, until all are done or `minutes` are over; return their number.

    `only` selects cells; `again` repeats the selected ones. A run that fails for a reason outside of its method is
    reported, stored as a failure and not repeated in this session. Raises BrokenClock, with the run, if journals
    violate the rules of the train clock.
    """
    until = time.monotonic() + (60 * minutes if minutes is not None else float("inf"))
    session, tried = "", set[str]()
    with contextlib.ExitStack() as up:
        here: Place | None = None
        lab: labs.Lab | None = None
        while time.monotonic() < until:
            evidence = store.evidence()
            done = tried if again else tried | evidence.runs.keys()
            cell = next((c for c in cells(matrix, evidence.trials) if c.key not in done and only(c)), None)
            if cell is None:
                break
            session = session or store.begin(matrix.precision)
            if cell.place.world != "lab":
                pass
            elif here is None or cell.place.name != here.name:
                up.close()
                lab = up.enter_context(labs.held(cell.place.hosts, cell.place.rate, LAB))
                here = cell.place
                _calibrate(store, session, here, lab)
            tried.add(cell.key)
            _run_and_keep(cell, lab, store, session, f"{len(evidence.runs) + 1} of {matrix.least} or more")
    return len(tried)


def _calibrate(store: Store, session: str, place: Place, lab: labs.Lab) -> None:
    """Measure the network once per session and place; a network of one host has nothing to measure."""
    if lab.hosts > 1 and place.name not in store.sessions()[session]["calibrations"]:
        found = calibrate.calibrate(lab)
        store.calibrated(session, place.name, found)
        print("\n".join(calibrate.lines(found)), flush=True)


def _run_and_keep(cell: Cell, lab: labs.Lab | None, store: Store, session: str, number: str) -> None:
    began, journal, machine = time.monotonic(), store.journal(cell), speed.probe()
    print(f"[{number}] {cell.title}", flush=True)
    result = run_within(MAX_SECONDS + OVERTIME, cell, lab, journal)
    if result["state"] == "cancelled":  # Ctrl-C, which the run has caught to end its ranks in order
        raise KeyboardInterrupt
    wrong = faults(cell, journal) if over(result) else []
    if wrong:
        result = {"state": "failed_infra", "why": f"no result: {'; '.join(wrong)}"}
    store.keep(cell, result, session, machine)
    if wrong:
        raise BrokenClock(f"{cell.title} ({cell.key}, journals in {journal}): {'; '.join(wrong)}")
    for bulk in (*journal.glob("final.*.npz"), *journal.glob("weights.*.npy")):
        bulk.unlink()
    told = result["why"] if not over(result) else _said(result)
    print(f"  {result['state']}: {told} ({time.monotonic() - began:.0f} s in all)", flush=True)


class Runnable(Protocol):
    """A run at a place: a cell of the matrix, or one of the tuned comparison."""

    @property
    def place(self) -> Place:
        """Where it runs."""

    @property
    def document(self) -> dict[str, Any]:
        """`hooke.run/1`, or the settings of a peer."""


def faults(cell: Runnable, folder: Path) -> list[str]:
    """Return what violates the rules of the train clock in journals, or in a peer's records; [] if nothing."""
    if "settings" in cell.document:
        return peer_faults(folder)
    from hooke.spec.invariants import faults as of_journals

    return of_journals(folder)


def _said(result: dict[str, Any]) -> str:
    reached = result["time_to_target"]
    told = f"target after {reached:.1f} s" if reached is not None else f"{result['train_seconds'] or 0:.1f} s"
    accuracy = result["validation_accuracy"]
    return f"{told}, {accuracy:.2%}" if accuracy is not None else told


def run_within(
    seconds: float, cell: Runnable, lab: labs.Lab | None, folder: Path, cores: int | None = None
) -> dict[str, Any]:
    """Run one cell and return its result; one that takes longer is ended, with a result that says by whom.

    Seconds are wall time. In virtual time they are processor time, because what is simulated depends on neither
    the load of the machine nor its speed: there is nothing to learn from how long a run had to wait for a core.
    `cores`: those that a simulated run may use at once, in a fork of this process; None: all, by `hooke run`.
    """
    simulated = cell.place.world == "virtual"
    try:
        with within(HANGS if simulated else seconds):
            return run(cell, lab, folder, seconds, cores) if simulated else run(cell, lab, folder)
    except Overrun as overrun:
        return {"state": "failed_infra", "why": str(overrun)}


def run(
    cell: Runnable,
    lab: labs.Lab | None,
    folder: Path,
    processor_seconds: float | None = None,
    cores: int | None = None,
) -> dict[str, Any]:
    """Run one cell and return its result; its journals stay in `folder`.

    `processor_seconds`: limit of a process of a run by the product's command line; `cores`: see `run_within`.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    there = lab if cell.place.world == "lab" else None
    if "settings" in cell.document:
        folder.mkdir()
        return peers.run(Settings(**cell.document["settings"]), there, folder)
    if there is not None:
        _, found = netlab.hooke(there, validate_run(cell.document), folder)
        return found
    if cores is not None and processor_seconds is not None:
        ended = _ended_after(processor_seconds)
        return forked.simulated(cell.document, folder, cores, processor_seconds, ended)
    return _hooke_run(cell, folder, processor_seconds)


def _hooke_run(cell: Runnable, folder: Path, processor_seconds: float | None) -> dict[str, Any]:
    """Run a cell with the product's command line; the result has the `processor_seconds` of all processes."""
    spec = folder.with_suffix(".run.json")
    spec.write_text(json.dumps(cell.document))
    command = [sys.executable, "-m", "hooke", "run", str(spec), "--json", "--run-dir", str(folder)]
    simulated = processor_seconds is not None  # and computed on processors, also where there is a GPU
    own = os.environ | ({"CUDA_VISIBLE_DEVICES": ""} if simulated else {})
    spent = _processor_seconds()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)
    try:
        if processor_seconds is not None:
            limit_processor_time(process.pid, processor_seconds)
        said, error = process.communicate()
    except BaseException:  # also Ctrl-C: end `hooke run`, which ends its ranks
        process.terminate()
        process.wait()
        raise
    if not said.strip():
        shutil.rmtree(folder, ignore_errors=True)
    found: dict[str, Any] = json.loads(said) if said.strip() else {"state": "failed_infra", "why": error[-2000:]}
    ended = process.returncode == -signal.SIGXCPU or signal.SIGXCPU.name in found["why"]
    if processor_seconds is not None and ended and not over(found):
        found["why"] = _ended_after(processor_seconds)
    return found | {"processor_seconds": _processor_seconds() - spent}


def _ended_after(processor_seconds: float) -> str:
    return f"not over after {processor_seconds:.0f} s of processor time: {OWN_LIMIT}"


def limit_processor_time(pid: int, seconds: float) -> None:
    """Let the kernel end a process by SIGXCPU after so much processor time; each that it starts later, too."""
    with contextlib.suppress(ProcessLookupError):  # it has ended
        _, hard = resource.prlimit(pid, resource.RLIMIT_CPU)
        soft = math.ceil(seconds) if hard == resource.RLIM_INFINITY else min(math.ceil(seconds), hard)
        resource.prlimit(pid, resource.RLIMIT_CPU, (soft, hard))


def _processor_seconds() -> float:
    """Return the processor time of all processes that this one has started and that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise Overrun in the body if it takes longer."""

    def over(*_: object) -> None:
        raise Overrun(f"not over after {seconds:.0f} s: {OWN_LIMIT}")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
