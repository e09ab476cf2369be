"""Validate specifications with a JSON Pointer for each fault, and expand an experiment into runs."""

from __future__ import annotations

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


def _faults(error: ValidationError, *prefix: object) -> list[Problem]:
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        loc = [p for p in item["loc"] if not (isinstance(p, str) and p.startswith(("literal[", "constrained-")))]
        if loc[:1] and loc[-1] == "int" and item["loc"][:-1]:
            loc = loc[:-1]  # the branch of a union is not a place in the document
        found.append(Problem(pointer(*prefix, *loc), item["msg"]))
    return found


def _parameters(kind: Any, values: dict[str, Any], *prefix: object) -> tuple[BaseModel | None, list[Problem]]:
    try:
        return kind.model_validate(values), []
    except ValidationError as error:
        return None, _faults(error, *prefix, "parameters")


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


def _twice(names: list[str]) -> list[int]:
    return [i for i, name in enumerate(names) if name in names[:i]]


def validate_experiment(document: Any) -> ExperimentSpec:
    """Return the experiment that a JSON-like document describes, or raise SpecError with every fault."""
    try:
        spec = ExperimentSpec.model_validate(document)
    except ValidationError as error:
        raise SpecError(_faults(error)) from None
    problems = _check_workload(spec.workload)
    for i, variant in enumerate(spec.variants):
        problems += _check_algorithm(variant.algorithm, variant.parameters, "algorithm", "variants", i)
    for i in _twice([v.name for v in spec.variants]):
        problems.append(Problem(f"/variants/{i}/name", "another variant has the same name"))
    for i in _twice([c.name for c in spec.clusters]):
        problems.append(Problem(f"/clusters/{i}/name", "another cluster has the same name"))
    for i, cluster in enumerate(spec.clusters):
        if cluster.on and not cluster.virtual:
            problems.append(Problem(f"/clusters/{i}/on", "only a virtual cluster is computed on another one"))
        if cluster.virtual and not cluster.on:
            problems.append(Problem(f"/clusters/{i}/on", "name the cluster that computes this virtual one"))
        if cluster.virtual and "auto" in cluster.workers:
            problems.append(Problem(f"/clusters/{i}/workers", "a virtual cluster needs a number of workers"))
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
        raise SpecError(_faults(error)) from None
    problems = _check_workload(spec.workload)
    problems += _check_algorithm(spec.algorithm.name, spec.algorithm.parameters, "name", "algorithm")
    if spec.world == "virtual" and spec.virtual is None:
        problems.append(Problem("/virtual", "the virtual world needs the constants of its network"))
    if not problems:
        most = algorithms.algorithm(spec.algorithm.name).max_workers
        if most is not None and spec.workers > most:
            problems.append(Problem("/workers", f"{spec.algorithm.name} runs on at most {most} worker(s)"))
    if problems:
        raise SpecError(problems)
    return spec


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
    )


def expand(spec: ExperimentSpec, cores: dict[str, int]) -> list[PlannedRun]:
    """Return the runs of an experiment, seeds outermost so that early results cover every variant.

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
    planned = []
    for cluster in spec.clusters:
        for offset in range(cluster.seeds):
            for asked in cluster.workers:
                workers = min(AUTO_WORKERS, cores[cluster.host]) if asked == "auto" else asked
                for variant in spec.variants:
                    run = resolve(spec, variant, cluster, workers, spec.first_seed + offset)
                    planned.append(
                        PlannedRun(variant.name, cluster.name, cluster.host, run.workers, run.seed, run)
                    )
    return planned
