"""Samples per second of output layers by the number of threads: `python -m benchmarks.slide threads`.

The product's layers and steps on one machine, without the loop around them (`learner`). A network is made once for
a layer and a batch, and takes steps with the most threads, one, and the numbers between. Every rate is a line of
JSON at once, so that a call that is cut has those before. Nothing else may run meanwhile.

`GOMP_SPINCOUNT=0` before the command lets the threads of PyTorch sleep where they wait; records and page say so.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from hooke.hashing.threads import Threads
from hooke.objective.slide import Rebuilt
from hooke.objective.wide import WideObjective

from benchmarks.evidence import machine
from benchmarks.evidence.store import ROOT, commit
from benchmarks.slide.conditions import BATCH, FULL
from benchmarks.slide.cores import counts
from benchmarks.slide.device import LR, planted, sized
from benchmarks.slide.learner import Held, Learner, Where, rate
from benchmarks.slide.plan import DWTA, FIRST, ITEMS
from benchmarks.slide.region import MAPPED, WIDTH, features
from benchmarks.slide.scaling_page import SPIN

LAYERS = (DWTA, FULL, ITEMS, "sampled, uniform")
BATCHES = (BATCH, 1024)
SECONDS = 0.4
"""Of a rate."""
NEEDED = 4.0
"""Seconds that must be left for a network to be made."""
LARGE = 1 << 28
"""Outputs of a step that few threads do not compute: such a step takes many seconds."""
FEW = 4
"""Threads with which such steps are computed, at least."""


@dataclass(frozen=True)
class Cell:
    """A layer and a batch, with all numbers of threads."""

    layer: str
    batch: int

    def threads(self, most: int, labels: int) -> list[int]:
        """Return the numbers of threads: the most, one, and those between from the largest on."""
        found = counts(most)
        if self.layer == FULL and labels * self.batch > LARGE:
            return [count for count in reversed(found) if count >= min(FEW, most)]
        return list(dict.fromkeys([found[-1], found[0], *reversed(found)]))


def cells() -> Iterator[Cell]:
    """Yield what is measured, the most important first."""
    for batch in BATCHES:
        yield from (Cell(layer, batch) for layer in LAYERS)


def run(
    out: Path, labels: int, threads: int, seconds: float, said: str | None = None, only: Sequence[str] = LAYERS
) -> int:
    """Measure cells until `seconds` are over; append each rate to a file, and return their number."""
    until, done = time.monotonic() + seconds, 0
    parts = planted(labels)
    common = {
        "labels": labels,
        "hardware": machine.hardware(),
        "commit": said or commit(),
        "unix": round(time.time()),
    }
    common |= {"versions": {"torch": torch.__version__.partition("+")[0]}}
    if SPIN in os.environ:
        common[SPIN] = os.environ[SPIN]
    initial: torch.Tensor | None = None
    for cell in cells():
        if cell.layer not in only:
            continue
        if time.monotonic() > until - NEEDED:
            break
        size = {"labels": labels, "features": features(labels), "hidden": WIDTH, "validation_items": 32}
        workload = Held.model_validate({**size, **sized(MAPPED[cell.layer], cell.batch)})
        objective = workload.on(parts, Where("cpu", threads).place())
        initial = objective.initial(0) if initial is None else initial
        learner = Learner(objective, LR, cell.batch, 0, initial)
        for count in cell.threads(threads, labels):
            if time.monotonic() > until:
                break
            use(objective, count)
            found = {"layer": cell.layer, "batch": cell.batch, "threads": count, **rate(learner, SECONDS)}
            with out.open("a") as file:
                file.write(f"{json.dumps({**found, **common})}\n")
            print(
                f"{cell.layer}, batch {cell.batch}, {count} threads: {found['samples_per_second']:,.0f}",
                flush=True,
            )
            done += 1
        del objective, learner
    return done


def use(objective: WideObjective, count: int) -> None:
    """Compute with so many threads from now on."""
    torch.set_num_threads(count)
    threads = Threads(count)
    if hasattr(objective, "_threads"):
        objective._threads = threads  # noqa: SLF001 - of an objective with sets of items
    if isinstance(objective.layer, Rebuilt):
        objective.layer.threads = threads


def main(arguments: list[str]) -> None:
    """Measure with the options of a command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.slide threads", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="begin nothing after so many seconds")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="the most")
    parser.add_argument("--largest", type=int, default=FIRST, help="labels (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / ".results" / "slide" / "threads" / f"{time.time():.0f}.jsonl"
    )
    parser.add_argument("--layers", choices=LAYERS, nargs="+", default=LAYERS)
    parser.add_argument("--commit", help="of the code, where there is no git")
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = run(options.out, options.largest, options.threads, options.seconds, options.commit, options.layers)
    print(f"{done} rates in {options.out}")
