"""Writes docs/results/dashboard.md from the stored records."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.api.figures import met
from benchmarks.dashboard.live import ENDED, EVALUATIONS, GOING, PACE, POINTS
from benchmarks.dashboard.live import VIEW as live_view
from benchmarks.evidence.machine import title_of
from benchmarks.evidence.store import write

Record = Mapping[str, Any]
Figure = Mapping[str, Any]
PAGE, DATA = "dashboard.md", "dashboard"
MARK = "<!-- written by `python -m benchmarks.dashboard publish` -->"
ABOUT = """\
Lines are means of the seeds, with bands; in *20 charts, each seed* every run has a line, too. Times to open are
medians, in parentheses the least and the largest; the rest is of one measurement. The first look after a start is
that of an API that has nothing in memory. *After all of this*: after what the rows below tell.
The clock of frames may lose half a frame per second, so that 59.5 meets the goal of 60."""

LIVE = f"""\
*{live_view}*: a page over another API. All bytes that the browser gets are counted, compressed as they travel.
{ENDED} of 18 runs have ended, {GOING} go on with {PACE} steps and {PACE * EVALUATIONS / POINTS:g} evaluations a
second each."""


def read(folder: Path) -> list[Record]:
    """Return all stored records, the earliest first."""
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return sorted(found, key=lambda record: record["unix"])


def page(records: Sequence[Record]) -> str:
    """Return the page of the latest record. Raises ValueError if there is none."""
    if not records:
        raise ValueError("there is no record of the dashboard: measure first, by make bench-dashboard")
    record = records[-1]
    live = [LIVE] if any(figure["scenario"] == live_view for figure in record["figures"]) else []
    parts = ["# A page of many charts", MARK, _summary(record), _conditions(record), _table(record), ABOUT, *live]
    return "\n\n".join([*parts, *_earlier(records[:-1])]) + "\n"


def publish(measured: Sequence[Record], results: Path) -> Path:
    """Add records to those in version control and write the page of the latest; return it."""
    for record in measured:
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(record['unix']))}.json"
        write(results / DATA / name, record)
    path = results / PAGE
    path.write_text(page(read(results / DATA)))
    return path


def _summary(record: Record) -> str:
    judged = [figure for figure in record["figures"] if met(figure) is not None]
    missed: dict[str, list[Figure]] = {}
    for figure in judged:
        if not met(figure):
            missed.setdefault(figure["name"], []).append(figure)
    well = len(judged) - sum(map(len, missed.values()))
    told = [
        f"{name} ({_goal(found[0])}): " + ", ".join(f"{_value(each)} in *{each['scenario']}*" for each in found)
        for name, found in missed.items()
    ]
    rest = f" Missed: {'; '.join(told)}." if told else ""
    return f"**{well} of {len(judged)} goals are met.{rest}**"


def _conditions(record: Record) -> str:
    return (
        f"`make bench-dashboard` of commit {record['commit']} ({_when(record)} UTC; "
        f"{title_of(record['hardware'])};\nload average {record['load_before']:.1f} before it, "
        f"{record['load_after']:.1f} after it): "
        f"{record['runs']} runs x {record['points']:,} steps, with {record['evaluations']:,} evaluations\n"
        f"of 20 metrics each, one run of which goes on; Chromium {record['chromium'].partition('.')[0]} "
        f"without a window and a GPU, 1440 x 900; {record['rounds']} measurements of the times to open."
        + (f"\n{record['corrected']}" if record.get("corrected") else "")
    )


def _table(record: Record) -> str:
    views = list(dict.fromkeys(figure["scenario"] for figure in record["figures"]))
    rows: dict[str, dict[str, Figure]] = {}
    for figure in record["figures"]:
        rows.setdefault(figure["name"], {})[figure["scenario"]] = figure
    lines = [f"| | {' | '.join(views)} | goal |", f"|---|{'--:|' * len(views)}---|"]
    for name, row in rows.items():
        cells = [_cell(row.get(view)) for view in views]
        lines.append(f"| {name} | {' | '.join(cells)} | {_judged(list(row.values()))} |")
    return "\n".join(lines)


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    told = _value(figure)
    low, high = min(figure["values"]), max(figure["values"])
    spread = f" ({_number(figure, low)} to {_number(figure, high)})" if len(figure["values"]) > 1 else ""
    return (f"**{told}**" if met(figure) is False else told) + spread


def _judged(row: Sequence[Figure]) -> str:
    if row[0]["goal"] is None:
        return ""
    return _goal(row[0]) + (", **missed**" if any(met(figure) is False for figure in row) else "")


def _goal(figure: Figure) -> str:
    if figure["goal"] == 0:
        return "0"
    return f"{'≥' if figure['higher'] else '≤'} {_value(figure | {'median': figure['goal']})}"


def _value(figure: Figure) -> str:
    seconds = figure["unit"] == "ms" and _in_seconds(figure)
    unit = "s" if seconds else figure["unit"]
    return f"{_number(figure, figure['median'])} {unit}".rstrip()


def _in_seconds(figure: Figure) -> bool:
    return figure["unit"] == "ms" and (figure["goal"] or 0) >= 1000


def _number(figure: Figure, value: float) -> str:
    """Return three figures, and one decimal of frames per second: it decides whether a goal is met."""
    if _in_seconds(figure):
        return f"{value / 1000:.2f}"
    if figure["unit"] == "frames/s":
        return f"{value:.1f}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"


def _earlier(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    lines = ["## Earlier", "", "| measured (UTC) | commit | evaluations | goals met |", "|---|---|--:|--:|"]
    for record in reversed(records):
        judged = [well for figure in record["figures"] if (well := met(figure)) is not None]
        told = f"{sum(judged)} of {len(judged)}"
        lines.append(f"| {_when(record)} | {record['commit']} | {record['evaluations']:,} | {told} |")
    return ["\n".join(lines)]


def _when(record: Record) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(record["unix"]))
