"""Runs the product in its two ways, and reads its output.

`run`: the command `hooke run` with a specification file, in processes of its own. `run_in_turn`: the program of a
rank with several folders, one after the other in the same processes, as an agent starts the runs of an experiment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit import journal
from audit.journal import Journal
from audit.simulate import Seen

HERE = Path(__file__).resolve().parent
OWN = HERE / "own"
SECONDS = 180.0
"""Time limit of a run, s; of several in turn, that of one and EACH for every one."""
EACH = 10.0
NETWORK = {
    "latency": 1e-6,
    "seconds_per_byte": 1e-9,
    "compute_seconds_per_sample": 2.5e-4,
    "compute_jitter": 0.3,
    "memory_bandwidth": 1e10,
}


class Failed(Exception):
    """A run that failed; the message is the end of its output."""


@dataclass(frozen=True)
class Run:
    """The output of one run."""

    folder: Path
    finals: dict[str, Any]
    journals: list[Journal]
    seen: Seen | None
    """The notes of its workers; None for a run without notes."""


def _beside(program: str) -> str:
    """Return the program beside this Python, or the one in PATH."""
    beside = Path(sys.executable).with_name(program)
    return str(beside) if beside.exists() else program


def command() -> str:
    """Return the command of the product."""
    return _beside("hooke")


def methods() -> set[str]:
    """Return the built-in methods of the product. Raises Failed."""
    environment = {name: value for name, value in os.environ.items() if name != "HOOKE_PATH"}
    arguments = [command(), "algorithms", "--json"]
    ended = subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if ended.returncode:
        raise Failed(f"`hooke algorithms` ended with status {ended.returncode}: {ended.stderr[-300:]}")
    return {each["name"] for each in json.loads(ended.stdout)}


def noted(spec: dict[str, Any], notes: Path) -> dict[str, Any]:
    """Return the specification of the same run with notes of its gradients, in this folder."""
    workload = spec["workload"]
    parameters = {**workload["parameters"], "notes": str(notes.absolute())}
    return {**spec, "workload": {**workload, "parameters": parameters}}


def _notes(spec: dict[str, Any]) -> Path | None:
    named = spec["workload"]["parameters"].get("notes")
    return Path(named) if named else None


def _environment(path: str = "") -> dict[str, str]:
    return {**os.environ, "HOOKE_PATH": os.pathsep.join(filter(None, [str(OWN), path])), "OMP_NUM_THREADS": "1"}


def _said(ended: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in ended.stderr.splitlines() if "samples" not in line]
    return f"status {ended.returncode}: " + " / ".join(lines[-3:])


def _read(spec: dict[str, Any], folder: Path, finals: dict[str, Any], again: bool) -> Run:
    journals, notes = journal.read_all(folder), _notes(spec)
    seen = journal.seen(journals, notes, spec["batch"], spec["seed"]) if notes and not again else None
    return Run(folder, finals, journals, seen)


def run(spec: dict[str, Any], folder: Path, *options: str, path: str = "", again: bool = False) -> Run:
    """Start `hooke run` with a specification in `folder`, a new one, and read its output.

    `path`: additional folders of user files. `again`: the notes are those of an earlier run. Raises Failed.
    """
    place = folder.parent
    place.mkdir(parents=True, exist_ok=True)
    document, saved = (place / f"{folder.name}.{end}" for end in ("json", "npz"))
    document.write_text(json.dumps(spec))
    if notes := _notes(spec):
        notes.mkdir(exist_ok=True)
    arguments = [command(), "run", str(document), "--run-dir", str(folder), "--save", str(saved), *options]
    try:
        ended = subprocess.run(
            arguments, env=_environment(path), capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"still running after {SECONDS:g} s") from None
    if ended.returncode:
        raise Failed(_said(ended))
    return _read(spec, folder, journal.finals(saved), again)


def run_in_turn(
    jobs: list[tuple[dict[str, Any], Path]], ranks: int = 0, *, resume: bool = False
) -> list[Run | Failed]:
    """Run specifications, each in its folder, in turn in the same processes; return their results in that order.

    `ranks`: MPI processes, as many as the largest run needs; 0: one process, for virtual runs. `resume`: from the
    checkpoints in the folders, whose other files must have been removed.
    """
    for spec, folder in jobs:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "spec.json").write_text(json.dumps(spec))
        if notes := _notes(spec):
            notes.mkdir(parents=True, exist_ok=True)
    mpirun = [_beside("mpirun"), "-n", str(ranks)] if ranks else []
    program = [sys.executable, "-m", "mpi4py", "-m", "hooke.loop.train", *(["--resume"] if resume else [])]
    arguments = [*mpirun, *program, *(str(folder.absolute()) for _, folder in jobs)]
    limit = SECONDS + EACH * len(jobs)
    try:
        ended = subprocess.run(
            arguments, env=_environment(), capture_output=True, text=True, timeout=limit, check=False
        )
        why = _said(ended) if ended.returncode else "no end in its journals"
    except subprocess.TimeoutExpired:
        why = f"still running after {limit:g} s"
    return [_result(spec, folder, resume, why) for spec, folder in jobs]


def _result(spec: dict[str, Any], folder: Path, again: bool, why: str) -> Run | Failed:
    """Return the result of a run of several; `why`: how their processes ended, if it has none."""
    try:
        return _read(spec, folder, journal.finals_of_ranks(folder), again)
    except (OSError, ValueError, KeyError) as error:
        return Failed(f"{why} ({error})")
