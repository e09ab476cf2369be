"""Validate specifications with a JSON Pointer for each fault, and expand an experiment into runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from hooke import algorithm as algorithms
from hooke import workload as workloads
from hooke.errors import NotFound, Problem, SpecError
from hooke.spec import AlgorithmChoice, ClusterChoice, ExperimentSpec, RunSpec, Variant, WorkloadChoice

MAX_RUNS = 2000
"""More cells than this in one experiment is refused: it is a mistake more often than a wish."""
AUTO_WORKERS = 4
"""`workers: auto` is min(AUTO_WORKERS, cores)."""


@dataclass(frozen=True)
class PlannedRun:
    """One cell of an experiment, before it has an id. `cluster` is the label, `host` takes the slots."""

    variant: str
    cluster: str
    host: str
    workers: int
    seed: int
    spec: RunSpec


def pointer(*parts: object) -> str:
    """Return an RFC 6901 JSON Pointer of the given path."""
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in parts)


def _place(document: Any, loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the part of pydantic's location that is a place in the document, or a key missing from it.

    The rest names a branch of a union, which a document does not have.
    """
    node = document
    for depth, part in enumerate(loc):
        if isinstance(node, dict) and isinstance(part, str):
            if part not in node:
                return loc[: depth + 1]
            node = node[part]
        elif isinstance(node, (list, tuple)) and isinstance(part, int) and part < len(node):
            node = node[part]
        else:
            return loc[:depth]
    return loc


def _faults(error: ValidationError, document: Any, *prefix: object) -> list[Problem]:
    """Return one problem per place; what each branch of a union expected is joined by `or`."""
    found: dict[str, list[str]] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        found.setdefault(pointer(*prefix, *_place(document, item["loc"])), []).append(item["msg"])
    return [Problem(place, ", or: ".join(dict.fromkeys(said))) for place, said in found.items()]


def _parameters(kind: Any, values: dict[str, Any], *prefix: object) -> tuple[BaseModel | None, list[Problem]]:
    try:
        return kind.model_validate(values), []
    except ValidationError as error:
        return None, _faults(error, values, *prefix, "parameters")


def _check_workload(choice: WorkloadChoice) -> list[Problem]:
    try:
        return _parameters(workloads.workload(choice.name), choice.parameters, "workload")[1]
    except NotFound as error:
        return [Problem("/workload/name", str(error))]


def _check_algorithm(name: str, values: dict[str, Any], key: str, *prefix: object) -> list[Problem]:
    try:
        return _parameters(algorithms.algorithm(name), values, *prefix)[1]
    except NotFound as error:
        return [Problem(pointer(*prefix, key), str(error))]


def _twice(names: Sequence[object]) -> list[int]:
    return [i for i, name in enumerate(names) if name in names[:i]]


def _check_cluster(cluster: ClusterChoice, *prefix: object) -> list[Problem]:
    found = [
        Problem(pointer(*prefix, "workers", j), "this number of workers is listed twice")
        for j in _twice(cluster.workers)
    ]
    if cluster.on and not cluster.virtual:
        found.append(Problem(pointer(*prefix, "on"), "only a virtual cluster is computed on another one"))
    if cluster.virtual and not cluster.on:
        found.append(Problem(pointer(*prefix, "on"), "name the cluster that computes this virtual one"))
    if cluster.virtual and "auto" in cluster.workers:
        found.append(Problem(pointer(*prefix, "workers"), "a virtual cluster needs a number of workers"))
    return found


def validate_experiment(document: Any) -> ExperimentSpec:
    """Return the experiment that a JSON-like document describes, or raise SpecError with every fault."""
    try:
        spec = ExperimentSpec.model_validate(document)
    except ValidationError as error:
        raise SpecError(_faults(error, document)) from None
    problems = _check_workload(spec.workload)
    for i, variant in enumerate(spec.variants):
        problems += _check_algorithm(variant.algorithm, variant.parameters, "algorithm", "variants", i)
    for i in _twice([v.name for v in spec.variants]):
        problems.append(Problem(f"/variants/{i}/name", "another variant has the same name"))
    for i in _twice([c.name for c in spec.clusters]):
        problems.append(Problem(f"/clusters/{i}/name", "another cluster has the same name"))
    for i, cluster in enumerate(spec.clusters):
        problems += _check_cluster(cluster, "clusters", i)
    if spec.baseline not in [v.name for v in spec.variants]:
        problems.append(Problem("/baseline", "no variant has this name"))
    if spec.target and spec.target.metric == "test_accuracy" and not 0 < spec.target.value <= 1:
        problems.append(Problem("/target/value", "an accuracy lies in (0, 1]"))
    if spec.evaluation.every * 10_000 < spec.budget.samples:
        problems.append(Problem("/evaluation/every", "more than 10,000 evaluations fit in the budget"))
    if problems:
        raise SpecError(problems)
    return spec


def validate_run(document: Any) -> RunSpec:
    """Return the resolved run that a JSON-like document describes, or raise SpecError with every fault."""
    try:
        spec = RunSpec.model_validate(document)
    except ValidationError as error:
        raise SpecError(_faults(error, document)) from None
    problems = _check_workload(spec.workload)
    problems += _check_algorithm(spec.algorithm.name, spec.algorithm.parameters, "name", "algorithm")
    if spec.world == "virtual" and spec.virtual is None:
        problems.append(Problem("/virtual", "the virtual world needs the constants of its network"))
    if not problems:
        most = algorithms.algorithm(spec.algorithm.name).max_workers
        if most is not None and spec.workers > most:
            problems.append(Problem("/workers", f"{spec.algorithm.name} runs on at most {most} worker(s)"))
        problems += [Problem("/workers", why) for why in _chosen(spec).faults(spec.workers)]
    if problems:
        raise SpecError(problems)
    return spec


def _chosen(spec: RunSpec) -> algorithms.Algorithm:
    return algorithms.algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)


def cautions(spec: RunSpec) -> list[Problem]:
    """Return what a user should know before this valid run starts: stability bounds, say; it runs all the same."""
    return [Problem("/algorithm/parameters", why) for why in _chosen(spec).cautions(spec.workers)]


def resolve(spec: ExperimentSpec, variant: Variant, cluster: ClusterChoice, workers: int, seed: int) -> RunSpec:
    """Return one cell with every default written out, so that its fingerprint says all that mattered."""
    algorithm = algorithms.algorithm(variant.algorithm)
    workload = workloads.workload(spec.workload.name)
    most = algorithm.max_workers or workers
    return RunSpec(
        workload=WorkloadChoice(
            name=spec.workload.name,
            parameters=workload.model_validate(spec.workload.parameters).model_dump(mode="json"),
        ),
        algorithm=AlgorithmChoice(
            name=variant.algorithm,
            parameters=algorithm.model_validate(variant.parameters).model_dump(mode="json"),
        ),
        communication=variant.communication,
        batch=spec.batch,
        sharding=spec.sharding,
        workers=min(workers, most),
        seed=seed,
        world="virtual" if cluster.virtual else "mpi",
        virtual=cluster.virtual,
        budget=spec.budget,
        target=spec.target,
        evaluation=spec.evaluation,
        compute=spec.compute,
        checkpoint_every=spec.checkpoint_every,
        on_bad_worker=spec.on_bad_worker,
    )


def expand(spec: ExperimentSpec, cores: dict[str, int]) -> list[PlannedRun]:
    """Return the runs of an experiment, each once, seeds outermost so that early results cover every variant.

    `cores` maps each registered cluster to the cores one run may use there; an unknown cluster, or a product
    of more than MAX_RUNS cells, raises SpecError.
    """
    problems = []
    for i, cluster in enumerate(spec.clusters):
        if cluster.host not in cores:
            field = "on" if cluster.virtual else "name"
            known = ", ".join(sorted(cores)) or "none yet"
            problems.append(
                Problem(f"/clusters/{i}/{field}", f"no cluster {cluster.host!r} is registered; known: {known}")
            )
    count = len(spec.variants) * sum(len(c.workers) * c.seeds for c in spec.clusters)
    if count > MAX_RUNS:
        problems.append(Problem("/clusters", f"{count} runs; at most {MAX_RUNS} fit in one experiment"))
    if problems:
        raise SpecError(problems)
    planned = {}
    for cluster in spec.clusters:
        for offset in range(cluster.seeds):
            for asked in cluster.workers:
                workers = min(AUTO_WORKERS, cores[cluster.host]) if asked == "auto" else asked
                for variant in spec.variants:
                    run = resolve(spec, variant, cluster, workers, spec.first_seed + offset)
                    # a sequential method meets itself at several worker counts, and so may `auto` and a number
                    cell = (variant.name, cluster.name, run.workers, run.seed)
                    planned[cell] = PlannedRun(cell[0], cell[1], cluster.host, cell[2], cell[3], run)
    return list(planned.values())
