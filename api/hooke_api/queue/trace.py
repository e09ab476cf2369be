"""Job traces in the CSV format of the Helios traces (Hu et al. 2021).

Columns that are read: job_id, user, gpu_num, cpu_num, submit_time, duration (or start_time and end_time); if they
are there, also vc, start_time and priority, which Hooke's own traces have.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

COLUMNS = (
    "job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "start_time", "end_time",
    "duration", "queue", "priority",
)  # fmt: skip
FORMAT = "%Y-%m-%d %H:%M:%S.%f"
MISSING = frozenset({"", "none", "nan", "nat", "null", "unknown"})
"""Values of a cell that say nothing, in lower case."""


class TraceError(ValueError):
    """A trace that cannot be read; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a trace. Times are seconds since 1970, in the trace's own time zone."""

    id: str
    user: str
    slots: int
    submitted_at: float
    seconds: float
    """Its duration."""
    priority: int = 0
    started_at: float | None = None
    """When it started in reality; None: not said."""


@dataclass(frozen=True)
class Trace:
    """The jobs of a trace by time of submission, and what was left out."""

    jobs: tuple[Job, ...]
    skipped: int
    """Rows without slots, without a duration, or of another virtual cluster."""


class _Row(NamedTuple):
    """What is kept of a row: a long trace must fit in memory."""

    gpus: int
    cpus: int
    id: str
    user: str
    submitted_at: float
    seconds: float
    priority: int
    started_at: float | None


def read(text: Iterable[str], vc: str | None = None, resource: str = "auto") -> Trace:
    """Read a trace; `vc` takes the jobs of one virtual cluster only.

    `resource` is the column that counts slots: `gpu` (jobs without GPUs are left out), `cpu`, or `auto`: GPUs
    where the trace has any job with one. A part of a slot counts as one. Raises TraceError.
    """
    reader = csv.reader(text)
    try:
        names = [name.strip().removeprefix("\ufeff") for name in next(reader, [])]
        _check_columns(set(names))
        rows, count = _rows(reader, names, vc)
    except csv.Error as error:
        raise TraceError(f"line {reader.line_num}: {error}") from error
    by_gpu = resource == "gpu" or (resource == "auto" and any(row.gpus > 0 for row in rows))
    found = [
        Job(row.id, row.user, slots, row.submitted_at, row.seconds, row.priority, row.started_at)
        for row in rows
        if (slots := row.gpus if by_gpu else row.cpus) > 0
    ]
    found.sort(key=lambda job: (job.submitted_at, job.id))
    return Trace(tuple(found), count - len(found))


def _check_columns(names: set[str]) -> None:
    timed = "duration" in names or names >= {"start_time", "end_time"}
    if not (timed and names >= {"job_id", "user", "submit_time"} and names & {"gpu_num", "cpu_num"}):
        raise TraceError(
            f"not a job trace: the first line has the columns {', '.join(sorted(names)) or 'none'}; needed are "
            "job_id, user, submit_time, gpu_num or cpu_num, and duration or start_time and end_time"
        )


def _rows(reader: Any, names: list[str], vc: str | None) -> tuple[list[_Row], int]:
    """Return the jobs with a duration, and the number of all rows."""
    places = {name: place for place, name in enumerate(names)}
    users: dict[str, str] = {}
    found, others, count = list[_Row](), set[str](), 0
    for cells in reader:
        count += bool(cells)
        cell = functools.partial(_cell, places, cells)
        if not cells or (vc is not None and cell("vc") != vc):
            others.add(cell("vc"))
            continue
        try:
            row = _row(cell, users)
        except (ValueError, OverflowError) as error:
            raise TraceError(f"line {reader.line_num}: {error}") from error
        if row is not None:
            found.append(row)
    if vc is not None and count and not found:
        known = ", ".join(sorted(others - {""})) or "none"
        raise TraceError(f"no job of the virtual cluster {vc!r}; the trace has: {known}")
    return found, count


def _cell(places: dict[str, int], cells: list[str], name: str) -> str:
    """Return a cell by its column; empty where the row is too short or there is no such column."""
    place = places.get(name, len(cells))
    return cells[place].strip() if place < len(cells) else ""


def _row(cell: Callable[[str], str], users: dict[str, str]) -> _Row | None:
    start, end = _moment(cell("start_time")), _moment(cell("end_time"))
    submitted = _moment(cell("submit_time"))
    told = _number(cell("duration"))
    seconds = told if told is not None else (end - start if start is not None and end is not None else 0.0)
    gpus, cpus = (math.ceil(_number(cell(name)) or 0.0) for name in ("gpu_num", "cpu_num"))
    priority = int(_number(cell("priority")) or 0)
    if submitted is None or not 0 < seconds < math.inf:
        return None
    user = cell("user")
    return _Row(gpus, cpus, cell("job_id"), users.setdefault(user, user), submitted, seconds, priority, start)


def _number(text: str) -> float | None:
    return None if text.lower() in MISSING else float(text)


def _moment(text: str) -> float | None:
    if text.lower() in MISSING:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time such as 2020-06-09 18:41:01") from None
    return (at.replace(tzinfo=UTC) if at.tzinfo is None else at).timestamp()


def written(jobs: Iterable[Job]) -> str:
    """Return jobs as text in this format, with the column `priority`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for job in jobs:
        start = job.submitted_at if job.started_at is None else job.started_at
        writer.writerow(
            [
                job.id, job.user, "vc", 0, job.slots, 1, "COMPLETED", _told(job.submitted_at), _told(start),
                _told(start + job.seconds), f"{job.seconds:.3f}", f"{max(0.0, start - job.submitted_at):.3f}",
                job.priority,
            ]
        )  # fmt: skip
    return out.getvalue()


def _told(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(FORMAT)
