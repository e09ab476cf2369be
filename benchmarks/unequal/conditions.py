"""Conditions of the comparison on unequal workers: tasks, clusters, and which entries meet on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from hooke.spec.devices import PROFILES

from benchmarks.evidence.store import ROOT
from benchmarks.unequal import derived, planted
from benchmarks.unequal.rates import Rates, read

RATES = ROOT / "docs" / "results" / "heterogeneous" / "rates.json"
"""What was measured of the device of the published results."""
FEW = RATES.with_name("few.jsonl")
"""Its runs with fixed settings."""
TRIALS = 6
"""Settings tried of every entry, in every condition but that with a real device."""
REAL_TRIALS = 4
"""There."""
RANGE, DEEP_RANGE = (0.03, 2.0), (0.03, 1.2)
"""Least and most rate of a step of a trial; the latter of deep perceptrons, which learned with 1.2 in one run."""
TUNING_SEED = 1000
"""Seed of the trials; no result has it."""
SEEDS = (1, 2, 3)
"""Seeds of the results."""
MANY = 8
"""Workers of the clusters whose speeds spread."""
SLOW = 0.25
"""Speed of the slow ones of MANY CPUs whose speeds change."""
CROSSING = 0.08
"""Virtual seconds in which the fast and the slow ones of MANY CPUs become each other."""
TURN, TURNS = 0.02, 30
"""Virtual seconds in which one of MANY CPUs is slow before the next one is, and how often: longer than runs."""
THREADS = 8
"""Of a CPU whose threads share their weights."""
LINK = {"latency": 10e-6, "seconds_per_byte": 0.8e-9}
"""10 Gb/s, where no device has a link of its own."""
COMPUTE = {"compute_seconds_per_sample": 20e-6, "compute_jitter": 0.05}
OF_CPUS = {"compute_seconds_per_step": 50e-6}


Kind = Literal["cpus", "box", "devices", "spread", "changing", "real", "gpu"]
OF_MANY: tuple[Kind, ...] = ("spread", "changing")
"""With MANY CPUs: their speeds spread, or change during a run."""


class Timing(NamedTuple):
    """How runs beside a real device go: what depends on how large network and batches are."""

    wall: float
    """Wall seconds of a run, evaluations included, after which it is ended."""
    between: float
    """About so many seconds of the clock between two of its evaluations."""
    batches: tuple[int, ...]
    """Of a worker."""
    rates: tuple[float, float]
    """Least and most rate of a step of a trial."""
    tasks: tuple[str, ...]
    plain: bool
    """Whether the CPU is several plain workers, one for each core, not one whose threads share its weights."""


TIMINGS = {
    "gpu-small": Timing(3.0, 0.03, (16, 32, 64, 128), RANGE, ("w8a-mid",), True),
    "gpu": Timing(2.5, 0.15, (128, 256, 512, 1024), DEEP_RANGE, ("w8a-deep", planted.NAME), False),
}
"""Conditions with a real device: one with a network and batches at which the CPU's share of the samples per second
is not negligible, then the published networks."""


@dataclass(frozen=True)
class Condition:
    """A cluster: two CPUs, a box with a CPU and a device, one with several devices, many workers whose speeds
    spread or change, two real CPUs, or a real device and the CPU beside it."""

    title: str
    kind: Kind
    virtual: Mapping[str, Any]
    """Constants of the simulated cluster; empty if it is real."""
    speeds: tuple[float, ...]
    """Samples per second of each worker at a batch of 256, relative to the slowest: what a measurement before the
    run yields."""
    only: tuple[str, ...] = ()
    """Tasks, if not all of its kind."""
    rates: Rates | None = None
    """With a real device: what was measured."""
    timing: Timing = TIMINGS["gpu"]
    """With a real device."""

    @property
    def trials(self) -> int:
        """Return the settings tried of every entry."""
        return TRIALS if self.rates is None else REAL_TRIALS

    @property
    def learning_rates(self) -> tuple[float, float]:
        """Return the least and the most rate of a step of a trial."""
        return RANGE if self.rates is None else self.timing.rates

    @property
    def workers(self) -> int:
        """Return P."""
        return len(self.speeds)

    @property
    def batches(self) -> tuple[int, ...]:
        """Return the batches of a worker among which entries choose; a device has an overhead per batch."""
        device = (32, 64, 128, 256)
        own = {"box": device, "devices": device, "gpu": self.timing.batches}
        return (16, 32) if self.kind in OF_MANY else own.get(self.kind, (16, 32, 64))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return what is trained there."""
        those = {
            "spread": ("digits",),
            "changing": ("digits",),
            "real": ("a9a-wide", "w8a-wide"),
            "box": ("digits", "w8a", "a9a", derived.NAME, "w8a-6x512"),
            "devices": ("digits", "w8a"),
            "gpu": self.timing.tasks,
        }
        return self.only or those.get(self.kind, ("digits", "w8a", "a9a"))

    def alone(self, worker: int) -> dict[str, Any]:
        """Return what a document has of the cluster of one of its workers."""
        if self.rates is not None:
            return _of_device(self, *([0] if worker == 0 else range(1, self.workers)))
        if self.kind == "real":
            return {"groups": [group_of(self.speeds[worker] / max(self.speeds))]}
        virtual = dict(self.virtual)
        if "devices" in virtual:
            virtual["devices"] = [virtual["devices"][worker]]
        if "speeds" in virtual:
            virtual["speeds"] = [virtual["speeds"][worker]]
        return {"virtual": virtual}

    @property
    def together(self) -> dict[str, Any]:
        """Return what a document has of the cluster of all workers."""
        if self.rates is not None:
            return _of_device(self, *range(self.workers))
        if self.kind == "real":
            return {"groups": [group_of(each / max(self.speeds)) for each in self.speeds]}
        return {"virtual": dict(self.virtual)}


def _of_device(where: Condition, *workers: int) -> dict[str, Any]:
    """Return the groups of a real device (worker 0) and the CPU beside it; no process is pinned."""
    rates = where.rates
    assert rates is not None  # noqa: S101 - the caller asked
    cpu: dict[str, Any] = {"kind": "hogwild-cpu", "threads": rates.threads}
    cpus = [{"kind": "cpu"} | ({"count": n} if n > 1 else {})] if (n := len(set(workers) - {0})) else []
    found = [{"kind": rates.kind}] if 0 in workers else []
    if where.timing.plain:  # as many processes as cores: one thread each
        return {"groups": found + cpus, "compute": {"threads": 1}}
    return {"groups": found + [cpu] * n, "compute": {"threads": rates.beside}}


def group_of(speed: float) -> dict[str, Any]:
    """Return a real CPU worker that is slowed down to this share of its speed."""
    return {"kind": "cpu"} | ({"speed": speed} if speed < 1 else {})


def of_ratio(ratio: int) -> Condition:
    """Return two simulated CPUs with speeds 1 and 1 / ratio."""
    virtual = LINK | COMPUTE | OF_CPUS | ({"speeds": [1.0, 1 / ratio]} if ratio > 1 else {})
    return Condition(f"CPUs, speeds {ratio} : 1", "cpus", virtual, (ratio, 1.0))


def of_box(kind: str) -> Condition:
    """Return a simulated device beside a 28-core CPU."""
    return of_devices(f"{kind.upper()} and a 28-core CPU", "box", kind, "cpu-28")


def of_devices(title: str, named: Kind, *kinds: str) -> Condition:
    """Return simulated devices, the fastest first."""
    times = [seconds_of(each, 256) for each in kinds]
    virtual = LINK | COMPUTE | {"devices": [{"kind": each} for each in kinds]}
    return Condition(title, named, virtual, tuple(max(times) / each for each in times))


def seconds_of(kind: str, batch: int) -> float:
    """Return the seconds of a batch on a device of this kind, without jitter."""
    profile = PROFILES[kind]  # type: ignore[index]
    return profile.overhead + batch * COMPUTE["compute_seconds_per_sample"] / profile.speed


def of_threads(kind: str) -> Condition:
    """Return a simulated device beside a CPU as fast as one of 28 cores, whose threads share their weights."""
    cpu = {"kind": "hogwild-cpu", "threads": THREADS, "speed": 1 / THREADS}
    virtual = LINK | COMPUTE | {"devices": [{"kind": kind}, cpu]}
    return Condition(
        f"{kind.upper()} and {THREADS} threads without locks", "box", virtual, of_box(kind).speeds, ("digits",)
    )


def of_spread(title: str, speeds: tuple[float, ...] = (1.0,) * MANY, **virtual: float) -> Condition:
    """Return MANY simulated CPUs whose speeds spread."""
    own = {"speeds": list(speeds)} if len(set(speeds)) > 1 else {}
    slowest = min(speeds)
    return Condition(
        title, "spread", LINK | COMPUTE | OF_CPUS | own | virtual, tuple(each / slowest for each in speeds)
    )


def of_changes(
    title: str, speeds: tuple[float, ...], changes: Iterable[tuple[float, int, float]], **more: float
) -> Condition:
    """Return MANY simulated CPUs whose speeds change: seconds, worker, and its speed then."""
    told = [{"at": at, "worker": worker, "speed": speed / speeds[worker]} | more for at, worker, speed in changes]
    found = of_spread(title, speeds)
    return replace(found, kind="changing", virtual={**found.virtual, "speed_changes": told})


def _turn(number: int) -> list[tuple[float, int, float]]:
    """Return the changes at which another worker than before is the slow one."""
    at = round(TURN * number, 6)
    return [(at, (number - 1) % MANY, 1.0), (at, number % MANY, SLOW)]


def of_real(ratio: int) -> Condition:
    """Return two processes of this machine with speeds 1 and 1 / ratio."""
    return Condition(f"two processes, speeds {ratio} : 1", "real", {}, (ratio, 1.0))


def of_gpu(rates: Rates, name: str = "gpu") -> Condition:
    """Return a real device and the CPU beside it; speeds: of its largest batches there, of the smallest here."""
    timing = TIMINGS[name]
    task, batches, cpu = timing.tasks[0], timing.batches, "one" if timing.plain else "threads"
    ratio = rates.rate(task, "device", batches[-1]) / rates.rate(task, cpu, batches[0])  # type: ignore[arg-type]
    device = "one GPU" if rates.kind == "cuda" else "a process"
    cpus = f"{rates.threads + 1} CPU processes" if timing.plain else f"{rates.threads} threads without locks"
    speeds = (max(1.01, round(ratio, 2)), *[1.0] * (rates.threads + 1 if timing.plain else 1))
    return Condition(f"{device} and {cpus}", "gpu", {}, speeds, rates=rates, timing=timing)


CONDITIONS = {
    "v100": of_box("v100"),
    "ratio-4": of_ratio(4),
    "k80": of_box("k80"),
    "h100": of_box("h100"),
    "ratio-8": of_ratio(8),
    "ratio-2": of_ratio(2),
    "ratio-1": of_ratio(1),
    "equal": of_spread("equal speeds"),
    "one-slow": of_spread("one of 8 at a quarter", (1.0,) * (MANY - 1) + (0.25,)),
    "spread": of_spread("from 1 to a quarter", tuple(4 ** (-k / (MANY - 1)) for k in range(MANY))),
    "jitter": of_spread("jitter 0.5", compute_jitter=0.5),
    "straggling": of_spread("2% take 20 times", straggling=0.02, straggling_factor=20),
    "crossing": of_changes(
        "four slow down, four speed up",
        (1.0,) * (MANY // 2) + (SLOW,) * (MANY // 2),
        [(0.0, worker, SLOW if worker < MANY // 2 else 1.0) for worker in range(MANY)],
        over=CROSSING,
    ),
    "moving": of_changes(
        "each in turn at a quarter",
        (SLOW,) + (1.0,) * (MANY - 1),
        [each for turn in range(1, TURNS) for each in _turn(turn)],
    ),
    "v100-threads": of_threads("v100"),
    "v100-4": of_devices("four V100 and a 28-core CPU", "devices", *["v100"] * 4, "cpu-28"),
    "mixed": of_devices("H100, V100 and K80", "devices", "h100", "v100", "k80"),
    **{f"real-{ratio}": of_real(ratio) for ratio in (1, 2, 4, 8)},
    **{name: of_gpu(read(RATES), name) for name in TIMINGS},
}
"""By name, those that are run first at the beginning; the last ones are those of the published results, unless
`use` has exchanged them."""


def use(rates: Rates) -> None:
    """Lay out the conditions with a real device by these rates from now on."""
    for name in TIMINGS:
        CONDITIONS[name] = of_gpu(rates, name)


def of_kind(*kinds: Kind) -> list[str]:
    """Return the conditions of these kinds, in the order of a page: by kind and ratio of speeds."""
    found = [
        (kinds.index(each.kind), max(each.speeds), name) for name, each in CONDITIONS.items() if each.kind in kinds
    ]
    return [name for *_, name in sorted(found, key=lambda each: each[:2])]
