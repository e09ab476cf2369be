"""Reads a specification file, applies command line options, and returns one resolved run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hooke.calibration.constants import resolve_run
from hooke.calibration.documents import Calibration, load
from hooke.catalogue.expand import AUTO_WORKERS, resolve
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.catalogue.warnings import of_earlier_names
from hooke.errors import CalibrationError, Fault, SpecError
from hooke.hardware.description import usable_cores
from hooke.spec.devices import REAL
from hooke.spec.specification import ClusterChoice, ExperimentSpec, RunSpec, VirtualCluster

EXPERIMENT, RUN = "hooke.experiment/1", "hooke.run/1"


def read(path: Path) -> Any:
    """Return the document in a YAML or JSON file, read as YAML 1.2.

    Raises SpecError, with line and column, for syntax errors and duplicate keys in a mapping.
    """
    import yaml

    from hooke.cli import yaml12

    try:
        return yaml12.load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError) as error:
        raise SpecError([Fault("", f"{path} is not YAML: {' '.join(str(error).split())}")]) from None


def load_run(
    document: Any,
    variant: str | None = None,
    cluster: str | None = None,
    workers: int | None = None,
    world: str | None = None,
    seed: int | None = None,
) -> RunSpec:
    """Return the run of a `hooke.run/1` document, or one cell of a `hooke.experiment/1` document.

    `workers`, `world` and `seed` override the document. A virtual world without network constants uses the default
    ones. `communication.model_fields_set` tells what the document says of it. Raises SpecError with all faults.
    """
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == EXPERIMENT:
        experiment = validate_experiment(document)
        for hint in of_earlier_names(experiment):
            print(f"warning: {hint.pointer or '/'}: {hint.message}", file=sys.stderr)
        if experiment.tuning is not None:
            print(
                "warning: /tuning: `hooke run` makes no trials: parameters are as given, or defaults",
                file=sys.stderr,
            )
        cell = _cell(experiment, variant, cluster, world)
        run = cell.model_dump(mode="json", by_alias=True)
        run["communication"] = cell.communication.model_dump(mode="json", exclude_unset=True)
    elif schema == RUN:
        if variant or cluster:
            raise SpecError([Fault("/schema", f"--variant and --cluster choose from a {EXPERIMENT} document")])
        run = dict(document)
    else:
        raise SpecError([Fault("/schema", f"expected {RUN!r} or {EXPERIMENT!r}, not {schema!r}")])
    return resolve_run(validate_run(_overridden(run, workers, world, seed)), _calibration)


def _calibration(name: str) -> Calibration:
    """Return the calibration in a file: `hooke run` knows no cluster. Raises CalibrationError."""
    if not Path(name).is_file():
        raise CalibrationError(
            f"{name!r} is not a file: without a server, `like` names the file of a calibration "
            "(`hooke calibrate --save FILE`)"
        )
    return load(Path(name))


def _overridden(run: dict[str, Any], workers: int | None, world: str | None, seed: int | None) -> dict[str, Any]:
    given = {"workers": workers, "world": world, "seed": seed}
    run = run | {key: value for key, value in given.items() if value is not None}
    if world == "virtual" and run.get("virtual") is None:
        groups = run.pop("groups", None)
        run["virtual"] = VirtualCluster().model_dump() | ({"devices": groups} if groups else {})
    if world == "mpi":
        devices = (run.get("virtual") or {}).get("devices") or []
        if devices and all(each.get("kind") in REAL for each in devices):
            run["groups"] = devices  # others are simulated only
        run["virtual"] = None
    return run


def _cell(spec: ExperimentSpec, variant: str | None, cluster: str | None, world: str | None) -> RunSpec:
    names = [v.name for v in spec.variants]
    if variant is None and len(names) > 1:
        raise SpecError([Fault("/variants", f"choose one by --variant: {', '.join(names)}")])
    if variant is not None and variant not in names:
        raise SpecError([Fault("/variants", f"no variant is called {variant!r}; there are: {', '.join(names)}")])
    where = _cluster(spec, cluster, world)
    asked = where.workers[0]
    workers = min(AUTO_WORKERS, usable_cores()) if asked == "auto" else asked
    chosen = spec.variants[names.index(variant) if variant else 0]
    return resolve(spec, chosen, where, workers, spec.first_seed)


def _cluster(spec: ExperimentSpec, name: str | None, world: str | None) -> ClusterChoice:
    """Return the cluster with the given name, otherwise the first of the given world, otherwise the first."""
    if name is not None:
        for choice in spec.clusters:
            if choice.name == name:
                return choice
        known = ", ".join(c.name for c in spec.clusters)
        raise SpecError([Fault("/clusters", f"no cluster is called {name!r}; there are: {known}")])
    fitting = [c for c in spec.clusters if world is None or (c.virtual is not None) == (world == "virtual")]
    return (fitting or spec.clusters)[0]
