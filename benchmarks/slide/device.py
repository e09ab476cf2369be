"""Output layers on a GPU beside the same layers on the cores of its machine: rates, and times to equal precision.

One process measures cells one after the other, the most important first, until its seconds are over; nothing else
may run meanwhile. A cell is a network, its optimizer and a device (`learner`). Every result is a line of JSON at
once. Settings of runs to a precision are those that `compare` has chosen: by the samples and the seconds of two
cores, which is said with them. `--gpu cpu` takes the cores in the place of a GPU, to try it without one.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hooke.objective.bags import Bags, Csr
from hooke.objective.planted import Planted
from hooke.readers import xmlc

from benchmarks.evidence import machine
from benchmarks.evidence.store import ROOT, commit
from benchmarks.slide.conditions import ACTIVE, BATCH, LAYERS, PROBLEMS, REAL, SIZES
from benchmarks.slide.cores import scaling
from benchmarks.slide.learner import Held, Learner, Parts, Where, curve, rate, until
from benchmarks.slide.plan import BY_SAMPLES, OTHER_BATCHES, PARTS, Cell, Curve, Rate, Scale, Train, plan
from benchmarks.slide.publishing import DATA, ON_DEVICE, RUNS, read
from benchmarks.slide.region import MAPPED, WIDTH, features

LR = 0.1
"""Learning rate of rates, as in the map."""
NEEDED = {Rate: 3.0, Train: 12.0, Curve: 30.0, Scale: 8.0}
"""Seconds that must be left for a cell to begin."""


@dataclass
class Bench:
    """What cells share: data, weights of the latest size, and where results go."""

    gpu: str
    threads: int
    seconds: float
    out: Path
    records: Path | None
    common: Mapping[str, Any]
    began: float = field(default_factory=time.monotonic)
    _held: tuple[int, Parts] | None = None
    _initial: tuple[tuple[int, int], torch.Tensor] | None = None

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return self.seconds - (time.monotonic() - self.began)

    def tell(self, found: Mapping[str, Any]) -> None:
        """Append a result to the file, and print it."""
        line = json.dumps({**found, "after": round(time.monotonic() - self.began, 1), **self.common})
        with self.out.open("a") as file:
            file.write(f"{line}\n")
        told = {name: value for name, value in found.items() if value is not None}
        print(" ".join(f"{name}={value}" for name, value in told.items()), flush=True)

    def where(self, cell: Rate | Train | Curve) -> Where:
        """Return the device of a cell."""
        return Where(self.gpu if cell.place == "gpu" else "cpu", self.threads, cell.precision)

    def network(self, cell: Rate | Train | Curve, workload: Held, lr: float, seed: int) -> Learner:
        """Return a network with its optimizer, at the weights of its seed."""
        objective = workload.on(self.parts(cell), self.where(cell).place(seed))
        if self._initial is None or self._initial[0] != (cell.labels, seed):
            self._initial = (cell.labels, seed), objective.initial(seed).float().cpu()
        initial = self._initial[1]
        given = initial.bfloat16() if workload.weights == "bf16" else initial
        return Learner(objective, lr, cell.batch, seed, given)

    def parts(self, cell: Rate | Train | Curve) -> Parts:
        """Return the data of a cell; those of the latest one are kept."""
        if self._held is None or self._held[0] != cell.labels:
            self.forget()
            self._held = (
                cell.labels,
                real(self.records) if cell.labels == PROBLEMS[REAL].labels else planted(cell.labels),
            )
        return self._held[1]

    def forget(self) -> None:
        """Let data and weights go."""
        self._held = self._initial = None
        gc.collect()


def planted(labels: int) -> Parts:
    """Return a planted problem of the map."""
    return Planted(labels, features(labels), 4 * max(OTHER_BATCHES)).parts()


def real(folder: Path | None) -> Parts:
    """Return the real records: of a folder with arrays as the reader's cache has them, else of HOOKE_DATA."""
    train = _arrays(folder) if folder else xmlc.parts(REAL)[0]
    return train, train.take(np.arange(64))


def _arrays(folder: Path) -> Bags:
    names = ("feature_starts", "feature_ids", "feature_values", "label_starts", "label_ids")
    starts, ids, values, label_starts, labels = (np.load(folder / f"{name}.npy") for name in names)
    counts = json.loads((folder / "bags.json").read_text())
    return Bags(Csr(starts, ids, values), Csr(label_starts, labels), counts["features"], counts["labels"])


def measure(bench: Bench, cells: Iterator[Cell]) -> None:
    """Carry out the cells for which there is time; one that fails is told and left."""
    measured: dict[type, Callable[[Bench, Any], None]]
    measured = {Rate: _rate, Train: _train, Curve: _curve, Scale: _scale}
    for cell in cells:
        if bench.left < NEEDED[type(cell)] or (cell.place == "gpu" and bench.gpu == "none"):
            continue
        try:
            measured[type(cell)](bench, cell)
        except Exception as error:  # noqa: BLE001 - of a device without memory, or an operation that it lacks
            bench.tell({"kind": "failed", **vars(cell), "why": f"{type(error).__name__}: {str(error)[:400]}"})
        gc.collect()
        if bench.gpu == "cuda":
            torch.cuda.empty_cache()


def _rate(bench: Bench, cell: Rate) -> None:
    if cell.real:
        learner = bench.network(cell, on_records(cell.layer, cell.batch, hashed(cell)), LR, 0)
        bench.tell({"kind": "rate", **vars(cell), **rate(learner, cell.seconds)})
        return
    given = sized(MAPPED[cell.layer], cell.batch)
    size = {"labels": cell.labels, "features": features(cell.labels), "hidden": WIDTH, "validation_items": 32}
    workload = Held.model_validate({**size, "weights": cell.weights, **given})
    learner = bench.network(cell, workload, LR, 0)
    bench.tell({"kind": "rate", **vars(cell), **rate(learner, cell.seconds)})


def _train(bench: Bench, cell: Train) -> None:
    problem, most = PROBLEMS[REAL], SIZES["first"].samples
    setting = dict(chosen(cell.layer))
    lr = cell.lr or setting["lr"]
    without = ["lr", *["active"] * (cell.batch > BATCH)]  # of which a set has six times as many labels
    own = hashed(cell) or {name: value for name, value in setting.items() if name not in without}
    workload = on_records(cell.layer, cell.batch, own)
    bench.network(cell, workload, lr, cell.seed + 100).seconds(3)  # warms up, with other weights
    gc.collect()
    learner = bench.network(cell, workload, lr, cell.seed)
    found = until(learner, problem.target, problem.every, most, min(cell.limit, bench.left - 2))
    bench.tell({"kind": "train", **vars(cell), "lr": lr, "target": problem.target, **found})


def _curve(bench: Bench, cell: Curve) -> None:
    workload = on_records(cell.layer, cell.batch, hashed(cell))
    bench.network(cell, workload, cell.lr, cell.seed + 100).seconds(3)  # warms up
    gc.collect()
    learner = bench.network(cell, workload, cell.lr, cell.seed)
    points = curve(learner, cell.samples, cell.every, min(cell.limit, bench.left / 2))  # evaluations are beside it
    bench.tell({"kind": "curve", **vars(cell), "points": points})


def on_records(layer: str, batch: int, own: Mapping[str, Any]) -> Held:
    """Return the workload on the real records with a layer and settings of its own."""
    given = sized(LAYERS[layer].given, batch)
    return Held.model_validate({**PROBLEMS[REAL].parameters, "hidden": WIDTH, **given, **own})


def sized(given: Mapping[str, Any], batch: int) -> dict[str, Any]:
    """Return the settings of a layer with an active set that holds the labels of the batch, too, as in the map."""
    larger = {"active": max(ACTIVE, 6 * batch)} if "active" in given and batch > BATCH else {}
    return {**given, **larger}


def hashed(cell: Rate | Train | Curve) -> dict[str, Any]:
    """Return the hash tables that a cell names, as parameters of the workload."""
    return dict(zip(("hash_family", "hashes", "tables", "uniform_share"), cell.hashed or (), strict=False))


def _scale(bench: Bench, cell: Scale) -> None:
    bench.forget()
    for found in scaling(cell.labels, cell.batch, bench.threads, cell.seconds):
        bench.tell({"kind": "threads", **vars(cell), **found})
        if bench.left < 1:
            break


def chosen(layer: str) -> Mapping[str, Any]:
    """Return rate and settings of the workload that `compare` has found for a layer on the real records."""
    given = LAYERS[layer].given
    for record in read(ROOT / "docs" / "results" / DATA / RUNS):
        if (record["problem"], record["layer"]) == (REAL, layer) and record["rung"] is None:
            settings = record["document"]["workload_settings"]
            own = {name: value for name, value in settings.items() if given.get(name) != value}
            return {"lr": record["setting"]["lr"], **own}
    raise ValueError(f"no published run of {layer} on {REAL}: its setting is not known")


def wanted(cell: Cell, layers: Sequence[str] | None) -> bool:
    """Return whether a cell is of one of these layers; without any all are."""
    return not layers or (not isinstance(cell, Scale) and cell.layer in layers)


def machine_of(gpu: str, threads: int, said: str | None) -> dict[str, Any]:
    """Return what identifies the machine and the code, for every record."""
    found = {"hardware": machine.hardware(), "threads_of_cores": threads, "commit": said or commit()}
    versions = {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__}
    if gpu != "cuda":
        return found | {"card": None, "versions": versions}
    about = torch.cuda.get_device_properties(0)
    return found | {
        "card": about.name,
        "card_bytes": about.total_memory,
        "versions": versions | {"cuda": torch.version.cuda},
    }


def main(arguments: list[str]) -> None:
    """Measure with the options of a command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.slide device", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=180.0, help="begin nothing after so many seconds")
    parser.add_argument("--gpu", choices=("cuda", "cpu", "none"), default="cuda")
    parser.add_argument("--threads", type=int, default=machine.hardware()["cores"], help="of the cores")
    parser.add_argument(
        "--parts",
        default=",".join(PARTS),
        help=f"what is measured (default: %(default)s); {BY_SAMPLES}: curves of the cores by samples",
    )
    parser.add_argument("--layers", nargs="+", choices=list(MAPPED), help="of these alone (default: all)")
    parser.add_argument("--largest", type=int, default=670_091, help="labels of the largest problem")
    results = ROOT / ".results" / "slide" / ON_DEVICE
    parser.add_argument("--out", type=Path, default=results / f"{time.time():.0f}.jsonl")
    parser.add_argument("--records", type=Path, help="folder with the arrays of the real training part")
    parser.add_argument("--commit", help="of the code, where there is no git")
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    common = machine_of(options.gpu, options.threads, options.commit)
    bench = Bench(options.gpu, options.threads, options.seconds, options.out, options.records, common)
    cells = plan(options.largest, tuple(options.parts.split(",")))
    measure(bench, (cell for cell in cells if wanted(cell, options.layers)))
    print(f"{time.monotonic() - bench.began:.0f} s; results in {options.out}")
