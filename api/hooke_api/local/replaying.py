"""`hooke replay-queue`: reading, replaying, table and figure."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooke.cli.text import columns
from hooke.errors import HookeError

from hooke_api.queue import trace as traces
from hooke_api.queue.figures import Distribution, Margin, Outcome, compare
from hooke_api.queue.replay import peak
from hooke_api.queue.synthetic import Shape, synthetic
from hooke_api.queue.trace import Job, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReplayError(HookeError):
    """A replay that is not possible; the message says why."""


@dataclass(frozen=True)
class Source:
    """A trace with the words for it."""

    title: str
    trace: Trace
    slots: int | None
    """Slots that are used if none are given; None: not known."""


def of_file(path: Path, vc: str | None, resource: str) -> Source:
    """Read a trace from a file. Raises ReplayError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            found = traces.read(text, vc, resource)
    except (OSError, ValueError) as error:
        raise ReplayError(f"{path}: {error}") from error
    return Source(path.name if vc is None else f"{path.name}, {vc}", found, peak(found.jobs))


def of_history(text: str, cluster: str) -> Source:
    """Read the history of a cluster, as the API returns it."""
    found = traces.read(io.StringIO(text, newline=""), resource="cpu")
    return Source(f"history of {cluster}", found, max((job.slots for job in found.jobs), default=None))


def of_synthetic(seed: int) -> Source:
    """Return the synthetic trace of a seed."""
    return Source(f"synthetic trace, seed {seed}", synthetic(seed), Shape().slots)


def show(source: Source, slots: int | None, figure: Path | None, as_json: bool) -> None:
    """Replay a trace under every policy and print what comes of it. Raises ReplayError."""
    jobs = source.trace.jobs
    slots = slots or source.slots
    if not jobs:
        raise ReplayError(f"{source.title}: no job with slots and a duration")
    if slots is None:
        raise ReplayError(f"{source.title} does not say when jobs started: give --slots")
    outcomes = compare(jobs, slots)
    if figure is not None:
        draw(figure, source, slots, outcomes)
    if as_json:
        print(json.dumps([_document(each) for each in outcomes], indent=2))
        return
    print(described(source, slots))
    print(columns([HEAD, *(row(each) for each in outcomes)]))


def described(source: Source, slots: int) -> str:
    """Return what was replayed as a line of text."""
    jobs = source.trace.jobs
    wide = sum(job.slots > slots for job in jobs)
    days = (jobs[-1].submitted_at - jobs[0].submitted_at) / 86_400
    said = [
        f"{source.title}: {len(jobs):,} jobs in {days:.1f} days on {slots:,} slots, load {load(jobs, slots):.2f}"
    ]
    if source.trace.skipped:
        said.append(f"{source.trace.skipped:,} rows left out")
    if wide:
        said.append(f"{wide:,} jobs asked for more slots and get {slots:,}")
    if not any(job.priority for job in jobs):
        said.append("no job has a priority")
    return "; ".join(said) + ". Simulated waits."


def load(jobs: tuple[Job, ...], slots: int) -> float:
    """Return the work submitted per second over the slots."""
    work = sum(min(job.slots, slots) * job.seconds for job in jobs)
    return work / slots / max(1.0, jobs[-1].submitted_at - jobs[0].submitted_at)


HEAD = (
    "POLICY", "WAIT MEAN", "MEDIAN", "P90", "P99", "OVER FIRST COME (95%)",
    "SLOWDOWN MEAN", "MEDIAN", "P90", "P99", "OVER FIRST COME (95%)",
)  # fmt: skip


def row(outcome: Outcome) -> tuple[str, ...]:
    """Return one policy as cells of the table."""
    waits, slow = outcome.wait, outcome.slowdown
    return (
        outcome.title,
        *(span(value) for value in _values(waits)),
        ratio(outcome.wait_margin),
        *(f"{value:.3g}" for value in _values(slow)),
        ratio(outcome.slowdown_margin),
    )


def _values(found: Distribution) -> tuple[float, float, float, float]:
    return found.mean, found.median, found.p90, found.p99


def span(seconds: float) -> str:
    """Return a waiting time in one unit."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def ratio(margin: Margin) -> str:
    """Return a ratio with its interval."""
    if margin.low == margin.high == 1:
        return "1"
    return f"{margin.ratio:.3g} ({margin.low:.3g}-{margin.high:.3g})"


def _document(outcome: Outcome) -> dict[str, Any]:
    return {
        "policy": outcome.title,
        "order": outcome.replayed.policy.order.value,
        "durations": outcome.replayed.durations,
        "wait_seconds": asdict(outcome.wait),
        "slowdown": asdict(outcome.slowdown),
        "wait_over_first_come": asdict(outcome.wait_margin),
        "slowdown_over_first_come": asdict(outcome.slowdown_margin),
    }


def draw(path: Path, source: Source, slots: int, outcomes: list[Outcome]) -> None:
    """Write the figure. Raises ReplayError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ReplayError("the figure needs matplotlib: pip install matplotlib") from error
    drawn = Figure(figsize=(8.2, 4.4), layout="constrained")
    axes = drawn.add_subplot()
    axes.set_title(f"{source.title}, {slots} slots: simulated waits", loc="left", fontsize=11)
    plot(axes, outcomes)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path, format="svg", metadata={"Date": None})


def plot(axes: Axes, outcomes: list[Outcome]) -> None:
    """Draw the share of jobs that wait longer than a time, for every policy."""
    for outcome in outcomes:
        waits = sorted(outcome.replayed.waits)
        first = next((i for i, wait in enumerate(waits) if wait >= 1), len(waits) - 1)
        step = max(1, (len(waits) - first) // 400)  # enough for a line: the file stays small
        chosen = [*range(first, len(waits) - 1, step), len(waits) - 1]
        x = [max(waits[i], 1.0) for i in chosen]
        y = [100 * (1 - i / len(waits)) for i in chosen]
        axes.plot(x, y, label=outcome.title, linewidth=1.7)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [("1 s", 1), ("1 min", 60), ("10 min", 600), ("1 h", 3600), ("6 h", 21_600), ("1 d", 86_400)]
    axes.set_xticks([at for _, at in ticks], [told for told, _ in ticks])
    axes.set_xticks([], minor=True)
    axes.set_yticks(
        [100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1], [f"{t:g}" for t in (100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1)]
    )
    axes.set_yticks([], minor=True)
    axes.set_ylim(0.05, 110)
    axes.set_xlabel("waiting time")
    axes.set_ylabel("jobs that wait longer, %")
    axes.grid(visible=True)
    axes.legend(loc="lower left", frameon=False, fontsize=9)
