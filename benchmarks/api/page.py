"""Writes docs/results/api.md from the stored records."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.api.figures import met
from benchmarks.api.remarks import REMARKS
from benchmarks.evidence.machine import title_of

Record = Mapping[str, Any]
PAGE, DATA = "api.md", "api"
BUSY = 0.5
"""Cores that others use from which on times say little."""
MARK = "<!-- written by `python -m benchmarks.api publish` -->"
INTRODUCTION = """\
One API process as `hooke up` starts it, with its private Redis and its default limits, on a new home folder and an
empty database; requests are HTTP with bearer tokens, those of attempts for ingest. The load comes from the same
machine, and shares its cores. Only the rows of the scenario *Lists* are stored directly. A point is one value of
one metric at one step: of a step of training eleven (loss, phases, bytes, messages); its coordinates are not
counted. *First look*: the first request for the data after a start of the API, which has nothing of them in its
memory; the file of the database may be in the system's cache. Medians of the rounds, in parentheses the least and
the largest. *Others*: cores that processes of others used meanwhile."""


def read(folder: Path) -> list[Record]:
    """Return all stored records, the earliest first."""
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return sorted(found, key=lambda record: record["unix"])


def name_of(record: Record) -> str:
    """Return the name of a record's file, without its ending."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(record["unix"]))


def page(records: Sequence[Record]) -> str:
    """Return the page: of every database, the latest measurement of each scenario."""
    databases = list(dict.fromkeys(record["database"] for record in records))
    sections = ["\n\n".join(_database(records, name)) for name in databases]
    return (
        "\n\n".join(["# The API under load", MARK, _summary(records), INTRODUCTION, *sections, _sessions(records)])
        + "\n"
    )


def latest(records: Sequence[Record], database: str) -> dict[str, Record]:
    """Return scenario -> the latest record with it, in the order of their first measurement.

    Of full size where there is one.
    """
    found: dict[str, Record] = {}
    for record in sorted((r for r in records if r["database"] == database), key=lambda r: (r["scale"], r["unix"])):
        for name in record["scenarios"]:
            found[name] = record
    return found


def _summary(records: Sequence[Record]) -> str:
    told = []
    for database in dict.fromkeys(record["database"] for record in records):
        of = latest(records, database).items()
        figures = [(f, record["scale"]) for name, record in of for f in record["scenarios"][name]["figures"]]
        judged = [(well, scale) for figure, scale in figures if (well := met(figure)) is not None]
        smaller = sum(scale < 1 for _, scale in judged)
        said = f" ({smaller} of them judged at a smaller scale)" if smaller else ""
        told.append(f"{sum(well for well, _ in judged)} of {len(judged)} goals met with {database}{said}")
    others = max(scenario["others"] for record in records for scenario in record["scenarios"].values())
    busy = f" Measured on a busy machine: others used up to {others:.1f} cores." if others > BUSY else ""
    return f"**{'; '.join(told)}.**{busy}"


def _database(records: Sequence[Record], database: str) -> list[str]:
    parts = [f"## {database}"]
    for name, record in latest(records, database).items():
        scenario = record["scenarios"][name]
        lines = [
            f"### {scenario['title']}",
            "",
            "| what | median (least to largest) | goal | |",
            "|---|--:|--:|---|",
        ]
        lines += [_row(figure) for figure in scenario["figures"]]
        size = "" if record["scale"] == 1 else f" Scale {record['scale']:g}."
        begun = time.strftime("%Y-%m-%d %H:%M", time.gmtime(record["unix"]))
        lines += [
            "",
            f"Session of {begun} UTC, {scenario['seconds']:.0f} s; others: {scenario['others']:.2f} cores.{size}",
        ]
        if remark := REMARKS.get((name_of(record), name)):
            lines += ["", *textwrap.wrap(remark, 115, break_long_words=False, break_on_hyphens=False)]
        parts.append("\n".join(lines))
    return parts


def _row(figure: Mapping[str, Any]) -> str:
    low, high = min(figure["values"]), max(figure["values"])
    spread = f" ({_number(low)} to {_number(high)})" if len(figure["values"]) > 1 else ""
    goal, verdict = "", ""
    if (well := met(figure)) is not None:
        goal = f"{'≥' if figure['higher'] else '≤'} {_number(figure['goal'])}"
        verdict = "met" if well else "**missed**"
    return f"| {figure['name']} | {_number(figure['median'])}{spread} {figure['unit']} | {goal} | {verdict} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"


def _sessions(records: Sequence[Record]) -> str:
    lines = [
        "## Sessions",
        "",
        "| begun (UTC) | commit | database | scale | rounds | load before, after | MLflow |",
    ]
    lines.append("|---|---|---|--:|--:|--:|---|")
    for r in records:
        cells = [
            time.strftime("%Y-%m-%d %H:%M", time.gmtime(r["unix"])),
            r["commit"],
            r["database"],
            f"{r['scale']:g}",
            r["rounds"],
            f"{r['load_before']:.1f}, {r['load_after']:.1f}",
            r["mlflow"] or "not measured",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    machines = "; ".join(sorted({title_of(record["hardware"]) for record in records}))
    speeds = [r[name] for r in records for name in ("speed_before_ms", "speed_after_ms")]
    told = f"A fixed piece of work took {min(speeds):.1f} to {max(speeds):.1f} ms before and after these sessions."
    peer = "" if any(r["mlflow"] for r in records) else " MLflow was not measured: no Python with it was given."
    return "\n".join([*lines, "", f"On {machines}. {told}{peer}"])


def publish(measured: Sequence[Record], results: Path) -> Path:
    """Add records to those in version control and write the page of all; return it."""
    folder = results / DATA
    folder.mkdir(exist_ok=True)
    for record in measured:
        (folder / f"{name_of(record)}.json").write_text(json.dumps(record, indent=1) + "\n")
    path = results / PAGE
    path.write_text(page(read(folder)))
    return path
