"""Reads a specification file, applies command line options, and returns one resolved run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hooke.calibration.constants import resolve_run
from hooke.calibration.documents import Calibration, load
from hooke.catalogue.expand import AUTO_WORKERS, resolve
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.catalogue.warnings import of_earlier_names
from hooke.cli.real_workers import real_workers
from hooke.errors import ArgumentError, CalibrationError, Fault, SpecError
from hooke.hardware.description import usable_cores
from hooke.spec.specification import ClusterChoice, ExperimentSpec, RunSpec, VirtualCluster

EXPERIMENT, RUN = "hooke.experiment/1", "hooke.run/1"
MOST_WORKERS = 4096
"""Of a run, as its specification limits them."""

REMEDIES = (
    ("'\\t'", "indent with blanks, not with tabs"),
    ("cannot start any token", "quote the text"),
    ("twice", "keep one of them"),
    ("expected ',' or", "close the bracket, or quote a text that has a comma or a bracket"),
    ("expected <block end>", "check the indentation of this line and of those above it"),
    ("mapping values are not allowed", "check the indentation, and quote a text that has a colon and a blank"),
    ("could not find expected ':'", "write `key: value`, with a blank behind the colon"),
)
"""What to do, by words of what PyYAML says."""


def read(path: Path) -> Any:
    """Return the document in a YAML or JSON file, read as YAML 1.2.

    Raises ArgumentError, with line and column, for syntax errors and duplicate keys in a mapping; OSError.
    """
    import yaml

    from hooke.cli import yaml12

    try:
        text = path.read_text(encoding="utf-8")
        found = _json(text)
        return yaml12.load(text) if found is None else found
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is not YAML: {_why(error)}") from None


def _json(text: str) -> dict[str, Any] | None:
    """Return the object in a JSON text, which tabs may indent, unlike YAML; None: let YAML say what it is."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        return dict(json.loads(text.lstrip("\ufeff"), object_pairs_hook=_unique))
    except (ValueError, RecursionError):
        return None


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises ValueError if it has a key twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(key)
        found[key] = value
    return found


def _why(error: Exception) -> str:
    """Return where and why a text is not YAML, and what to do."""
    import yaml

    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 from byte {error.start + 1:,} on: save it in UTF-8"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    mark, said = error.problem_mark, " ".join(str(error.problem).split())
    remedy = next((f": {what}" for known, what in REMEDIES if known in said), "")
    return f"line {mark.line + 1}, column {mark.column + 1}: {said}{remedy}"


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
    ones; in a real one workers differ as those of the simulated one. `communication.model_fields_set` tells what
    the document says of it. Raises SpecError with all faults.
    """
    if not isinstance(document, dict):
        what = "empty" if document is None else f"a {'list' if isinstance(document, list) else 'single value'}"
        raise SpecError([Fault("", f"the file is {what}: fields are expected, such as `schema: {EXPERIMENT}`")])
    schema = document.get("schema", EXPERIMENT if "variants" in document else RUN)  # as where they are submitted
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
        raise SpecError([Fault("/schema", f"write {RUN!r} or {EXPERIMENT!r}, not {schema!r}")])
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
    simulated = run.get("world") == "virtual"
    run = run | {key: value for key, value in given.items() if value is not None}
    if world == "virtual" and run.get("virtual") is None:
        groups = run.pop("groups", None)
        run["virtual"] = VirtualCluster().model_dump() | ({"devices": groups} if groups else {})
    if world == "mpi":
        number = run.get("workers", 1)
        if simulated and isinstance(number, int) and 0 < number <= MOST_WORKERS:  # others are told of later
            groups, told = real_workers(run.get("virtual") or {}, number, _device(run))
            run |= {"groups": groups} if groups else {}
            for each in told:
                print(f"warning: /virtual: {each}", file=sys.stderr)
        run["virtual"] = None
    return run


def _device(run: Mapping[str, Any]) -> str:
    """Return where workers without a kind compute."""
    compute = run.get("compute")
    return str(compute.get("device")) if isinstance(compute, Mapping) else "auto"


def _cell(spec: ExperimentSpec, variant: str | None, cluster: str | None, world: str | None) -> RunSpec:
    names = [v.name for v in spec.variants]
    if variant is None and len(names) > 1:
        raise SpecError([Fault("/variants", f"choose one by --variant: {', '.join(map(repr, names))}")])
    if variant is not None and variant not in names:
        known = ", ".join(map(repr, names))
        raise SpecError([Fault("/variants", f"no variant is called {variant!r}; there are: {known}")])
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
