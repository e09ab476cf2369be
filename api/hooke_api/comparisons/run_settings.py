"""The settings behind the rows of a comparison, from the specifications of their runs, defaults included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hooke.comparison.contrasts import OF_THE_WORKLOAD
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec

from hooke_api.comparisons.compare_schemas import Setting, SettingValue

OF_THE_RUN = frozenset({"schema", "seed", "workers", "world", "checkpoint"})
"""Parts of a run's specification that are not settings, or stand in the name of its row."""


def conditions(spec: ExperimentSpec, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return by name what has to be equal for times of two rows to be comparable; `document` is of a run."""
    return {
        "workload": document.get("workload"),
        "target": document.get("target"),
        "batch": spec.batch,
        "sharding": spec.sharding,
        "budget": spec.budget.samples,
        "schedule": spec.budget.schedule_samples,
        "wall limit": spec.budget.max_seconds,
        "evaluation": spec.evaluation.every,
        "compute": spec.compute.model_dump(mode="json"),
        "rule for a bad worker": spec.on_bad_worker,
        "recording of a trace": spec.trace and document.get("virtual") is None,
    }


def setting(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return algorithm, parameters, settings of the workload and communication of a run by name."""
    algorithm = document["algorithm"]
    named = {"algorithm": algorithm["name"], "source": algorithm.get("hash"), **algorithm["parameters"]}
    named |= {OF_THE_WORKLOAD + name: value for name, value in document.get("workload_settings", {}).items()}
    return named | {f"communication {name}": value for name, value in document["communication"].items()}


def flat_settings(spec: ExperimentSpec, document: Mapping[str, Any]) -> dict[str, SettingValue]:
    """Return every setting of a run by its JSON Pointer, and those of its experiment's tuning."""
    own = {name: value for name, value in document.items() if name not in OF_THE_RUN}
    tuning = spec.tuning.model_dump(mode="json") if spec.tuning else {}
    return dict(_flat(own)) | dict(_flat(tuning, "tuning"))


def settings_of(rows: Sequence[Mapping[str, SettingValue]]) -> list[Setting]:
    """Return each setting that any row has a value of, those first that differ, parts of a document together."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = [_setting(name, [row.get(name) for row in rows]) for name in names]
    told = [each for each in found if any(value is not None for value in each.values)]
    parts = list(dict.fromkeys(_part(name) for name in names))
    return sorted(told, key=lambda each: (not each.differs, parts.index(_part(each.name))))


def _part(name: str) -> str:
    return name.split("/")[1]


def _setting(name: str, values: list[SettingValue]) -> Setting:
    differs = any(value != values[0] for value in values)
    return Setting(name=name, differs=differs, values=values if differs else values[:1])


def _flat(value: Any, *path: str) -> Iterator[tuple[str, SettingValue]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flat(part, *path, name)
    else:
        yield pointer(*path), json.dumps(value) if isinstance(value, list) else value
