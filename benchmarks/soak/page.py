"""Writes docs/results/soak.md from the stored records of soaks."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.machine import title_of
from benchmarks.soak import stopping, tried
from benchmarks.soak.counting import KINDS

Record = Mapping[str, Any]
PAGE, DATA, PLANNED, STOPS = "soak.md", "soak", "planned", "stops"
MARK = "<!-- written by `python -m benchmarks.soak publish` -->"
INTRODUCTION = """\
A complete installation (PostgreSQL, Redis, two API processes on one port, one cluster with the launcher `local`,
one with the launcher `hosts` on three emulated hosts, an HTTP proxy between API and clusters that can misbehave)
computes small experiments while faults are drawn by seed. The number of points of every run follows from its
specification: budget / batch steps, and an evaluation at every multiple of its interval, each exactly once. After
the faults everything has 420 s to end. Then is counted: runs in no final state, points that ranks wrote or that
follow from the specification and are missing or stored twice, runs that neither succeeded nor were cancelled by
the soak, processes left, orders left on the broker, runs with two attempts alive at once, experiments that were
promised and are missing or doubled.

A run may have 100 attempts here, its lease is 20 s (default: 40 s), all else is default. Faults without a target
(no rank was alive to be killed) are not counted. Both clusters share one machine, so one computes at a time as
long as both agents report. Not simulated: loss of data by a machine's loss of power (PostgreSQL's `fsync` is off),
several servers, Slurm, PSI/J, ssh. Not in the load: lock-free methods, and checkpoints together with methods that
have a server, where the last row of a rank may be lost ([decision 62](../decisions/0062-soaks.md)). What no soak
draws is planned: an installation of its own for each, with the same counts, in which a known run meets one fault
([decision 122](../decisions/0122-planned-faults.md)). *Every*: mean pause between two faults. A commit with a +
had files that were changed and not yet committed."""


def read(folder: Path) -> list[Record]:
    """Return all stored records, the earliest first."""
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return sorted(found, key=lambda record: record["unix"])


def stored(record: Record) -> Record:
    """Return what of a record goes under version control: all but the time of every fault of a soak."""
    kept = {key: value for key, value in record.items() if key != "log"}
    if "scenario" in record and "log" in record:
        kept["strikes"] = [f"{fault['fault']} ({fault['at']:.0f} s)" for fault in record["log"]]
    return kept


def page(records: Sequence[Record], planned: Sequence[Record] = (), stops: Sequence[Record] = ()) -> str:
    """Return the page of soaks, of planned faults, and of stops, the latest measurement of these."""
    sections = [_soaks(records), tried.section(records, planned), _faults(records), _violations(records)]
    sections += [tried.told(planned)] if planned else []
    sections += [stopping.section(stops[-1])] if stops else []
    return "\n\n".join(["# Nothing lost, nothing stuck", MARK, _summary(records), INTRODUCTION, *sections]) + "\n"


def _summary(records: Sequence[Record]) -> str:
    faults, runs = (sum(sum(record[what].values()) for record in records) for what in ("faults", "runs"))
    latest = records[-1]
    own = f"{sum(latest['faults'].values()):,} faults, {sum(latest['runs'].values()):,} runs"
    wrong = len(latest["violations"])
    last = f"{wrong} violations" if wrong > 1 else f"{wrong or 'no'} violation"
    soaks = f"{len(records)} soaks" if len(records) > 1 else "one soak"
    return f"**{faults:,} faults and {runs:,} runs in {soaks}; the latest one ({own}): {last}.**"


def _soaks(records: Sequence[Record]) -> str:
    names = ("begun (UTC)", "commit", "seed", "minutes", "every, s", "faults", "experiments", "runs", "attempts")
    head = f"| {' | '.join((*names, 'steps stored', 'evaluations', 'settled, s', 'violations'))} |"
    lines = ["## Soaks", "", head, "|---|---" + "|--:" * 11 + "|"]
    for r in records:
        ends = ", ".join(f"{count} {state}" for state, count in sorted(r["runs"].items()))
        cells = [
            time.strftime("%Y-%m-%d %H:%M", time.gmtime(r["unix"])),
            r["commit"][:12],
            r["seed"],
            f"{r['minutes']:g}",
            f"{r['every']:g}",
            f"{sum(r['faults'].values()):,}",
            r["experiments"],
            ends,
            f"{r['attempts']:,}",
            f"{r['steps']:,}",
            f"{r['evaluations']:,}",
            "not" if r["settled"] is None else f"{r['settled']:.0f}",
            len(r["violations"]),
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    machines = sorted({title_of(record["hardware"]) for record in records})
    notes = [f"\nSeed {record['seed']}: {record['note']}" for record in records if "note" in record]
    return "\n".join([*lines, "", f"On {'; '.join(machines)}.", *notes])


def _faults(records: Sequence[Record]) -> str:
    hit: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for record in records:
        hit.update(record["faults"])
        missed.update(record["without_target"])
    lines = ["## Faults", "", "| fault | hit | without a target |", "|---|--:|--:|"]
    lines += [f"| {name} | {hit[name]} | {missed[name]} |" for name in sorted({*hit, *missed})]
    return "\n".join([*lines, f"| all | {hit.total()} | {missed.total()} |"])


def _violations(records: Sequence[Record]) -> str:
    head = "| kind | " + " | ".join(f"{r['seed']}, {r['commit'][:7]}" for r in records) + " |"
    lines = ["## Violations", "", "By soak (seed, commit).", "", head, "|---" + "|--:" * len(records) + "|"]
    for kind in KINDS:
        counts = [sum(v["kind"] == kind for v in record["violations"]) for record in records]
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    told = [_told(record, violation) for record in records for violation in record["violations"]]
    return "\n".join([*lines, *([""] if told else []), *told])


def _told(record: Record, violation: Record) -> str:
    number = f", attempt {violation['attempt']}" if violation["attempt"] else ""
    where = f"{violation['run'] or 'no run'}{number}"
    return f"- seed {record['seed']}: {violation['kind']}, {where}: {violation['text']}"


def publish(measured: Path, results: Path) -> Path:
    """Add the records in a folder to those in version control and write the page of all; return it."""
    folder = results / DATA
    for part in ("", PLANNED, STOPS):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for record in read(measured / part):
            (folder / part / _name(record)).write_text(json.dumps(stored(record), indent=1) + "\n")
    path = results / PAGE
    path.write_text(page(*(read(folder / part) for part in ("", PLANNED, STOPS))))
    return path


def _name(record: Record) -> str:
    """Return the name of a record's file: of planned faults, the latest of each is kept."""
    if "scenario" in record:
        return f"{record['scenario'].replace(' ', '-')}.json"
    begun = time.strftime("%Y%m%d-%H%M%S", time.gmtime(record["unix"]))
    return f"{begun}-seed-{record['seed']}.json" if "seed" in record else f"{begun}.json"
