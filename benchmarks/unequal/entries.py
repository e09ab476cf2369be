"""Methods and baselines of the comparison, the draw of their trials, and the documents of their runs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.unequal.conditions import CONDITIONS, OF_MANY, RANGE, Condition, Kind
from benchmarks.unequal.tasks import TASKS

LEAST_RATE, MOST_RATE = RANGE
"""Of a step, where batches differ of one with the largest batch: every method's trials cover this range."""
MISFIT = 1.1
"""How much longer than with a perfect split a step of a static split may take."""
PAIR = 2
"""Workers for which is drawn what lies between two exchanges."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Draw:
    """What a trial is drawn from: the rate, and random numbers for everything else."""

    rate: float
    random: random.Random
    where: Condition
    turn: int = 0
    """Beside a real device: the place of the trial in an order of the batches, each of which has its turn."""

    def pick(self, *options: Any) -> Any:
        """Return one of several; takes one random number, however many there are."""
        return options[int(self.random.random() * len(options))]

    def batch(self) -> int:
        """Return the batch of a worker."""
        drawn = self.pick(*self.where.batches)
        return int(drawn if self.where.rates is None else self.where.batches[self.turn])

    def small(self) -> int:
        """Return the batch of which a method with sizes of its own takes several."""
        drawn = self.pick(*self.where.batches[:2])
        return self.between(drawn if self.where.rates is None else self.where.batches[self.turn % 2])

    def between(self, drawn: int, least: int = 1) -> int:
        """Return a length between two exchanges of a worker, drawn for a pair, for the CPUs that there are.

        All together then take as many samples in it as a pair, but for rounding and the least length. Devices have
        that of a pair: a smaller batch would cost them their overhead more often.
        """
        workers = self.where.workers if self.where.kind in OF_MANY else PAIR
        return max(least, round(PAIR * drawn / workers))


@dataclass(frozen=True)
class Entry:
    """A method, or a baseline, as it is compared."""

    algorithm: str
    draw: Callable[[Draw], Settings]
    alone: Literal["", "fastest", "slowest"] = ""
    """The worker that it runs on by itself; empty: on all."""
    kinds: tuple[Kind, ...] = ("cpus", "box", "devices", "real", "gpu")
    """Of the conditions in which it is compared."""
    process: bool = False
    """Whether the CPU beside a real device is one process, not threads without locks."""
    heterogeneous: bool = False
    """Whether it adapts the work to unequal workers."""


def _plain(d: Draw) -> Settings:
    return {"batch": d.batch(), "lr": d.rate}


def split(speeds: Sequence[float]) -> list[int]:
    """Return batches by speed, one at least, with a whole mean, as few as fit the speeds within MISFIT."""
    workers, ideal = len(speeds), 1 / sum(speeds)
    for total in itertools.count(workers, workers):
        shares = [total * speed * ideal for speed in speeds]
        sizes = [max(1, int(share)) for share in shares]
        for i in sorted(range(workers), key=lambda i: sizes[i] - shares[i])[: max(0, total - sum(sizes))]:
            sizes[i] += 1
        longest = max(size / speed for size, speed in zip(sizes, speeds, strict=True))
        if sum(sizes) == total and longest <= MISFIT * total * ideal:
            return sizes
    raise AssertionError


def _weighted(d: Draw) -> Settings:
    if d.where.rates is not None:  # the speed of a device depends on its batch: the workers measure it themselves
        return {"batch": d.small(), "split": "measured", "mean": d.pick(4, 8, 16), "lr": d.rate}
    sizes = split(d.where.speeds)
    return {"batch": max(1, round(d.batch() * d.where.workers / sum(sizes))), "sizes": sizes, "lr": d.rate}


def _local(d: Draw) -> Settings:
    return _plain(d) | {"period": d.between(d.pick(2, 4, 16), least=2)}


def _elastic(d: Draw) -> Settings:
    found = _plain(d) | {"beta": round(10 ** d.random.uniform(-0.7, 0.1), 3)}
    periods = (1, 4, 16) if d.where.rates is None else (4, 16, 64)  # a device has hardly begun after one step
    return found | {"period": d.between(d.pick(*periods))}


def _largest(d: Draw) -> Settings:
    """Return a largest size, and the rate of one batch with which an update by so many has the drawn one."""
    largest = d.pick(4, 8, 16) if d.where.rates is None else d.pick(8, 16, 32)
    return {"batch": d.small(), "lr": round(d.rate / largest, 5), "largest": largest}


def _adaptive(d: Draw) -> Settings:
    """Return sizes that follow the speeds.

    A real device begins with the largest and keeps a quarter of it: as each thread's updates count, it would else
    come down to one batch, which takes it as long.
    """
    found = _largest(d)
    if d.where.rates is None:
        return found
    largest, ones = found["largest"], [1] * (d.where.workers - 1)
    return found | {"sizes": [largest, *ones], "smallest_of": [max(1, largest // 4), *ones]}


def _static(d: Draw) -> Settings:
    """Return large batches on the workers that are faster than the slowest, single ones on this."""
    found = _largest(d)
    fast = min(d.where.speeds) < max(d.where.speeds)
    sizes = [found["largest"] if fast and speed > 1 else 1 for speed in d.where.speeds]
    return found | {"alpha": 1.0, "sizes": sizes}


def _merging(d: Draw) -> Settings:
    """Return several of the largest size for every worker between two merges: with one each it is synchronous."""
    found = _largest(d)
    between = found["largest"] * d.where.workers * d.pick(2, 4)
    return found | {"mega_batch": between, "center_momentum": d.pick(0.0, 0.5, 0.9)}


SIMULATED: tuple[Kind, ...] = ("cpus", "box", "devices", *OF_MANY)
ALL: tuple[Kind, ...] = (*SIMULATED, "real", "gpu")
SYNC, STATIC, ADAPTIVE = "Sync SGD", "CPU+GPU Hogbatch", "Adaptive Hogbatch"
FASTEST, SLOWEST = "SGD, fastest worker alone", "SGD, slowest worker alone"
SPLIT, MERGING = "Weighted Sync SGD, by speed", "Adaptive SGD"
PROCESS, CPUS = f"{ADAPTIVE}, the CPU one process", "Sync SGD, CPU processes alone"
OF_THREADS, OF_PROCESSES = (SLOWEST, PROCESS), (CPUS,)
"""Entries beside a real device for one kind of CPU workers."""
ENTRIES = {
    SYNC: Entry("sync-sgd", _plain, kinds=ALL),
    SPLIT: Entry("weighted-sync-sgd", _weighted, kinds=ALL),
    FASTEST: Entry("sgd", _plain, alone="fastest"),
    SLOWEST: Entry("sgd", _plain, alone="slowest", kinds=("box", "gpu")),
    "Local SGD": Entry("local-sgd", _local, kinds=OF_MANY),
    "Sync EASGD": Entry("sync-easgd", _elastic, kinds=OF_MANY),
    "Async SGD": Entry("async-sgd", _plain, kinds=(*SIMULATED, "real")),
    "Async EASGD": Entry("async-easgd", _elastic, kinds=OF_MANY),
    "Heterogeneous EASGD": Entry("heterogeneous-easgd", _elastic, kinds=ALL, heterogeneous=True),
    STATIC: Entry("hogbatch", _static, heterogeneous=True),
    ADAPTIVE: Entry("hogbatch", _adaptive, kinds=ALL, heterogeneous=True),
    MERGING: Entry("adaptive-sgd", _merging, kinds=ALL, heterogeneous=True),
    PROCESS: Entry("hogbatch", _adaptive, kinds=("gpu",), heterogeneous=True, process=True),
    CPUS: Entry("sync-sgd", _plain, alone="slowest", kinds=("gpu",)),
}
"""All are compared with the first, the synchronous step of the slowest. The slowest of two CPUs alone takes the
time of the fastest, times their ratio: it is not run."""


FIXED: dict[str, Settings] = {"adaptive-sgd": {"at_once": 0.0}}
"""Parameters that no entry draws, as they were when records were made: each update is asked for."""


def entries(condition: str) -> list[str]:
    """Return those that are compared in a condition."""
    where = CONDITIONS[condition]
    others = () if where.rates is None else OF_THREADS if where.timing.plain else OF_PROCESSES
    return [name for name, entry in ENTRIES.items() if where.kind in entry.kinds and name not in others]


def trial(entry: str, condition: str, number: int) -> Settings:
    """Return `batch` and the parameters of a trial.

    The range of rates, on a logarithmic scale, is cut into as many parts as there are trials, each of which has
    one rate: every entry tries small and large ones. Rates and random numbers are the same in every condition of
    as many methods.
    """
    where = CONDITIONS[condition]
    parts, drawn = list(range(where.trials)), _drawn_as(entry, condition)
    random.Random(drawn).shuffle(parts)
    r = random.Random(f"{drawn} {number}")
    least, most = where.learning_rates
    rate = least * (most / least) ** ((parts[number] + r.random()) / where.trials)
    turns = list(range(len(where.batches)))
    random.Random(f"{drawn} batches").shuffle(turns)
    return ENTRIES[entry].draw(Draw(round(rate, 4), r, where, turns[number % len(turns)]))


def _drawn_as(entry: str, condition: str) -> str:
    """Return whose random numbers an entry has: where several methods have one elastic space, all have the same.

    With so few trials the luck of the draw would decide between them.
    """
    if ENTRIES[entry].process:
        return ADAPTIVE
    several = sum(ENTRIES[each].draw is _elastic for each in entries(condition)) > 1
    return "elastic" if several and ENTRIES[entry].draw is _elastic else entry


def document(task: str, condition: str, entry: str, settings: Settings, seed: int) -> dict[str, Any]:
    """Return the specification of a run."""
    what, where, how = TASKS[task], CONDITIONS[condition], ENTRIES[entry]
    parameters = FIXED.get(how.algorithm, {}) | {name: v for name, v in settings.items() if name != "batch"}
    cluster = where.together
    if how.alone:
        pick = max if how.alone == "fastest" else min
        cluster = where.alone(where.speeds.index(pick(where.speeds)))
    budget: dict[str, Any] = {"samples": what.samples}
    every, plain = what.every, where.rates is not None and where.timing.plain
    if where.rates is not None:  # in seconds: speeds differ too much for a budget of samples
        timing = where.timing
        cpus = where.workers - 1 if plain else 0
        rate = where.rates.together(task, how.algorithm, how.alone, settings, cpus)
        every = max(settings["batch"] * where.workers, round(timing.between * rate))
        most = 4 * every * math.ceil(timing.wall / timing.between)  # the rate is a guess: time is to end the run
        budget = {"samples": most, "max_seconds": timing.wall}
        if how.process:
            device, cpu = cluster["groups"]
            cluster = cluster | {"groups": [device, {"kind": "cpu", "threads": cpu["threads"]}]}
    described = sum(each.get("count", 1) for each in cluster.get("groups", ()))
    workers = described or (1 if how.alone else where.workers)
    return {
        "schema": "hooke.run/1",
        "workload": dict(what.workload),
        "algorithm": {"name": how.algorithm, "parameters": parameters},
        "communication": {"collective": "halving" if plain else "tree"},  # tables without a device: tree
        "batch": settings["batch"],
        "sharding": "dispatched",
        "workers": workers,
        "seed": seed,
        "world": "mpi" if where.kind in ("real", "gpu") else "virtual",
        **cluster,
        "budget": budget,
        "target": {"metric": what.metric, "value": what.value},
        "evaluation": {"every": every},
        "checkpoint": "never",
    }
