"""Warnings on valid runs, which are not refused: reported before a run starts and again after its end."""

from __future__ import annotations

import math

from hooke.catalogue.claims import Coordination
from hooke.catalogue.joined import setting_name
from hooke.catalogue.offers import AlgorithmOffer, Catalogue, here
from hooke.errors import Fault
from hooke.spec.devices import REAL
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec, RunSpec, Target, VirtualCluster

FEW_STEPS = 20
"""Steps of each worker between two evaluations with which simulated lock-free methods take about 5% longer than
without evaluations; with five steps it is up to 16%, with two 41% (8 workers, 1 Gb/s; decision 166)."""
UNEVEN = 0.1
"""Jitter above which the same holds for workers with several steps between exchanges: 15% at 0.25, 2.5 steps."""


def warnings(spec: RunSpec, catalogue: Catalogue | None = None) -> list[Fault]:
    """Return all warnings on one run: on its method, its target, and the simulated compute time."""
    found = of_method(spec, catalogue) + of_target(spec, catalogue)
    if spec.world == "virtual" and spec.virtual is not None:
        found += [Fault("/virtual/compute_seconds_per_sample", why) for why in of_compute_time(spec.virtual)]
    return found


def of_method(spec: RunSpec, catalogue: Catalogue | None = None) -> list[Fault]:
    """Return the warnings on the method: a stability bound, a period longer than the budget, an idle setting."""
    place, values = "/algorithm/parameters", spec.algorithm.parameters
    method = (catalogue or here()).algorithms[spec.algorithm.name]
    found = [Fault(place, why) for why in method.warnings(values, spec.workers)]
    period, samples = method.first_period(values), spec.batch * method.gradients_per_step(values)
    steps = steps_per_worker(spec, samples)
    if spec.workers > 1 and period > steps:
        why = (
            f"the period of {period:,} steps is longer than the budget, about {steps:,} steps per worker: workers "
            "exchange nothing before the end"
        )
        chosen_at = pointer(*filter(None, [method.period_field]))  # a class may compute its period otherwise
        found.append(Fault(place + chosen_at, why))
    if spec.on_bad_worker == "drop" and not method.may_drop:
        why = f"{spec.algorithm.name} cannot continue without a worker: NaN or Inf on one of them ends the run"
        found.append(Fault("/on_bad_worker", why))
    if method.coordination == "lock-free" and spec.communication.wire != "fp32":
        why = f"windows hold and send float32: the wire type {spec.communication.wire} changes nothing here"
        found.append(Fault("/communication/wire", why))
    if method.encodes_itself and spec.communication.wire != "fp32":
        why = f"{spec.algorithm.name} encodes its messages itself: the wire type changes none of them"
        found.append(Fault("/communication/wire", why))
    if spec.world == "virtual":
        found += _not_simulated(spec, method)
    counted = 1 if method.coordination == "synchronous" else period
    found += _of_meetings(spec, method.coordination, period, samples * spec.workers)
    return found + _of_cadence(spec, samples * spec.workers * counted)


def _not_simulated(spec: RunSpec, method: AlgorithmOffer) -> list[Fault]:
    """Return warnings on work that simulated time leaves out, so that it favours the method."""
    found = []
    if spec.algorithm.parameters.get("optimizer") == "muon":
        why = (
            "simulated time leaves out the orthogonalization of Muon, which on a CPU may take longer than the "
            "gradient: compare its time in the real world"
        )
        found.append(Fault("/algorithm/parameters/optimizer", why))
    encoded = spec.communication.wire in ("int8", "sign", "top-k") and method.coordination != "lock-free"
    if encoded or method.encodes_itself:
        why = (
            "simulated time leaves out the encoding of messages and the decoding of those of all workers, which "
            "on a CPU may take longer than what they save: compare its time in the real world"
        )
        found.append(Fault("/communication/wire", why))
    return found


def _of_cadence(spec: RunSpec, exchange: int) -> list[Fault]:
    """Return a warning if evaluations must be less frequent than requested: steps are counted at exchanges."""
    if spec.evaluation.every >= exchange:
        return []
    why = (
        f"two exchanges of a worker are {exchange:,} samples apart, so evaluations are farther apart than the "
        f"requested {spec.evaluation.every:,} samples, and their distance depends on the method: a method that is "
        "evaluated more often appears to reach the target earlier"
    )
    return [Fault("/evaluation/every", why)]


def _of_meetings(spec: RunSpec, coordination: Coordination, period: int, step: int) -> list[Fault]:
    """Return a warning if evaluations make workers wait for one another that otherwise would seldom.

    `period`: steps between two exchanges of a worker; `step`: samples of a step of all workers.
    """
    network = spec.virtual if spec.world == "virtual" else None
    straggles = network is not None and any(network.stragglers(worker)[0] for worker in range(spec.workers))
    varies = straggles or (network is not None and network.compute_jitter > UNEVEN)
    alone = coordination == "lock-free" or (coordination == "synchronous" and period > 1 and varies)
    if not alone or spec.workers == 1 or spec.evaluation.every >= min(FEW_STEPS * step, spec.budget.samples):
        return []
    who = "without a lock" if coordination == "lock-free" else f"that take {period} steps between exchanges"
    why = (
        f"workers {who} wait for the last of them at every evaluation, on the clock, here after about "
        f"{spec.evaluation.every / step:.2g} steps of each: a method whose workers meet at every step, or ask a "
        f"simulated server, loses nothing. Evaluate every {FEW_STEPS * step:,} samples or less often"
    )
    return [Fault("/evaluation/every", why)]


def steps_per_worker(spec: RunSpec, samples: int) -> int:
    """Return the number of steps, of so many samples, of each worker if all take equally many, rounded up."""
    return math.ceil(spec.budget.samples / (samples * spec.workers))


def of_earlier_names(spec: ExperimentSpec) -> list[Fault]:
    """Return a hint for each key of the document that has an earlier name."""
    why = "`on` is now `computed_on`: readers of YAML 1.1 take `on` for true. The earlier name still works"
    return [Fault(f"/clusters/{i}/on", why) for i, cluster in enumerate(spec.clusters) if cluster.by_earlier_name]


def of_settings(spec: ExperimentSpec) -> list[Fault]:
    """Return a warning for each variant whose settings of the workload simulated time does not price."""
    told: list[Fault] = []
    if not any(cluster.virtual for cluster in spec.clusters):
        return told
    alike = all(variant.workload_settings == spec.variants[0].workload_settings for variant in spec.variants)
    for i, variant in enumerate(spec.variants):
        searched = [name for name, space in variant.search.items() if space and setting_name(name)]
        if searched or (variant.workload_settings and not alike):
            place = ("search", searched[0]) if searched else ("workload_settings",)
            told.append(Fault(pointer("variants", i, *place), UNPRICED))
    return told


UNPRICED = (
    "a simulated gradient takes as long with every setting of the workload: variants that differ in them are "
    "compared on real clusters only"
)


def of_target(spec: RunSpec, catalogue: Catalogue | None = None) -> list[Fault]:
    """Return a warning if guessing meets the target without any training."""
    classes = (catalogue or here()).workloads[spec.workload.name].classes
    if spec.target is None or classes is None or not _guessed(spec.target, classes):
        return []
    why = (
        f"guessing among {classes:,} classes has accuracy {1 / classes:.4g} and loss {math.log(classes):.4g}: the "
        "target may be met before the first step, so that the time to target is 0"
    )
    return [Fault("/target/value", why)]


def _guessed(target: Target, classes: int) -> bool:
    if target.metric.endswith("accuracy"):
        return target.value <= 1 / classes
    return target.value >= math.log(classes)


def of_compute_time(network: VirtualCluster) -> list[str]:
    """Return a warning if the time of a gradient is an assumption, or the devices that it is scaled to are."""
    told = not network.compute_source or said_of_devices(network)
    return [said_of_compute_time(network)] if told else []


def said_of_devices(network: VirtualCluster) -> str:
    """Return what of a cluster's virtual devices is assumed, in words; empty without any."""
    devices = dict.fromkeys(group.kind for group in network.devices if group.kind not in REAL)
    return f"speeds, overheads, links and memory of {', '.join(devices)} are assumptions" if devices else ""


def said_of_compute_time(network: VirtualCluster) -> str:
    """Return a sentence on the source of the simulated time of a gradient."""
    time, devices = f"{network.compute_seconds_per_sample * 1e6:.4g} us per sample", said_of_devices(network)
    if network.compute_source:
        return f"the simulated compute time, {time}, is {network.compute_source}{devices and f'; {devices}'}"
    rest = f"; {devices}" if devices else ". `hooke run --calibrate` measures the time on this machine"
    return (
        f"the simulated compute time, {time}, is an assumption: compute_source, the source of the value, is not "
        f"set{rest}"
    )
