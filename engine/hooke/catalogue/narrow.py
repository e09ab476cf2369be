"""Checks of weights in bfloat16, which a workload may have: methods, optimizers and workers that can take them.

Steps round such weights at random. Arithmetic of other kinds would round them to the nearest value, in which small
changes are lost. So a method has to change its weights by local steps alone, and steps have to go by rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hooke.catalogue.groups import groups_of
from hooke.catalogue.joined import PREFIX
from hooke.catalogue.offers import AlgorithmOffer, WorkloadOffer
from hooke.errors import Fault
from hooke.spec.devices import DeviceGroup
from hooke.spec.pointers import pointer
from hooke.spec.spaces import Space
from hooke.spec.specification import ExperimentSpec, RunSpec

NAME, HALF = "weights", "bf16"
"""The parameter of a workload, which a variant may set, and its value."""
BY_ROWS = ("row-adagrad", "row-adam", "lazy-adam")
"""Optimizers that step row by row; plain SGD does, too."""


def check_variant(
    spec: ExperimentSpec, variant: int, method: AlgorithmOffer, workload: WorkloadOffer | None
) -> list[Fault]:
    """Return why a variant, which is of this method, cannot have the weights that it asks for, or searches."""
    chosen = spec.variants[variant]
    values = spec.workload.parameters | chosen.workload_settings
    if HALF in _choices(chosen.search.get(PREFIX + NAME)):
        values |= {NAME: HALF}
    groups = [group for cluster in spec.clusters for group in groups_of(cluster)]
    have = dict(method.resolve(chosen.parameters)[0])
    declared = {**method.spaces, **chosen.search}
    if spec.tuning and "momentum" not in chosen.parameters and declared.get("momentum"):
        have["momentum"] = 1.0
    tried = _choices(chosen.search.get("optimizer")) or [have.get("optimizer", "sgd")]
    told = [
        why
        for each in tried
        for why in _told(values, workload, chosen.algorithm, method, have | {"optimizer": each}, groups)
    ]
    own = ("variants", variant, "workload_settings")
    place = ("workload", "parameters") if NAME in spec.workload.parameters else own
    return [Fault(pointer(*(own if NAME in chosen.workload_settings else place), NAME), why) for why in told]


def check_run(spec: RunSpec, method: AlgorithmOffer, workload: WorkloadOffer) -> list[Fault]:
    """Return why a run cannot have the weights that it asks for."""
    groups = (*spec.groups, *(spec.virtual.devices if spec.virtual else ()))
    have = method.resolve(spec.algorithm.parameters)[0]
    told = _told(spec.workload_parameters, workload, spec.algorithm.name, method, have, groups)
    place = ("workload_settings",) if NAME in spec.workload_settings else ("workload", "parameters")
    return [Fault(pointer(*place, NAME), why) for why in told]


def _choices(space: Space | None) -> list[Any]:
    return [] if space is None else list(space.choices or [])


def _told(
    values: Mapping[str, Any],
    workload: WorkloadOffer | None,
    name: str,
    method: AlgorithmOffer,
    have: Mapping[str, Any],
    groups: Iterable[DeviceGroup],
) -> list[str]:
    """Return the reasons; `have`: the parameters of the method, with their defaults."""
    if values.get(NAME) != HALF or workload is None or NAME not in workload.per_variant:
        return []
    if not method.takes_bf16_weights:
        return [
            f"weights in bf16 are rounded at random by local steps, but {name} changes them in other ways, too: "
            "choose sgd, sync-sgd, or fp32"
        ]
    if any(group.shares_weights for group in groups):
        return [
            "threads that share weights update them in place, which would round bf16 to the nearest value: "
            "choose fp32, or one thread for each worker"
        ]
    optimizer = have.get("optimizer", "sgd")
    if optimizer in BY_ROWS or (optimizer == "sgd" and not have.get("momentum")):
        return []
    said = "SGD with momentum" if optimizer == "sgd" else str(optimizer)
    return [
        f"weights in bf16 are rounded row by row, but {said} moves all rows at once: choose SGD without momentum "
        f"(momentum 0, not searched), {', '.join(BY_ROWS)}, or fp32"
    ]
