"""Runs the product as a user does: the command `hooke run` with a specification file, and its output."""

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
"""Time limit of a run, s."""
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


def command() -> str:
    """Return the `hooke` beside this Python, or the one in PATH."""
    beside = Path(sys.executable).with_name("hooke")
    return str(beside) if beside.exists() else "hooke"


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


def run(spec: dict[str, Any], folder: Path, *options: str, notes: bool = True, path: str = "") -> Run:
    """Start `hooke run` with a specification in `folder` (a new one, unless it resumes), and read its output.

    `path`: additional folders of user files. Raises Failed.
    """
    place = folder.parent
    place.mkdir(parents=True, exist_ok=True)
    document, saved, noted = (place / f"{folder.name}.{end}" for end in ("json", "npz", "notes"))
    document.write_text(json.dumps(spec))
    environment = {**os.environ, "HOOKE_PATH": os.pathsep.join(filter(None, [str(OWN), path]))}
    environment.pop("AUDIT_NOTES", None)
    if notes:
        noted.mkdir()
        environment["AUDIT_NOTES"] = str(noted)
    arguments = [command(), "run", str(document), "--run-dir", str(folder), "--save", str(saved), *options]
    try:
        ended = subprocess.run(
            arguments, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"still running after {SECONDS:g} s") from None
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if "samples" not in line]
        raise Failed(f"status {ended.returncode}: " + " / ".join(lines[-3:]))
    journals = journal.read_all(folder)
    seen = journal.seen(journals, noted, spec["batch"], spec["seed"]) if notes else None
    return Run(folder, journal.finals(saved), journals, seen)
