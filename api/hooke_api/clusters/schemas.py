"""Responses about clusters and catalogues."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from hooke.spec.events import FileFault
from hooke.spec.spaces import Space
from pydantic import ConfigDict, Field

from hooke_api.base.schema import View


class ClusterView(View):
    """A named place where runs execute."""

    name: str
    cores: int
    """Processor cores that its ranks may use."""
    slots: int
    busy: int
    """Slots occupied by runs that are dispatched, starting, running or lost."""
    launcher: str
    """How its agent starts runs: `local`, `slurm`, ..."""
    online: bool
    """Whether its agent has reported in the last 40 s."""
    seen_at: datetime
    """When its agent reported last."""
    draining: bool
    """Whether no new runs are sent to it."""
    held_until: datetime | None
    """Until when no runs are sent to it, because launches failed; null: they are."""
    held_why: str | None
    """Why the latest launch failed; null: it did not."""
    clock_offset: float | None
    """Clock of its agent minus that of the database at the latest hello, s; only displayed. Null: not told."""
    machine_shared_with: list[str]
    """Clusters that compute on one of its machines: one of them is busy at a time."""
    missing_data: dict[str, str]
    """Built-in workload -> what its agent lacks of the data, with default parameters."""
    hardware: dict[str, str | int | float]
    """What it is made of, as its agent found it."""
    versions: dict[str, str]
    """Versions of the software there, by name."""
    problems: list[FileFault]
    """User files that its agent could not read, or whose names are already taken."""


class ClusterList(View):
    """All clusters, by name."""

    items: list[ClusterView]


class OccupancyView(View):
    """The share of a cluster's slots that runs held over a time."""

    cluster: str
    slots: int
    since: datetime
    """Begin of the first interval; the last one ends now."""
    seconds: float
    """Length of an interval, s."""
    shares: list[float | None]
    """Mean of each interval, 0 to 1; null: before the cluster joined, or there were too many runs to read."""


class ClusterTokenView(View):
    """A token of a cluster's agent, without the secret."""

    id: str
    cluster: str
    label: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    """When it expires, unless its agent renews it; null: never, as those of earlier versions."""
    used_at: datetime | None
    """When it was last used, to within a minute; null: never."""
    revoked_at: datetime | None
    """When it was revoked; null: it was not."""
    renews: str | None
    """Id of the token in whose place its agent asked for it; null: a user made it."""


class NewClusterToken(ClusterTokenView):
    """A token that has just been made."""

    token: str
    """The secret, shown only here."""


class ClusterTokenList(View):
    """The tokens of a cluster, the oldest first."""

    items: list[ClusterTokenView]


class TokenRequest(View):
    """What a new token is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str = Field("", max_length=120, description="A note for the list of tokens, as the host it is for.")
    days: Annotated[
        int,
        Field(
            ge=1,
            le=730,
            strict=True,
            description="Days until it expires; its agent renews it in the last third of them.",
        ),
    ] = 90


class Offered(View):
    """Origin of an algorithm or a workload, and the clusters that offer it."""

    origin: str
    """built-in | file | entry point"""
    hash: str
    """SHA-256 of its source file."""
    offers: dict[str, str]
    """Cluster -> SHA-256 of the source there; an experiment needs the same on each of its clusters."""


class AlgorithmView(Offered):
    """One algorithm; `parameters` is a JSON Schema: flat properties with title, description, default."""

    name: str
    title: str
    documentation: str
    """Its documentation, the docstring of its source."""
    coordination: str
    """synchronous | parameter-server | lock-free: what lets a worker take its next step."""
    family: str
    """The heading under which the method is listed."""
    payload_per_step: float | None
    """Payload of a worker per local step with default parameters, in vectors of all weights; null: unknown."""
    may_drop: bool
    """Whether it can continue without a worker that has NaN or Inf."""
    servers: int
    max_workers: int | None
    """Most workers that it runs with; null: any number."""
    deterministic: bool
    """Whether runs of one seed in virtual time give the same bits."""
    parameters: dict[str, Any]
    """JSON Schema of its parameters."""
    search: dict[str, Space]
    """Parameter -> the values that tuning tries, unless an experiment says otherwise."""


class WorkloadView(Offered):
    """One workload; `target` is the form's default validation accuracy, or null."""

    name: str
    title: str
    documentation: str
    """Its documentation, the docstring of its source."""
    target: float | None
    """Validation accuracy that the form proposes as target, fraction; null: none."""
    parameters: dict[str, Any]
    """JSON Schema of its parameters."""


class AlgorithmList(View):
    """The catalogue of algorithms, by name, and the schemas of an experiment's settings."""

    items: list[AlgorithmView]
    communication: dict[str, Any]
    """JSON Schema of `communication` of a variant."""
    compute: dict[str, Any]
    """JSON Schema of `compute` of an experiment."""
    tuning: dict[str, Any]
    """JSON Schema of `tuning` of an experiment."""


class WorkloadList(View):
    """The catalogue of workloads, by name."""

    items: list[WorkloadView]
