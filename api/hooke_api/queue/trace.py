"""Job traces in the CSV format of the Helios traces (Hu et al. 2021), and a synthetic one of their shape.

Columns that are read: job_id, user, gpu_num, cpu_num, submit_time, duration (or start_time and end_time); if they
are there, also vc, start_time and priority, which Hooke's own traces have.
"""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

COLUMNS = (
    "job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "start_time", "end_time",
    "duration", "queue", "priority",
)  # fmt: skip
FORMAT = "%Y-%m-%d %H:%M:%S"
FORMATS = (FORMAT, "%Y-%m-%d %H:%M:%S.%f")


class TraceError(ValueError):
    """A trace that cannot be read; the message says where and why."""


@dataclass(frozen=True)
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


def read(text: Iterable[str], vc: str | None = None, resource: str = "auto") -> Trace:
    """Read a trace; `vc` takes the jobs of one virtual cluster only.

    `resource` is the column that counts slots: `gpu` (jobs without GPUs are left out), `cpu`, or `auto`: GPUs
    where the trace has any job with one. Raises TraceError.
    """
    reader = csv.DictReader(text)
    names = set(reader.fieldnames or ())
    timed = "duration" in names or names >= {"start_time", "end_time"}
    if not (timed and names >= {"job_id", "user", "submit_time"} and names & {"gpu_num", "cpu_num"}):
        raise TraceError(
            f"not a job trace: the first line has the columns {', '.join(sorted(names)) or 'none'}; needed are "
            "job_id, user, submit_time, gpu_num or cpu_num, and duration or start_time and end_time"
        )
    rows = list(reader)
    wanted = [row for row in rows if vc is None or row.get("vc") == vc]
    if vc is not None and not wanted:
        known = sorted({row.get("vc") or "" for row in rows} - {""})
        raise TraceError(f"no job of the virtual cluster {vc!r}; the trace has: {', '.join(known) or 'none'}")
    column = _column(wanted, resource)
    found = []
    for line, row in enumerate(rows, 2):
        if vc is None or row.get("vc") == vc:
            job = _job(row, column, line)
            if job is not None:
                found.append(job)
    found.sort(key=lambda job: (job.submitted_at, job.id))
    return Trace(tuple(found), len(rows) - len(found))


def _column(rows: Iterable[dict[str, str]], resource: str) -> str:
    if resource != "auto":
        return f"{resource}_num"
    return "gpu_num" if any((row.get("gpu_num") or "0").strip() not in ("", "0") for row in rows) else "cpu_num"


def _job(row: dict[str, str], column: str, line: int) -> Job | None:
    try:
        slots = int(float(row.get(column) or 0))
        start, end = _moment(row.get("start_time")), _moment(row.get("end_time"))
        submitted = _moment(row["submit_time"])
        told = (row.get("duration") or "").strip()
        seconds = float(told) if told else (end - start if start is not None and end is not None else 0.0)
        priority = int(row.get("priority") or 0)
    except ValueError as error:
        raise TraceError(f"line {line}: {error}") from error
    if slots <= 0 or seconds <= 0 or submitted is None or not math.isfinite(seconds):
        return None
    return Job(row["job_id"], row["user"], slots, submitted, seconds, priority, start)


def _moment(text: str | None) -> float | None:
    text = (text or "").strip()
    if not text or text.lower() in ("none", "nan", "unknown"):
        return None
    for form in FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise ValueError(f"{text!r} is not a time such as 2020-06-09 18:41:01")


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
    return datetime.fromtimestamp(at, UTC).strftime(FORMATS[1])


@dataclass(frozen=True)
class Shape:
    """The shape of a synthetic trace: what Hu et al. describe of the Helios traces, with invented numbers.

    Most jobs need one GPU and end within minutes, few of them take most of the GPU time; the durations of one
    user's jobs resemble each other; few users submit most jobs; submissions follow the time of day.
    """

    jobs: int = 20_000
    users: int = 60
    slots: int = 64
    load: float = 0.85
    """Mean share of the slots that is busy."""
    median_seconds: float = 180.0
    user_spread: float = 1.6
    """Standard deviation of log durations between the recurring tasks of users."""
    spread: float = 1.4
    """Standard deviation of log durations among the jobs of one task."""
    longest_seconds: float = 7 * 86_400.0


SIZES = ((1, 0.62), (2, 0.12), (4, 0.10), (8, 0.13), (16, 0.03))
"""Slots of a job, and how frequent they are."""
TASKS = 3
"""Recurring tasks of one user."""


def synthetic(seed: int, shape: Shape | None = None) -> Trace:
    """Return a simulated trace with heavy-tailed durations; the same seed gives the same trace."""
    shape = shape or Shape()
    draw = random.Random(seed)  # noqa: S311 - a simulation
    start = datetime(2020, 6, 1, tzinfo=UTC).timestamp()
    tasks = [[(draw.gauss(0, shape.user_spread), _size(draw)) for _ in range(TASKS)] for _ in range(shape.users)]
    weights = [1 / (rank + 1) for rank in range(shape.users)]
    drawn = []
    for _ in range(shape.jobs):
        user = draw.choices(range(shape.users), weights)[0]
        middle, slots = draw.choice(tasks[user])
        larger = 0.25 * math.log(slots)  # larger jobs are longer
        seconds = shape.median_seconds * math.exp(middle + larger + draw.gauss(0, shape.spread))
        drawn.append((user, slots, min(max(seconds, 1.0), shape.longest_seconds), draw.choice((0, 0, 0, 0, 5))))
    work = sum(slots * seconds for _, slots, seconds, _ in drawn)
    period = work / (shape.slots * shape.load)
    times = sorted(_by_day(draw, period) for _ in drawn)
    jobs = [
        Job(str(number), f"u{user:02d}", slots, start + at, round(seconds, 3), priority)
        for number, (at, (user, slots, seconds, priority)) in enumerate(zip(times, drawn, strict=True), 1)
    ]
    return Trace(tuple(jobs), 0)


def _size(draw: random.Random) -> int:
    return draw.choices([size for size, _ in SIZES], [share for _, share in SIZES])[0]


def _by_day(draw: random.Random, period: float) -> float:
    """Return a time of submission: by day twice as likely as by night."""
    while True:
        at = draw.random() * period
        if draw.random() < 0.75 + 0.25 * math.sin(2 * math.pi * at / 86_400):
            return at
