"""The constants of a virtual cluster from a calibration (`like` in a specification)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import ValidationError

from hooke.calibration.among import among_gradients
from hooke.calibration.documents import ADAMW_ACCESSES, Calibration, ComputeRate, Curve, Line
from hooke.catalogue.offers import ClassWorkloadOffer, brought_along
from hooke.errors import CalibrationError, Fault, SpecError
from hooke.spec.measured import Operation, OperationCost
from hooke.spec.pointers import pointer
from hooke.spec.specification import Compute, ExperimentSpec, RunSpec, VirtualCluster, WorkloadChoice

_SUMS: tuple[Literal["tree", "halving", "ring"], ...] = ("tree", "halving", "ring")
_SOURCE_LENGTH = 240
_JITTER = ("compute_jitter", "jitter_slow", "jitter_common", "jitter_between_ranks")


def constants(
    calibration: Calibration, name: str, workload: WorkloadChoice, compute: Compute | None = None
) -> dict[str, Any]:
    """Return the constants as fields of `VirtualCluster`.

    `name`: of the cluster or file, for their source. The calibration's own number of ranks shared its cores while
    it was made. Raises CalibrationError if it measured one rank, or another workload or precision than this.
    """
    message = calibration.curve("message")
    if message is None or message.line is None:
        raise CalibrationError(
            f"the calibration of {name} has no messages: it was made with one rank, and a virtual cluster needs "
            "at least two (`hooke calibrate --workers 2`)"
        )
    precision = compute.precision if compute else "fp32"
    rate, same = _rate(calibration, name, workload, precision)
    overhead = _overhead(calibration, message)
    found: dict[str, Any] = {
        "latency": max(0.0, message.line.alpha - 2 * overhead),
        "seconds_per_byte": message.line.beta,
        "message_overhead": overhead,
    }
    add = calibration.curve("add")
    if add is not None and add.line is not None and add.line.beta > 0:
        found["addition_seconds_per_byte"] = add.line.beta
        found["memory_bandwidth"] = max(1.0, 3 / add.line.beta)  # two vectors are read and one is written
    operations = _operations(calibration, found.get("addition_seconds_per_byte", 0.0))
    access = 1 / found.get("memory_bandwidth", VirtualCluster().memory_bandwidth)
    if rate.adamw is not None:
        access = found["update_seconds_per_byte"] = rate.adamw.seconds / (4 * rate.elements * ADAMW_ACCESSES)
    found |= _compute(rate, access)
    if calibration.oversubscribed:  # what one rank takes longer another has earlier
        found |= dict.fromkeys(_JITTER, 0.0)
    found["operations"] = operations
    found |= among_gradients(calibration, rate, operations)
    day = f"{calibration.at:%Y-%m-%d %H:%M} UTC"
    found["source"] = f"calibration of {name}, {calibration.workers} ranks, {day}"[:_SOURCE_LENGTH]
    how = "measured" if same else f"measured with other parameters of {workload.name}"
    found["compute_source"] = f"{how} by the {found['source']}"[:_SOURCE_LENGTH]
    return found


def resolved(virtual: VirtualCluster, found: Mapping[str, Any]) -> VirtualCluster:
    """Return `virtual` without `like`: constants that it does not give are those of `found`."""
    given = {name: value for name, value in virtual.model_dump().items() if name in virtual.model_fields_set}
    given.pop("like", None)
    if "compute_seconds_per_sample" in given:  # the source belongs to the value
        found = {key: value for key, value in found.items() if key != "compute_source"}
    return VirtualCluster.model_validate({**found, **given})


Find = Callable[[str], Calibration]
"""Returns the calibration with a name, or raises CalibrationError."""


def resolve_run(spec: RunSpec, find: Find) -> RunSpec:
    """Return a run whose constants are resolved; the same run if they are. Raises SpecError."""
    if spec.virtual is None or spec.virtual.like is None:
        return spec
    return spec.model_copy(update={"virtual": _found(spec.virtual, spec, find, "virtual", "like")})


def resolve_experiment(spec: ExperimentSpec, find: Find) -> ExperimentSpec:
    """Return an experiment all of whose constants are resolved; the same if they are. Raises SpecError."""
    clusters, found = [], list[Fault]()
    for i, cluster in enumerate(spec.clusters):
        if cluster.virtual is not None and cluster.virtual.like is not None:
            try:
                virtual = _found(cluster.virtual, spec, find, "clusters", i, "virtual", "like")
                cluster = cluster.model_copy(update={"virtual": virtual})  # noqa: PLW2901 - the resolved one
            except SpecError as error:
                found += error.faults
        clusters.append(cluster)
    if found:
        raise SpecError(found)
    return spec.model_copy(update={"clusters": clusters})


def _found(virtual: VirtualCluster, spec: ExperimentSpec | RunSpec, find: Find, *place: object) -> VirtualCluster:
    name = virtual.like or ""
    try:
        return resolved(virtual, constants(find(name), name, spec.workload, spec.compute))
    except CalibrationError as error:
        raise SpecError([Fault(pointer(*place), str(error))]) from None
    except ValidationError as error:  # a document that no machine made, or one that is not for this
        said = "; ".join(f"{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        why = f"the calibration of {name} gives constants that a virtual cluster cannot have: {said}"
        raise SpecError([Fault(pointer(*place), why)]) from None


def _rate(
    calibration: Calibration, name: str, workload: WorkloadChoice, precision: str
) -> tuple[ComputeRate, bool]:
    """Return the gradients of a workload, and whether they were measured with its parameters."""
    same = [rate for rate in calibration.compute if rate.workload == workload.name and rate.precision == precision]
    for rate in same:
        if _complete(rate.workload, rate.parameters) == _complete(workload.name, workload.parameters):
            return rate, True
    if same:
        return same[0], False
    known = ", ".join(f"{rate.workload} ({rate.precision})" for rate in calibration.compute) or "none"
    raise CalibrationError(
        f"the calibration of {name} measured no gradients of {workload.name} in {precision}; it has: {known}. "
        f"Calibrate again with --workload {workload.name}"
    )


def _complete(name: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a workload with its defaults; those of a user's workload as they are."""
    offer = brought_along().workloads.get(name)
    if not isinstance(offer, ClassWorkloadOffer):
        return parameters
    return {key: field.default for key, field in offer.kind.model_fields.items()} | dict(parameters)


def _overhead(calibration: Calibration, message: Curve) -> float:
    """Return the processor time of a message on each end: what follows one another in a stream of short ones."""
    stream = calibration.curve("stream")
    least = min((p.seconds for p in stream.points), default=0.0) if stream else 0.0
    latency = message.line.alpha if message.line else 0.0
    return min(least, latency / 2)


def _operations(calibration: Calibration, addition: float) -> dict[Operation, OperationCost]:
    """Return the costs of messages of operations; `addition`: seconds per byte of an addition in memory."""
    curves: dict[Operation, Curve | None] = {name: calibration.curve("all-reduce", name) for name in _SUMS}
    curves["background"] = calibration.curve("background", "halving")
    curves |= {"gather": calibration.curve("all-gather"), "window": calibration.curve("window get")}
    found = {
        name: OperationCost(seconds_per_message=curve.line.alpha, seconds_per_byte=curve.line.beta)
        for name, curve in curves.items()
        if curve is not None and curve.line is not None
    }
    added = calibration.curve("window add")
    if "window" in found and added is not None and added.line is not None:
        found["window"] = _access(found["window"], added.line, addition)
    return found


def _access(read: OperationCost, added: Line, addition: float) -> OperationCost:
    """Return the cost of an access to a window, so that a read and an addition together take what was measured.

    Virtual time prices both alike, and the addition in memory, which the measured one contains, on top.
    """
    return OperationCost(
        seconds_per_message=(read.seconds_per_message + added.alpha) / 2,
        seconds_per_byte=(read.seconds_per_byte + max(0.0, added.beta - addition)) / 2,
    )


def _compute(rate: ComputeRate, access: float) -> dict[str, Any]:
    """Return the constants of gradients; `access`: seconds per byte of a vector access of an update."""
    update = 4 * rate.elements * rate.accesses * access
    gradient = max(0.0, rate.loop.seconds - update)
    sample = max(1e-12, min(rate.line.beta, gradient / rate.loop_batch))  # the step that was measured is kept
    jitter = rate.jitter
    return {
        "compute_seconds_per_sample": sample,
        "compute_seconds_per_step": max(0.0, gradient - rate.loop_batch * sample),
        "compute_jitter": min(2.0, jitter.independent),
        "jitter_slow": min(2.0, jitter.slow),
        "jitter_common": min(2.0, jitter.common),
        "jitter_between_ranks": min(2.0, jitter.between_ranks),
        "jitter_steps": jitter.steps,
    }
