"""Expand a valid experiment (see `hooke.catalogue.validation`) into resolved runs.

Algorithms and workloads come from a catalogue (`hooke.catalogue.offers`), by default that of this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hooke.catalogue import capacity
from hooke.catalogue.offers import Catalogue, Offer, here
from hooke.catalogue.validation import (
    Catalogues,
)
from hooke.catalogue.warnings import of_compute_time, of_earlier_names, of_method, of_settings, of_target
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.specification import (
    AlgorithmChoice,
    ClusterChoice,
    ExperimentSpec,
    RunSpec,
    Variant,
    WorkloadChoice,
)

MAX_RUNS = 2000
"""Largest number of cells of an experiment: more are usually a mistake, and are refused."""
AUTO_WORKERS = 4
"""`workers: auto` is min(AUTO_WORKERS, cores)."""

Cell = tuple[str, str, int, int]
"""(variant, cluster, workers, seed) of a reported run."""


@dataclass(frozen=True)
class Location:
    """A cluster of an experiment with a number of workers; `offered` is the catalogue of its host."""

    cluster: ClusterChoice
    workers: int
    offered: Catalogue = field(repr=False)


@dataclass(frozen=True)
class PlannedRun:
    """One cell of an experiment, before it has an id. `cluster` is its label, `host` the cluster that runs it."""

    variant: str
    cluster: str
    host: str
    workers: int
    servers: int
    seed: int
    spec: RunSpec
    offered: Catalogue = field(repr=False, compare=False)
    """The catalogue of its cluster."""
    trial: int | None = None
    """The trial whose setting it has, from 1; None where parameters are as given."""
    rung: int | None = None
    """Of a trial: the rung of its search, from 0. None: the run is reported."""

    @property
    def place(self) -> Cell:
        """Return where and with which seed it runs: one reported run of an experiment has it."""
        return self.variant, self.cluster, self.workers, self.seed

    @property
    def ranks(self) -> int:
        """Return the number of MPI processes."""
        return self.workers + self.servers

    @property
    def slots(self) -> int:
        """Return the cores that it uses: threads of the workers, and one for a server."""
        return self.spec.worker_slots + self.servers


def resolve(
    spec: ExperimentSpec,
    variant: Variant,
    cluster: ClusterChoice,
    workers: int,
    seed: int,
    catalogue: Catalogue | None = None,
) -> RunSpec:
    """Return one cell with all defaults filled in, so that its fingerprint covers every setting."""
    offered = catalogue or here()
    method, workload = offered.algorithms[variant.algorithm], offered.workloads[spec.workload.name]
    trained = workload.resolve(spec.workload.parameters | variant.workload_settings)[0]
    return RunSpec(
        workload=WorkloadChoice(
            name=spec.workload.name,
            parameters=workload.resolve(spec.workload.parameters)[0],
            hash=_source(workload),
        ),
        workload_settings={name: trained[name] for name in variant.workload_settings},
        algorithm=AlgorithmChoice(
            name=variant.algorithm, parameters=method.resolve(variant.parameters)[0], hash=_source(method)
        ),
        communication=variant.communication,
        batch=spec.batch,
        sharding=spec.sharding,
        workers=min(workers, method.max_workers or workers),
        seed=seed,
        world="virtual" if cluster.virtual else "mpi",
        virtual=cluster.virtual,
        groups=cluster.groups,
        budget=spec.budget,
        target=spec.target,
        evaluation=spec.evaluation,
        compute=spec.compute,
        checkpoint_every=spec.checkpoint_every,
        on_bad_worker=spec.on_bad_worker if method.may_drop else "fail",
        trace=spec.trace,
    )


def _source(offer: Offer) -> str | None:
    return offer.hash if offer.own else None


def unknown_clusters(spec: ExperimentSpec, cores: dict[str, int]) -> list[Fault]:
    """Return a fault for each cluster of an experiment that is not registered."""
    known = ", ".join(sorted(cores)) or "none yet"
    return [
        Fault(
            pointer("clusters", i, "computed_on" if cluster.computed_on else "name"),
            f"no cluster {cluster.host!r} is registered; known: {known}",
        )
        for i, cluster in enumerate(spec.clusters)
        if cluster.host not in cores
    ]


def locations(spec: ExperimentSpec, cores: dict[str, int], catalogues: Catalogues | None = None) -> list[Location]:
    """Return the clusters of an experiment with each number of workers, as they are listed.

    `cores` maps each registered cluster to the number of cores that one run may use there. Raises SpecError for an
    unknown cluster.
    """
    if faults := unknown_clusters(spec, cores):
        raise SpecError(faults)
    local = None if catalogues else here()
    return [
        Location(
            cluster,
            min(AUTO_WORKERS, cores[cluster.host]) if asked == "auto" else asked,
            local or (catalogues or {})[cluster.host],
        )
        for cluster in spec.clusters
        for asked in cluster.workers
    ]


def cell(spec: ExperimentSpec, variant: Variant, location: Location, seed: int) -> PlannedRun:
    """Return one run of an experiment."""
    cluster, offered = location.cluster, location.offered
    run = resolve(spec, variant, cluster, location.workers, seed, offered)
    servers = offered.algorithms[variant.algorithm].servers
    return PlannedRun(variant.name, cluster.name, cluster.host, run.workers, servers, run.seed, run, offered)


def check_number(count: int) -> None:
    """Raise SpecError if an experiment has more than MAX_RUNS runs."""
    if count > MAX_RUNS:
        why = f"{count} runs; at most {MAX_RUNS} fit in one experiment: choose fewer seeds, variants or clusters"
        raise SpecError([Fault("/clusters", why)])


def expand(spec: ExperimentSpec, cores: dict[str, int], catalogues: Catalogues | None = None) -> list[PlannedRun]:
    """Return the runs of an experiment without tuning, each once.

    Seeds vary slowest, so that early results cover all variants. Raises SpecError as `locations` does, and for
    more than MAX_RUNS runs or parameters that cannot run on a number of workers.
    """
    found = locations(spec, cores, catalogues)
    check_number(len(spec.variants) * sum(each.cluster.seeds for each in found))
    planned: dict[Cell, PlannedRun] = {}
    for cluster in spec.clusters:
        for offset in range(cluster.seeds):
            for location in (each for each in found if each.cluster is cluster):
                for variant in spec.variants:
                    run = cell(spec, variant, location, spec.first_seed + offset)
                    # several worker counts of a sequential method, or `auto` and a number, may be the same cell
                    planned[run.place] = run
    check_runs(spec, planned.values())
    return list(planned.values())


def check_runs(spec: ExperimentSpec, planned: Iterable[PlannedRun]) -> None:
    """Raise SpecError for parameters that cannot run on a number of workers, or in their memory."""
    if faults := _of_each(spec, planned, _faults):
        raise SpecError(faults)


def check_memory(spec: ExperimentSpec, planned: Iterable[PlannedRun]) -> None:
    """Raise SpecError for runs that do not fit in the memory of virtual devices; of trials for the first."""
    if faults := _of_each(spec, planned, lambda run: capacity.faults(run.spec)):
        raise SpecError(faults)


def _faults(run: PlannedRun) -> list[str]:
    chosen = run.spec.algorithm
    own = run.offered.algorithms[chosen.name].faults(chosen.parameters, run.workers)
    return [*own, *([] if own else capacity.faults(run.spec))]


def experiment_warnings(spec: ExperimentSpec, planned: Iterable[PlannedRun]) -> list[Fault]:
    """Return the warnings on these runs, each once per variant or cluster."""
    planned = list(planned)

    def say(run: PlannedRun) -> list[str]:
        # a space may reach settings that a method warns of: trials find out
        said = [] if run.rung is not None else [warning.message for warning in of_method(run.spec, run.offered)]
        said += [] if run.rung is not None else capacity.told(run.spec)
        if spec.on_bad_worker == "drop" and not run.offered.algorithms[run.spec.algorithm.name].may_drop:
            said.append("the method cannot continue without a worker: NaN or Inf on one of them fails the run")
        return said

    found = _of_each(spec, planned, say)
    found += dict.fromkeys(warning for run in planned for warning in of_target(run.spec, run.offered))
    found += [*of_earlier_names(spec), *of_settings(spec)]
    for i, cluster in enumerate(spec.clusters):
        place = pointer("clusters", i, "virtual", "compute_seconds_per_sample")
        found += [Fault(place, why) for why in of_compute_time(cluster.virtual)] if cluster.virtual else []
    return found


def _of_each(
    spec: ExperimentSpec, planned: Iterable[PlannedRun], say: Callable[[PlannedRun], list[str]]
) -> list[Fault]:
    """Return the messages on the runs, by variant; equal messages for several numbers of workers are combined."""
    said: dict[tuple[str, str], set[int]] = {}
    asked = set()
    for run in planned:
        if (cell := (run.variant, run.cluster, run.workers)) not in asked:
            asked.add(cell)  # seeds change nothing
            for text in say(run):
                said.setdefault((run.variant, text), set()).add(run.workers)
    places = {variant.name: pointer("variants", i, "parameters") for i, variant in enumerate(spec.variants)}
    return [
        Fault(places[name], f"with {', '.join(map(str, sorted(workers)))} worker{'s' * (workers != {1})}: {text}")
        for (name, text), workers in said.items()
    ]
