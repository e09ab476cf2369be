"""The work of each worker of a run, and of each kind, as tables: a line for each."""

from __future__ import annotations

from collections.abc import Iterator

from hooke_api.base.tables import csv_lines
from hooke_api.metrics.schemas import KindView, WorkersAnswer, WorkerView

SHARES = ("computing", "throughput", "share_of_steps", "updates", "share_of_updates", "staleness")
OF_WORKERS = ("worker", "kind", "steps", "speed", *SHARES)
OF_KINDS = ("kind", "workers", *SHARES)
CALLED = {"throughput": "samples_per_s"}
"""Columns that are called otherwise than the fields of an answer, as in the other tables."""


def csv_of(run_id: str, found: WorkersAnswer, by_kind: bool) -> Iterator[str]:
    """Yield the table of the workers, or of their kinds."""
    columns = OF_KINDS if by_kind else OF_WORKERS
    rows: list[WorkerView] | list[KindView] = found.kinds if by_kind else found.workers
    yield csv_lines([("run", *(CALLED.get(name, name) for name in columns))])
    yield csv_lines([(run_id, *(getattr(row, name) for name in columns)) for row in rows])
