"""What was asked of the methods for unequal workers, and what the results say to it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hooke.comparison.verdict import Verdict, compare

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import claims, dispatching
from benchmarks.unequal.conditions import CONDITIONS, Kind, of_kind, seconds_of
from benchmarks.unequal.entries import ADAPTIVE, ENTRIES, FASTEST, STATIC, entries
from benchmarks.unequal.handing import dispatch
from benchmarks.unequal.runs import Run, best, complete, median, results
from benchmarks.unequal.tasks import TASKS

UTILISATION, LEAST_UTILISATION = 0.9, 0.5
"""Asked of static sizes; and kept by the published lower bounds of adaptive ones, by a reading of a figure."""
ALPHA = 2.0
"""Factor of Adaptive Hogbatch's sizes: its default, which is not searched."""


class Cell(NamedTuple):
    """A task in a condition, with all its results."""

    task: str
    condition: str

    @property
    def title(self) -> str:
        """Return it in words."""
        return f"{self.task}, {CONDITIONS[self.condition].title}"


def found_in(records: Mapping[Run, Record], *kinds: Kind) -> list[Cell]:
    """Return the complete cells of these kinds of conditions."""
    return [Cell(task, each) for each in of_kind(*kinds) for task in TASKS if complete(records, task, each)]


def worked(records: Mapping[Run, Record], cell: Cell, entry: str) -> list[Record]:
    """Return the results of an entry that did not diverge."""
    return [each for each in results(records, *cell, entry) or () if not each["diverged"]]


def by_worker(found: Sequence[Record], name: str) -> list[float]:
    """Return the mean over the seeds, by worker."""
    return [statistics.mean(column) for column in zip(*(each[name] for each in found), strict=True)]


def utilisation(
    records: Mapping[Run, Record], cells: Sequence[Cell], entry: str = STATIC, wanted: float = UTILISATION
) -> str:
    """Return in how many cells every worker of an entry computes for a share of its time."""
    rows = {cell: by_worker(found, "computing") for cell in cells if (found := worked(records, cell, entry))}
    if not rows:
        return "not measured"
    least = min(rows, key=lambda cell: min(rows[cell]))
    held = sum(min(row) >= wanted for row in rows.values())
    return f"{held} of {len(rows)}; least {min(rows[least]):.1%} ({least.title})"


def ratio_of_updates(records: Mapping[Run, Record], cells: Sequence[Cell]) -> str:
    """Return in how many cells the counts of Adaptive Hogbatch's updates differ by at most ALPHA.

    Left out are cells whose chosen bounds do not allow it, because the largest size over the smallest, 1, is below
    the ratio of the speeds.
    """
    rows: dict[Cell, float] = {}
    bounded = []
    for cell in cells:
        number, found = best(records, *cell, ADAPTIVE), worked(records, cell, ADAPTIVE)
        if number is None or not found:
            continue
        counts = by_worker(found, "updates")
        if Run(*cell, ADAPTIVE, number, 0).settings["largest"] < max(CONDITIONS[cell.condition].speeds):
            bounded.append(cell.title)
        else:
            rows[cell] = max(counts) / max(1.0, min(counts))
    if not rows:
        return "not measured"
    most = max(rows, key=lambda cell: rows[cell])
    held = sum(row <= ALPHA for row in rows.values())
    said = f"{held} of {len(rows)}; most {rows[most]:.2f} ({most.title})"
    return said + (f"; the bound of sizes is below the ratio of speeds: {'; '.join(bounded)}" if bounded else "")


def answers(records: Mapping[Run, Record], costs: dispatching.Costs) -> Iterator[str]:
    """Yield the table of what was asked, and what was found in virtual time."""
    pairs = found_in(records, "cpus", "box")
    rows = [
        (
            f"{STATIC}: every worker computes for at least {UTILISATION:.0%} of its time",
            utilisation(records, pairs),
        ),
        (
            f"{ADAPTIVE}: every worker computes for at least {LEAST_UTILISATION:.0%} of its time",
            utilisation(records, pairs, ADAPTIVE, LEAST_UTILISATION),
        ),
        (
            f"{ADAPTIVE}: counts of updates within a factor {ALPHA:g}, where the bounds allow it",
            ratio_of_updates(records, pairs),
        ),
        (
            f"handing out work to {dispatching.WORKERS} workers: below {dispatching.LIMIT:.0%} of a step",
            dispatch(costs),
        ),
        (
            "the best heterogeneous method is faster than the fastest worker alone by what the other one adds",
            _gained(records, pairs),
        ),
    ]
    yield from table(("asked (cells: a task in a condition of two workers)", "found (simulated)"), rows)


class Gain(NamedTuple):
    """The fastest worker alone, the best heterogeneous method, and what the slower workers add."""

    alone: float | None
    method: str
    together: float | None
    limit: float

    @property
    def ratio(self) -> float | None:
        """Return how many times as fast the method is."""
        return self.alone / self.together if self.alone and self.together else None


def gain(records: Mapping[Run, Record], cell: Cell) -> Gain:
    """Return the gain of a cell; `limit`: throughput of all workers over that of the fast one.

    Throughputs are those of the profiles: of the fast worker at the batch that it chose alone, of others at 256.
    """
    where, number = CONDITIONS[cell.condition], best(records, *cell, FASTEST)
    times = {each: median(results(records, *cell, each) or ()) for each in entries(cell.condition)}
    met = {each: s for each, s in times.items() if s is not None and ENTRIES[each].heterogeneous}
    method = min(met, key=lambda each: met[each], default="")
    slower = 1 / max(where.speeds)
    if "devices" in where.virtual and number is not None:
        batch = Run(*cell, FASTEST, number, 0).settings["batch"]
        fast = batch / seconds_of(where.virtual["devices"][0]["kind"], batch)
        slower = sum(256 / seconds_of(each["kind"], 256) for each in where.virtual["devices"][1:]) / fast
    return Gain(times[FASTEST], method, met.get(method), 1 + slower)


def _of_heterogeneous(records: Mapping[Run, Record], cell: Cell) -> dict[str, Verdict]:
    """Return the verdicts on the heterogeneous methods over the fastest worker alone, corrected."""
    names = [each for each in entries(cell.condition) if ENTRIES[each].heterogeneous]
    return claims.over(records, cell, FASTEST, names)


def _gained(records: Mapping[Run, Record], cells: Sequence[Cell]) -> str:
    if not cells:
        return "not measured"
    noisy, found = (
        claims.noise(records),
        [(gain(records, cell), _of_heterogeneous(records, cell)) for cell in cells],
    )
    within = sum(each.limit <= noisy for each, _ in found)
    faster = sum(any(claims.apart(v, noisy) > 0 for v in said.values()) for _, said in found)
    reached = sum(any(v.low is not None and v.low >= each.limit for v in said.values()) for each, said in found)
    point = sum(each.ratio is not None and each.ratio >= each.limit for each, _ in found)
    return (
        f"a method is told apart as faster in {faster} of {len(cells)}; the whole interval is above the limit in "
        f"{reached}; the median of the one that is best by its median is above it in {point}, which claims "
        f"nothing. In {within} the limit is within the factor {noisy:.2f} that the luck of the draw alone makes "
        "([how to read it](#how-to-read-it)): there a method that just reaches it is not told apart"
    )


def gains(records: Mapping[Run, Record], cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the table of gains; ratios with their intervals, corrected claims in bold type."""
    rows, noisy = [], claims.noise(records)
    for cell in cells:
        each, said = gain(records, cell), _of_heterogeneous(records, cell)
        alone, together = (f"{s:.3g}" if s else "-" for s in (each.alone, each.together))
        ratio = claims.marked(said[each.method], noisy) if each.method in said else "-"
        rows.append(
            (
                cell.task,
                CONDITIONS[cell.condition].title,
                alone,
                each.method or "-",
                together,
                ratio,
                f"{each.limit:.2f}",
            )
        )
    header = (
        "task",
        "workers",
        "fastest alone, s",
        "best heterogeneous method",
        "its s",
        "ratio (95%)",
        "throughput of all",
    )
    yield from table(header, rows)


def survival(records: Mapping[Run, Record], kind: Kind) -> Iterator[str]:
    """Yield the seconds of every method on clusters of a kind, and over those on the one with equal speeds."""
    noisy = claims.noise(records)
    equal = next((cell for cell in found_in(records, "spread") if cell.condition == "equal"), None)
    there = found_in(records, kind)
    cells = [equal, *there] if equal and equal not in there else there
    rows = []
    for entry in entries("equal"):
        times = [median(results(records, *cell, entry) or ()) for cell in cells]
        longer = [_longer(records, equal, cell, entry) for cell in cells]
        said = [(f"{s:.3g}" if s else "-") + more for s, more in zip(times, longer, strict=True)]
        rows.append((entry, *said))
    yield from table(("method", *(CONDITIONS[cell.condition].title for cell in cells)), rows)
    yield ""
    for cell in there:
        times_of = {entry: median(results(records, *cell, entry) or ()) for entry in entries("equal")}
        met = {entry: s for entry, s in times_of.items() if s is not None}
        yield f"- {CONDITIONS[cell.condition].title}: {_least(records, cell, met, noisy)}."


def _longer(records: Mapping[Run, Record], equal: Cell | None, cell: Cell, entry: str) -> str:
    """Return how many times as long as with equal speeds a method takes, in brackets."""
    if equal is None or cell == equal:
        return ""
    return f"; {claims.told(compare(claims.times(records, cell, entry), claims.times(records, equal, entry)))}"


def _least(records: Mapping[Run, Record], cell: Cell, times: Mapping[str, float], noisy: float) -> str:
    """Return the entry of the least median, and from which others it is told apart, corrected for all pairs."""
    if len(times) < 2:
        return "fewer than two methods met the target"
    first = min(times, key=lambda entry: times[entry])
    said = claims.of_pairs(records, cell)
    slower = [
        name for name in entries(cell.condition) if name != first and claims.apart(said[first, name], noisy) > 0
    ]
    others = len(entries(cell.condition)) - 1
    listed = f": {', '.join(slower)}" if slower else ""
    return f"{first} has the least median, and is told apart from {len(slower)} of {others} others{listed}"
