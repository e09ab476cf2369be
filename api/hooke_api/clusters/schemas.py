"""What the API says of clusters and of the catalogues."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hooke_api.schema import View


class ClusterView(View):
    """A named place where runs execute."""

    name: str
    cores: int
    slots: int
    busy: int
    """Slots taken by runs that are dispatched, starting, running or lost."""
    launcher: str
    online: bool
    """Its agent said something in the last 40 s."""
    seen_at: datetime
    hardware: dict[str, str | int | float]
    versions: dict[str, str]


class ClusterList(View):
    """All clusters, by name."""

    items: list[ClusterView]


class AlgorithmView(View):
    """One algorithm; `parameters` is a JSON Schema: flat properties with title, description, default."""

    name: str
    title: str
    documentation: str
    servers: int
    max_workers: int | None
    deterministic: bool
    parameters: dict[str, Any]


class WorkloadView(View):
    """One workload; `target` is the form's default test accuracy."""

    name: str
    title: str
    documentation: str
    target: float
    parameters: dict[str, Any]


class AlgorithmList(View):
    """The catalogue of algorithms, by name, and the schema of how their vectors travel."""

    items: list[AlgorithmView]
    communication: dict[str, Any]


class WorkloadList(View):
    """The catalogue of workloads, by name."""

    items: list[WorkloadView]
