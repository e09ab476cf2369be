"""Common parts of the pages: tables, and notes on figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks import speed
from benchmarks.evidence import machine
from benchmarks.evidence.cells import cells
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.records import Run
from benchmarks.evidence.view import View

COMMANDS = (
    "Measured by `{make}`. In parts: `python -m benchmarks.evidence run --minutes 30` continues where it was "
    "stopped; `python -m benchmarks.evidence pages` writes the pages. Raw data: [every run](data/runs.csv) with "
    "its own command, [every evaluation](data/curves.csv), [machines and calibrations](data/sessions.json)."
)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Yield a Markdown table."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def incomplete(view: View) -> Iterable[str]:
    """Yield the remark on a page with missing runs, or with runs that are only a quick look."""
    if view.matrix.quick:
        yield (
            f"**A quick look, not the evidence**: few methods, one seed, one rate without a search, target "
            f"{view.matrix.target:.0%}."
        )
        yield ""
    missing = {cell.key for cell in cells(view.matrix, view.evidence.trials)} - view.evidence.runs.keys()
    if missing:
        yield f"**Incomplete: at least {len(missing)} runs are missing.** Each line has the number of its runs."
        yield ""


def beside(note: str) -> str:
    """Return a note in the form that follows a heading."""
    return f" ({note})" if note else ""


def machines(view: View, runs: Sequence[Run]) -> Iterable[str]:
    """Yield processor, versions, dates and commits of runs, one line per machine."""
    sessions = view.evidence.sessions
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.session in sessions:
            found.setdefault(_machine(sessions[run.session]), []).append(run)
    for text, those in sorted(found.items()):
        days = sorted({datetime.fromtimestamp(sessions[run.session]["unix"], UTC).date() for run in those})
        when = f"{days[0]}" if len(days) == 1 else f"{days[0]} to {days[-1]}"
        commits = ", ".join(sorted({run.commit for run in those}))
        yield f"{text}; {when}; commits {commits} (+: with changes); {len(those)} runs."
        yield ""
    if said := speed.told(run.machine_ms for run in runs):
        yield said
        yield ""
    if len(found) > 1:
        yield "**Runs of more than one machine or version are mixed on this page.**"
        yield ""


def _machine(session: dict[str, Any]) -> str:
    hardware = session["hardware"]
    versions = ", ".join(f"{name} {text}" for name, text in session["versions"].items())
    memory = f"{hardware['memory_bytes'] / 2**30:.0f} GiB"
    return f"Processor: {_processor(session)}, {memory}; {versions}"


def processor(view: View) -> str:
    """Return the processor of the runs, and the number of its cores."""
    sessions = view.evidence.sessions
    found = {_processor(sessions[run.session]) for run in view.runs if run.session in sessions}
    return "; ".join(sorted(found)) or "processor not known"


def _processor(session: dict[str, Any]) -> str:
    return machine.title_of(session["hardware"])


def seconds(place: str, prefix: str = "") -> str:
    """Return the unit of a place's times; virtual seconds are always labelled as such."""
    return f"virtual {prefix}s" if PLACES[place].world == "virtual" else f"{prefix}s"


def title_of(place: str) -> str:
    """Return a place in words."""
    return PLACES[place].title
