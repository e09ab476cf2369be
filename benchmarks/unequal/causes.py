"""Why workers of Hogbatch compute for less of their time than was asked: what their updates take besides.

From the records, and from the constants of the simulated clusters: an update takes two messages, to the server
and back, and vector arithmetic in every batch of it. What is left of its time is waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hooke.algorithms.hogbatch import Hogbatch
from hooke.spec.devices import PROFILES
from hooke.spec.specification import VirtualCluster

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal.conditions import CONDITIONS
from benchmarks.unequal.entries import ADAPTIVE, STATIC
from benchmarks.unequal.findings import LEAST_UTILISATION, UTILISATION, Cell, worked
from benchmarks.unequal.runs import Run
from benchmarks.unequal.tasks import weights

ASKED = {STATIC: UTILISATION, ADAPTIVE: LEAST_UTILISATION}
BANDWIDTH: float = VirtualCluster.model_fields["memory_bandwidth"].default
ABOUT = f"""\
Of an update of the worker that computes for the least share of its time, in us: *computes*; *messages*: the update
and the center, there and back, by the constants of its link; *vectors*: its additions in each batch of the update,
at {BANDWIDTH / 1e9:g} GB/s, those of devices, too, whose profiles have no memory bandwidth; *waits*: the rest of
its time, for the server, which serves one worker at a time, and for the end. Hogbatch exchanges before and after
each update, and overlaps nothing. Sizes were chosen for the time to the target, not for utilization. Without waits
another worker than the one listed may compute for the least share.
"""


class Update(NamedTuple):
    """What an update of a worker takes; seconds, means over the updates of all seeds."""

    computes: float
    messages: float
    vectors: float
    waits: float

    @property
    def share(self) -> float:
        """Return the share of the time in which the worker computes."""
        return self.computes / sum(self)

    @property
    def most(self) -> float:
        """Return the same without waits."""
        return self.computes / (sum(self) - self.waits)


def updates(cell: Cell, found: Sequence[Record]) -> list[Update]:
    """Return what an update of each worker takes; `found`: the runs of an entry that did not diverge."""
    where, size = CONDITIONS[cell.condition], 4 * weights(cell.task)
    accesses = Hogbatch().vector_accesses(server=False)
    rows = []
    for worker in range(where.workers):
        number = sum(each["updates"][worker] for each in found)
        clock, steps = sum(each["clock"] for each in found), sum(each["steps"][worker] for each in found)
        computes = sum(each["computing"][worker] * each["clock"] for each in found)
        messages = 2 * (where.virtual["latency"] + size * _per_byte(cell.condition, worker))
        vectors = accesses * size * steps / number / BANDWIDTH
        rows.append(Update(computes / number, messages, vectors, (clock - computes) / number - messages - vectors))
    return rows


def _per_byte(condition: str, worker: int) -> float:
    virtual = CONDITIONS[condition].virtual
    own = PROFILES[virtual["devices"][worker]["kind"]].seconds_per_byte if "devices" in virtual else None
    return float(virtual["seconds_per_byte"] if own is None else own)


def missed(records: Mapping[Run, Record], cells: Sequence[Cell], entry: str) -> dict[Cell, list[Update]]:
    """Return the cells in which a worker computes for less than was asked, and what updates take there."""
    found = {cell: updates(cell, runs) for cell in cells if (runs := worked(records, cell, entry))}
    return {cell: rows for cell, rows in found.items() if min(row.share for row in rows) < ASKED[entry]}


def told(records: Mapping[Run, Record], cells: Sequence[Cell]) -> Iterator[str]:
    """Yield what is said of the cells that miss it; nothing without one."""
    of = {entry: missed(records, cells, entry) for entry in ASKED}
    if not any(of.values()):
        return
    yield from ("", "### Why workers compute for less than was asked (simulated)", "", ABOUT)
    for entry, asked in ASKED.items():
        if rows := of[entry]:
            alone = sum(min(row.most for row in each) < asked for each in rows.values())
            rest = "" if alone == len(rows) else "; in the others the waits do the rest"
            yield f"{entry}: in {alone} of {len(rows)} cells messages and vectors alone leave a worker less than"
            yield f"{asked:.0%}{rest}."
            yield ""
    header = (
        "method", "task", "workers", "of", "computes", "messages", "vectors", "waits", "share", "without waits",
    )  # fmt: skip
    yield from table(header, [_row(entry, cell, each) for entry in ASKED for cell, each in of[entry].items()])


def _row(entry: str, cell: Cell, rows: Sequence[Update]) -> tuple[str, ...]:
    worker = min(range(len(rows)), key=lambda i: rows[i].share)
    row, where = rows[worker], CONDITIONS[cell.condition]
    kind = where.virtual["devices"][worker]["kind"] if "devices" in where.virtual else f"CPU {worker}"
    parts = (f"{1e6 * max(0.0, each):,.0f}" for each in row)
    return (entry, cell.task, where.title, str(kind), *parts, f"{row.share:.1%}", f"{row.most:.1%}")
