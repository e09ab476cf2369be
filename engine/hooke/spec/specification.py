"""ExperimentSpec and RunSpec, the specification format of browser, REST, command line, API and engine.

An experiment is the product variants x clusters x workers x seeds over one workload, with a budget, a
target and a baseline. `hooke.catalogue.validation` holds the only validators: they raise SpecError with a JSON
Pointer for every fault. `expand` (in `hooke.catalogue.expand`) turns an experiment into resolved runs.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, PrivateAttr, StringConstraints, model_validator

from hooke.spec.communication import Communication
from hooke.spec.devices import Grouped, Groups, in_order
from hooke.spec.frozen import Frozen, Label, Name, Parameter
from hooke.spec.limits import Budget, EvaluationSettings
from hooke.spec.measured import MeasuredConstants
from hooke.spec.retry import RetryPolicy
from hooke.spec.spaces import Scalar, Space
from hooke.spec.tuning import Tuning
from hooke.spec.unequal import UnequalWorkers, with_devices

MAX_VARIANTS = 200
"""Of one experiment. The number of runs is limited separately: see `hooke.catalogue.expand`."""

_TRACE = "Record phases and messages of every rank; costs about 20 us per step."
Sharding = Literal["iid", "disjoint", "dispatched"]
"""What workers draw from: all items, independently; own shares; one order of all items, handed out in batches."""

Part = Literal["validation", "test"]
"""Held-out parts of a data set: one for targets and choices, one that is scored once, at the end."""


class WorkloadChoice(Frozen):
    """A workload and its parameters."""

    name: Name = Field(description="Name in the catalogue.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="Others have their defaults.")
    hash: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    """SHA-256 of the source file, for user files only. A cluster with a different file rejects the run."""


class Compute(Frozen):
    """How gradients are computed on each rank; the same for every variant, recorded with the run."""

    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", title="Device", description="Device of the models; `auto` uses a CUDA device if there is one."
    )
    precision: Literal["fp32", "bf16"] = Field(
        "fp32",
        title="Precision",
        description="Precision of forward and backward; weights and updates are always fp32.",
    )
    threads: int | Literal["group"] = Field(
        1, title="Threads", description="Intra-op threads of a rank; `group`: as many as its cores."
    )
    placement: Literal["none", "core", "l3", "numa"] = Field(
        "none",
        title="Placement",
        description="Pin each rank to a share of the cores, whole L3 domains or NUMA nodes first, and prefer "
        "memory of the fastest nearby node with enough space.",
    )


class Variant(Frozen):
    """One algorithm with given parameters, under its own name."""

    name: Label = Field(description="Its unique name in tables and charts.")
    algorithm: Name = Field(description="Name in the catalogue.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="Others have defaults or are tuned.")
    communication: Communication = Communication()
    workload_settings: dict[Parameter, Any] = Field(
        default_factory=dict,
        max_length=32,
        exclude_if=lambda value: not value,  # documents without it keep their fingerprint
        title="Settings of the workload",
        description="Parameters of the workload that this variant sets; only those that change how it is trained, "
        "not what is learned.",
    )
    sweep: dict[Parameter, Annotated[list[Scalar], Field(min_length=1, max_length=64)]] = Field(
        default_factory=dict,
        max_length=8,
        exclude_if=lambda value: not value,  # documents without it keep their fingerprint
        title="Sweep",
        description="Several values of a parameter: one variant for each, named after it.",
    )
    search: dict[Parameter, Space | None] = Field(
        default_factory=dict,
        max_length=32,
        exclude_if=lambda value: not value,  # documents without it keep their fingerprint
        title="Search",
        description="With tuning: spaces instead of those that the algorithm declares; null keeps a parameter's "
        "default. A parameter given in `parameters` keeps its value. `workload.NAME` is a setting of the workload "
        "that a variant may set.",
    )


class VirtualCluster(MeasuredConstants, UnequalWorkers):
    """A simulated network and processor: the same algorithm code in virtual time; results are labelled."""

    latency: float = Field(7.2e-6, ge=0, le=10, title="Latency", description="Seconds per message (alpha).")
    seconds_per_byte: float = Field(
        0.9e-9, ge=0, le=1, title="Seconds per byte", description="Inverse bandwidth of one link direction (beta)."
    )
    host_seconds_per_byte: float | None = Field(
        None,
        ge=0,
        le=1,
        title="Seconds per byte to a server",
        description="Between workers and a server, the host that holds the center: a copy from device to host and "
        "back. Empty: as between workers.",
    )
    compute_seconds_per_sample: float = Field(
        20e-6, gt=0, le=100, title="Compute time", description="Forward and backward, seconds per sample."
    )
    compute_source: Annotated[str, StringConstraints(max_length=240)] | None = Field(
        None,
        title="Source of the compute time",
        description="What the compute time was measured on; empty: it is an assumption, and results say so.",
    )
    compute_jitter: float = Field(
        0.05, ge=0, le=2, title="Jitter", description="Sigma of the log-normal factor on each step's compute."
    )
    memory_bandwidth: float = Field(
        100e9,
        ge=1,
        title="Memory bandwidth",
        description="Bytes per second; determines the time of vector updates and of building hash tables.",
    )

    @model_validator(mode="after")
    def _changes_in_order(self) -> VirtualCluster:
        if not in_order(self.speed_changes):
            raise ValueError("list the changes of speed in the order of their beginnings (`at`)")
        return self

    @property
    def shares_memory(self) -> bool:
        """Return whether ranks access each other's memory by loads and stores: messages take no time."""
        return self.latency == 0 and self.seconds_per_byte == 0 and not self.own_links


class ClusterChoice(Frozen):
    """Where runs execute: a registered cluster, with workers as they are or of kinds, or a virtual one."""

    name: Name = Field(description="A registered cluster, or with `computed_on` a name of one's own.")
    computed_on: Name | None = Field(
        None,
        description="The registered cluster that computes a virtual one, or whose workers are of these kinds.",
    )
    workers: list[Annotated[int, Field(ge=1, le=4096)] | Literal["auto"]] = Field(
        default=["auto"], min_length=1, max_length=16, description="Numbers of workers; `auto`: what cores allow."
    )
    seeds: int = Field(3, ge=1, le=100, description="Runs of each variant with each number of workers.")
    virtual: VirtualCluster | None = None
    groups: Groups = ()
    _by_earlier_name: bool = PrivateAttr(default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _read_earlier_name(cls, value: Any, read: ModelWrapValidatorHandler[ClusterChoice]) -> ClusterChoice:
        """Accept `on`, the name of `computed_on` in earlier versions, and devices as workers."""
        value = with_devices(value)
        if not isinstance(value, dict) or "on" not in value or "computed_on" in value:
            return read(value)
        made = read({"computed_on" if key == "on" else key: item for key, item in value.items()})
        made._by_earlier_name = True
        return made

    @property
    def by_earlier_name(self) -> bool:
        """Return whether the document used `on`, which YAML 1.1 parsers read as true."""
        return self._by_earlier_name

    @property
    def host(self) -> str:
        """Return the registered cluster whose slots the runs occupy."""
        return self.computed_on or self.name


class Target(Frozen):
    """The target: a run ends when it is met, and the times to it are compared."""

    metric: Literal["validation_accuracy", "validation_loss", "test_accuracy", "test_loss"] = Field(
        "validation_accuracy",
        title="Metric",
        description="Judged on the validation part. `test_accuracy` and `test_loss` are accepted only in stored "
        "experiments that were made without one.",
    )
    value: float = Field(description="Accuracy as a fraction, or loss.")
    of: Literal["center"] = "center"

    @property
    def of_accuracy(self) -> bool:
        """Return whether the metric is an accuracy, not a loss."""
        return self.metric in ("validation_accuracy", "test_accuracy")

    @property
    def part(self) -> Part:
        """Return the part of the data that decides the target; the test part only in old documents."""
        return "validation" if self.metric in ("validation_accuracy", "validation_loss") else "test"

    def reached(self, loss: float, accuracy: float) -> bool:
        """Return whether an evaluation meets the target."""
        return accuracy >= self.value if self.of_accuracy else loss <= self.value


class ExperimentSpec(Frozen):
    """One comparison. Once submitted, only seeds and variants may be added, as a new version."""

    schema_: Literal["hooke.experiment/1"] = Field("hooke.experiment/1", alias="schema")
    name: Label = Field(description="Its name in lists and reports.")
    description: Annotated[str, StringConstraints(max_length=4000)] = Field("", description="What it is for.")
    workload: WorkloadChoice
    batch: int = Field(32, ge=1, le=65536, title="Batch", description="Samples per worker and step.")
    sharding: Sharding = Field("iid", description="Workers draw from all items, a share, or handed-out batches.")
    variants: list[Variant] = Field(min_length=1, max_length=MAX_VARIANTS, description="What is compared.")
    baseline: Label = Field(description="Name of the variant that the others are compared with.")
    clusters: list[ClusterChoice] = Field(min_length=1, max_length=16, description="Where it runs, and how often.")
    first_seed: int = Field(0, ge=0, le=2**31, description="The first seed; others follow it.")
    budget: Budget
    target: Target | None = None
    evaluation: EvaluationSettings
    compute: Compute = Compute()
    checkpoint_every: int | None = Field(
        None, ge=1, le=10**12, title="Checkpoint every", description="Samples between checkpoints; empty: none."
    )
    on_bad_worker: Literal["fail", "drop"] = Field(
        "fail",
        title="On a bad worker",
        description="NaN, Inf or a kill of one worker: fail, or go on without it where method and MPI allow it.",
    )
    tuning: Tuning | None = Field(
        None,
        exclude_if=lambda value: value is None,  # documents without it keep their fingerprint
        title="Tuning",
        description="Choose each variant's parameters by trial runs first; empty: parameters are as given.",
    )
    retry: RetryPolicy | None = Field(
        None,
        exclude_if=lambda value: value is None,  # documents without it keep their fingerprint
        title="Retry",
        description="When a run is tried again; empty: the server's default. `hooke run` does not use it.",
    )
    trace: bool = Field(default=False, exclude_if=lambda value: not value, description=_TRACE)


class AlgorithmChoice(Frozen):
    """An algorithm with every parameter resolved."""

    name: Name
    parameters: dict[str, Any] = Field(default_factory=dict)
    hash: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    """SHA-256 of the source file, for user files only. A cluster with a different file rejects the run."""


class RunSpec(Grouped, Frozen):
    """One cell of an experiment, fully resolved: the complete input of the engine."""

    schema_: Literal["hooke.run/1"] = Field("hooke.run/1", alias="schema")
    workload: WorkloadChoice
    workload_settings: dict[Parameter, Any] = Field(default_factory=dict, exclude_if=lambda value: not value)
    """Parameters of the workload that the variant sets; `workload` has those that all variants share."""
    algorithm: AlgorithmChoice
    communication: Communication = Communication()
    batch: int = Field(32, ge=1, le=65536)
    sharding: Sharding = "iid"
    workers: int = Field(1, ge=1, le=4096)
    seed: int = Field(0, ge=0, le=2**32)
    world: Literal["mpi", "virtual"] = "mpi"
    virtual: VirtualCluster | None = None
    groups: Groups = ()
    budget: Budget
    target: Target | None = None
    evaluation: EvaluationSettings
    compute: Compute = Compute()
    checkpoint: Literal["never", "on-stop", "always"] = "on-stop"
    """When to keep a checkpoint: `on-stop`, if it ends early (cancelled, wall limit); `always`, at every end."""
    checkpoint_every: int | None = Field(None, ge=1, le=10**12)
    """Samples between checkpoints during the run (unless `checkpoint` is `never`); None: none."""
    on_bad_worker: Literal["fail", "drop"] = "fail"
    trace: bool = Field(default=False, exclude_if=lambda value: not value, description=_TRACE)

    @property
    def workload_parameters(self) -> dict[str, Any]:
        """Return the parameters of the workload as it is trained."""
        return self.workload.parameters | self.workload_settings


def canonical(spec: BaseModel) -> str:
    """Return the canonical JSON text of a spec: sorted keys, no spaces, schema included."""
    return json.dumps(spec.model_dump(mode="json", by_alias=True), sort_keys=True, separators=(",", ":"))


def fingerprint(spec: BaseModel) -> str:
    """Return the SHA-256 of the canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(spec).encode()).hexdigest()
