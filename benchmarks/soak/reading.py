"""Reads the facts that are counted: rows of the database, journals on the disks of the clusters, Redis."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hooke.cluster.broker import queue
from hooke.errors import JournalError
from hooke.spec.events import Done, Evaluation, Start, Steps
from hooke.spec.journal import parse, read_new, unpack
from hooke_api.storage import blocks

from benchmarks.soak.counting import Journal, Key, Records, RunFacts
from benchmarks.soak.installation import Installation


def read_runs(site: Installation, cancelled: Collection[str]) -> list[RunFacts]:
    """Return all runs with what is stored and what ranks wrote. `cancelled`: those that the soak cancelled."""
    stored = _stored(site)
    whys = dict(
        site.query("SELECT DISTINCT ON (run_id) run_id, why FROM transitions ORDER BY run_id, id DESC"),
    )
    rows = site.query(
        "SELECT id, state, attempt, workers, servers, spec::text, host, extract(epoch FROM created_at), "
        "extract(epoch FROM finished_at) FROM runs ORDER BY id"
    )
    return [
        RunFacts(
            id=run,
            state=state,
            attempt=attempt,
            workers=workers,
            servers=servers,
            spec=json.loads(spec),
            cancelled=run in cancelled,
            why=whys.get(run, ""),
            created=float(created),
            finished=None if finished is None else float(finished),
            stored=stored.get(run, {}),
            journals=journals(site.homes[host] / "runs" / run),
        )
        for run, state, attempt, workers, servers, spec, host, created, finished in rows
    ]


def _stored(site: Installation) -> dict[str, dict[Key, Records]]:
    steps: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    scores: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for run, attempt, rank, n, header, data in site.query(
        "SELECT run_id, attempt, rank, n, header, data FROM chunks ORDER BY id"
    ):
        steps[run, attempt, rank] += blocks.read(n, header, data, ["step"])["step"].tolist()
    for run, attempt, rank, samples in site.query("SELECT run_id, attempt, rank, samples FROM evaluations"):
        scores[run, attempt, rank].append(samples)
    found: dict[str, dict[Key, Records]] = defaultdict(dict)
    for run, attempt, rank in {*steps, *scores}:
        key = (run, attempt, rank)
        found[run][attempt, rank] = Records(tuple(steps.get(key, ())), tuple(scores.get(key, ())))
    return found


def journals(folder: Path) -> dict[Key, Journal]:
    """Return what the ranks of every attempt of a run wrote, from its folder on the cluster."""
    found = {}
    for path in folder.glob("*/journal.*.jsonl"):
        found[int(path.parent.name), int(path.name.split(".")[1])] = _journal(path)
    return found


def _journal(path: Path) -> Journal:
    steps: list[int] = []
    evaluations: list[int] = []
    start: Start | None = None
    stopped: int | None = None
    for line in read_new(path, 0)[0]:
        try:
            record: Any = parse(line)
        except JournalError:  # a damaged line ends what can be read
            break
        if isinstance(record, Steps):
            steps += map(int, unpack("step", record.columns["step"]))
        elif isinstance(record, Evaluation):
            evaluations.append(record.samples)
        elif isinstance(record, Start):
            start = record
        elif isinstance(record, Done) and record.reason == "cancelled":
            stopped = record.samples
    return Journal(
        steps=tuple(steps),
        evaluations=tuple(evaluations),
        restored=(start.restored_step or 0) if start else 0,
        began=start.unix if start else None,
        written=path.stat().st_mtime,
        stopped=stopped,
    )


def orders_left(site: Installation) -> dict[str, int]:
    """Return queue, or set of unacknowledged messages -> number of orders in Redis."""
    with site.broker() as client:
        found = {queue(name): int(client.llen(queue(name))) for name in site.homes}  # type: ignore[arg-type]
        return found | {"unacked": int(client.hlen("unacked"))}  # type: ignore[arg-type]


def attempts_by_cause(site: Installation) -> dict[str, int]:
    """Return cause of an attempt's end -> number of further attempts that followed it."""
    rows = site.query(
        "SELECT coalesce(cause, 'none'), count(*) FROM transitions WHERE state = 'queued' AND source IS NOT NULL "
        "GROUP BY 1"
    )
    return {str(cause): int(count) for cause, count in rows}
