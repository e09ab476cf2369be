"""A simulated device, and the CPU beside it, with the same trials: does the CPU pay if nothing else differs?

In the comparison of all methods every entry has a draw of its own, whose luck is larger than what a CPU can add.
Here a trial is a batch and a rate of the device's updates, the same for all entries.

    python -m benchmarks.unequal beside [--tasks digits] [--conditions k80] [--minutes 20]
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import Verdict, compare, compare_all

from benchmarks.common.records import Record, add, read
from benchmarks.common.rounds import carry_out
from benchmarks.evidence.wording import table
from benchmarks.unequal import claims, runs
from benchmarks.unequal.conditions import CONDITIONS, RANGE, TUNING_SEED, seconds_of
from benchmarks.unequal.entries import FASTEST, SLOWEST, STATIC, Settings, document
from benchmarks.unequal.runs import BEHIND, SHORT, Run, Todo, median, score

BATCHES, THIRDS = (32, 64, 128, 256), 3
"""Batches of the device, each of which is tried with a rate in each third of their range."""
TRIALS, SEEDS = len(BATCHES) * THIRDS, (1, 2, 3, 4, 5)
RATIO = 4
"""Of the device's batch to the CPU's."""
EVERY = {"digits": 200, "w8a": 400, "a9a": 400}
"""Samples between two evaluations, by task."""
BOXES = ("k80", "v100", "h100")
ALONE, CPU = "SGD, the device alone", "SGD, the CPU alone"
SIZE, ROOT = "Hogbatch, rates by size", "Hogbatch, rates by the square root"
EXPONENTS = {SIZE: 1.0, ROOT: 0.5}
"""Of the batches of an update in its rate."""
TABLE = "[table](#the-same-trials-for-the-device-alone-and-with-the-cpu-simulated)"
HOW = {ALONE: FASTEST, CPU: SLOWEST, SIZE: STATIC, ROOT: STATIC}
"""By name: whose algorithm and workers an entry has."""


def about(tasks: Iterable[str]) -> str:
    """Return what is compared, and how."""
    every = ", ".join(f"{EVERY[task]} samples ({task})" for task in tasks)
    return f"""\
Above every entry has draws of its own, and their luck is larger than what the CPU adds. Here all entries have the
same {TRIALS} trials: each batch of the device ({", ".join(map(str, BATCHES))}) with a rate of its updates in each
third of {RANGE[0]:g} to {RANGE[1]:g}. The CPU has 1 / {RATIO} of the batch; alone the drawn rate, and beside the
device 1 / {RATIO} of it (*rates by size*: Hogbatch as published) or 1 / {RATIO**0.5:g} (*by the square root*:
`rate_exponent: 0.5`). The best trial of each is run with {len(SEEDS)} seeds; evaluated every {every}.
*x*: over the device alone, by [the rule of verdict](../decisions/0020-one-rule-of-verdict.md) alone, corrected for
two entries, in bold type if it tells them apart. *Limit*: throughput of both over that of the device, at the
batches that each chose alone. *Sum*: what the ratio would be if progress added up, 1 and the seconds of the device
alone over those of the CPU alone ([model](../decisions/0158-what-a-slower-worker-can-add.md)).
"""


@dataclass(frozen=True)
class Beside(Run):
    """A trial, or a result."""

    @property
    def settings(self) -> Settings:
        """Return the batch of the run and the parameters."""
        batch, rate = drawn(self.trial)
        if self.entry not in EXPONENTS:
            return {"batch": batch if self.entry == ALONE else batch // RATIO, "lr": rate}
        exponent = EXPONENTS[self.entry]
        sizes = {"sizes": [RATIO, 1], "largest": RATIO, "alpha": 1.0, "rate_exponent": exponent}
        return {"batch": batch // RATIO, "lr": round(rate / RATIO**exponent, 6)} | sizes

    @property
    def document(self) -> dict[str, Any]:
        """Return its specification."""
        made = document(self.task, self.condition, HOW[self.entry], self.settings, self.seed)
        return made | {"evaluation": {"every": EVERY[self.task]}}


Cell = tuple[str, str]
"""Task and condition."""
Records = Mapping[Run, Record]


def drawn(number: int) -> tuple[int, float]:
    """Return batch and rate of the device of a trial: every batch has a part of each third of the rates."""
    third, at = divmod(number, len(BATCHES))
    parts = list(range(third * len(BATCHES), (third + 1) * len(BATCHES)))
    random.Random(f"beside {third}").shuffle(parts)
    least, most = RANGE
    part = parts[at] + random.Random(f"beside rate {number}").random()
    return BATCHES[at], round(least * (most / least) ** (part / TRIALS), 4)


def run_of(record: Record) -> Run:
    """Return the run that a record describes."""
    return Beside(*(record[name] for name in ("task", "condition", "entry", "trial", "seed")))


def is_drawn(record: Record) -> bool:
    """Return whether a record has the settings that its trial has now."""
    return bool(record["settings"] == run_of(record).settings)


def known(path: Path) -> dict[Run, Record]:
    """Return the records in a file that count."""
    return read(path, run_of, is_drawn)


def cells(tasks: Sequence[str] = tuple(EVERY), conditions: Sequence[str] = BOXES) -> list[Cell]:
    """Return the cells, task by task."""
    return [(task, each) for task in EVERY for each in BOXES if task in tasks and each in conditions]


def best(records: Records, cell: Cell, entry: str) -> int | None:
    """Return the number of the best trial; None as long as one is missing."""
    trials = [Beside(*cell, entry, number, TUNING_SEED) for number in range(TRIALS)]
    if any(each not in records for each in trials):
        return None
    return min(trials, key=lambda each: score(records[each])).trial


def results(records: Records, cell: Cell, entry: str) -> list[Record] | None:
    """Return the results of the best trial, by seed; None as long as one is missing."""
    number = best(records, cell, entry)
    wanted = [] if number is None else [Beside(*cell, entry, number, seed) for seed in SEEDS]
    return [records[each] for each in wanted] if wanted and all(each in records for each in wanted) else None


def following(records: Records, todo: Sequence[Cell]) -> Todo | None:
    """Return what is to be run next; None: nothing. A trial is ended once it is behind the best of its entry."""
    for cell in todo:
        for entry in HOW:
            number = best(records, cell, entry)
            trials = [Beside(*cell, entry, each, TUNING_SEED) for each in range(TRIALS)]
            if number is None:
                met = [s for each in trials if each in records and (s := records[each]["seconds"]) is not None]
                limit = BEHIND * min(met) + SHORT if met else None
                return next((each, limit) for each in trials if each not in records)
            for seed in SEEDS:
                if (each := Beside(*cell, entry, number, seed)) not in records:
                    return each, None
    return None


def carried_out(todo: Todo) -> dict[str, Any]:
    """Carry out a run; return its record, with the evaluations of its curve that tell when it met the target."""
    record = runs.carried_out(todo)
    record.pop("curve_samples", None)
    return record | ({"curve": told(record["curve"], record["seconds"])} if "curve" in record else {})


def told(curve: Sequence[Sequence[float]], met: float | None) -> list[Sequence[float]]:
    """Return the last evaluation before the target was met, and those that follow; the last one without it."""
    before = sum(clock < claims.ROUNDED * met for clock, _ in curve) if met is not None else len(curve)
    return list(curve[max(0, before - 1) :])


def run(path: Path, todo: Sequence[Cell], minutes: float) -> None:
    """Carry out what is missing, for at most `minutes`."""
    records = known(path)

    def keep(done: Todo, record: dict[str, Any]) -> None:
        records[done[0]] = record
        add(path, record)
        met = record["seconds"] if not record["diverged"] else "diverged"
        print(*(record[each] for each in ("task", "condition", "entry", "trial", "seed")), met, flush=True)

    def next_ones(busy: Sequence[Todo], room: int) -> list[Todo]:
        del busy, room
        found = following(records, todo)
        return [] if found is None else [found]

    carry_out(next_ones, carried_out, keep, minutes)


def complete(records: Records) -> list[Cell]:
    """Return the cells with all results, of tasks of which all cells have them."""
    done = {cell for cell in cells() if all(results(records, cell, entry) for entry in HOW)}
    return [cell for cell in cells() if all((cell[0], each) in done for each in BOXES)]


def times(records: Records, cell: Cell, entry: str) -> dict[int, Crossing]:
    """Return the times of an entry's results, by seed."""
    return {each["seed"]: claims.crossing(each) for each in results(records, cell, entry) or ()}


def limit(records: Records, cell: Cell) -> float:
    """Return the throughput of both over the device's, each at the batch that it chose alone."""
    device, cpu = CONDITIONS[cell[1]].virtual["devices"]
    rates = []
    for entry, kind in ((ALONE, device["kind"]), (CPU, cpu["kind"])):
        number = best(records, cell, entry)
        batch = Beside(*cell, entry, number or 0, TUNING_SEED).settings["batch"]
        rates.append(batch / seconds_of(kind, batch))
    return 1 + rates[1] / rates[0]


def verdicts(records: Records, cell: Cell) -> dict[str, Verdict]:
    """Return the verdicts on both workers over the device alone, corrected."""
    of = {entry: times(records, cell, entry) for entry in HOW}
    return compare_all(of[ALONE], {each: of[each] for each in EXPONENTS})


def answer(records: Records) -> Iterator[str]:
    """Yield in how many cells both workers are faster, as part of a list; nothing without a complete task."""
    if not (found := complete(records)):
        return
    said = {cell: verdicts(records, cell).values() for cell in found}
    ahead = [cell for cell in found if any(claims.WAYS.get(each.claim, 0) > 0 for each in said[cell])]
    behind = sum(all(claims.WAYS.get(each.claim, 0) < 0 for each in said[cell]) for cell in found)
    limits = {cell: limit(records, cell) for cell in found}
    reached = sum(any((each.ratio or 0) >= limits[cell] for each in said[cell]) for cell in ahead)
    boxes = "; ".join(dict.fromkeys(CONDITIONS[condition].title for _, condition in ahead))
    yield (
        f"  Simulated, with the same trials for the device alone and for both ({TABLE}): Hogbatch is faster in "
        f"{len(ahead)} of {len(found)} cells{f' ({boxes})' if boxes else ''}, slower in {behind}; by its mean "
        f"ratio at what the CPU adds or above in {reached}."
    )


def section(records: Records) -> Iterator[str]:
    """Yield the part of the page; nothing without a complete task."""
    if not (found := complete(records)):
        return
    said = {cell: verdicts(records, cell) for cell in found}
    limits = {cell: limit(records, cell) for cell in found}
    tasks = list(dict.fromkeys(task for task, _ in found))
    yield from ("", "### The same trials for the device alone and with the CPU (simulated)", "", about(tasks))
    for entry in EXPONENTS:
        ways = [claims.WAYS.get(said[cell][entry].claim, 0) for cell in found]
        ratios = [(said[cell][entry], limits[cell]) for cell in found]
        bounded = [(each, most) for each, most in ratios if each.low is not None and each.high is not None]
        reached = sum(each.ratio is not None and each.ratio >= most for each, most in bounded)
        shown = sum(each.low is not None and each.low >= most for each, most in ratios)
        yield f"- {entry}: faster than the device alone in {ways.count(1)} of {len(found)} cells, slower in"
        yield f"  {ways.count(-1)}; by the mean ratio at the limit or above in {reached}, by the whole interval in"
        yield f"  {shown}."
    ahead = [cell for cell in found if _seconds(records, cell, CPU) < _seconds(records, cell, ALONE)]
    faster = sum(_over_cpu(records, cell).claim in ("faster", "at least") for cell in ahead)
    if ahead:
        yield f"- The CPU alone has a smaller median than the device alone in {len(ahead)}; {ROOT} is"
        yield f"  faster than the CPU alone there in {faster}."
    yield ""
    header = ("task", "workers", "device alone, s", "CPU alone, s", *EXPONENTS, "limit", "sum")
    yield from table(header, [_row(records, cell, said[cell], limits[cell]) for cell in found])


def _seconds(records: Records, cell: Cell, entry: str) -> float:
    return median(results(records, cell, entry) or ()) or float("inf")


def _over_cpu(records: Records, cell: Cell) -> Verdict:
    return compare(times(records, cell, CPU), times(records, cell, ROOT))


def _row(records: Records, cell: Cell, said: Mapping[str, Verdict], most: float) -> tuple[str, ...]:
    device, cpu = (_seconds(records, cell, each) for each in (ALONE, CPU))
    ratios = [f"{claims.marked(said[each], 1.0)}; {_seconds(records, cell, each):.3g} s" for each in EXPONENTS]
    alone = [f"{each:.3g} ({_chosen(records, cell, name)})" for name, each in ((ALONE, device), (CPU, cpu))]
    return (cell[0], CONDITIONS[cell[1]].title, *alone, *ratios, f"{most:.2f}", f"{1 + device / cpu:.2f}")


def _chosen(records: Records, cell: Cell, entry: str) -> str:
    settings = Beside(*cell, entry, best(records, cell, entry) or 0, TUNING_SEED).settings
    return f"batch {settings['batch']}, rate {settings['lr']:.2g}"
