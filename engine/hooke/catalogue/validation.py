"""Validate specifications, with a JSON Pointer for each fault.

Algorithms and workloads come from a catalogue (`hooke.catalogue.offers`), by default that of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hooke.catalogue import capacity, groups, narrow
from hooke.catalogue.chosen_clusters import check_cluster, twice
from hooke.catalogue.joined import Searchable, offer_of
from hooke.catalogue.lacking import conflict, unknown
from hooke.catalogue.offers import AlgorithmOffer, Catalogue, Offer, WorkloadOffer, here
from hooke.catalogue.partial import further
from hooke.catalogue.searched import MOST_EVALUATIONS, check_search, check_tuning, given_by_trials, too_often
from hooke.errors import Fault, SpecError
from hooke.spec.communication import Communication
from hooke.spec.pointers import faults as told
from hooke.spec.pointers import meant, pointer
from hooke.spec.specification import (
    AlgorithmChoice,
    ExperimentSpec,
    RunSpec,
    Target,
    Variant,
    VirtualCluster,
    WorkloadChoice,
)
from hooke.spec.sweeps import expanded

Catalogues = Mapping[str, Catalogue]
"""Registered cluster -> its catalogue."""


def _check_communication(chosen: Communication, simulated: bool, *prefix: object) -> list[Fault]:
    if chosen.collective != "library":
        return []
    found = []
    if chosen.wire != "fp32":
        why = f"the MPI library cannot add {chosen.wire}: choose another collective, or fp32"
        found.append(Fault(pointer(*prefix, "communication", "wire"), why))
    if simulated:
        why = "a virtual cluster has no MPI library: choose tree, halving or ring"
        found.append(Fault(pointer(*prefix, "communication", "collective"), why))
    return found


def _check_wire(chosen: Communication, name: str, method: AlgorithmOffer, *prefix: object) -> list[Fault]:
    """Refuse the wire types that would destroy what a method sends."""
    if method.compressible or chosen.wire not in ("sign", "top-k"):
        return []
    why = (
        f"{name} sends values that continue no earlier message, so that what {chosen.wire} takes of them would be "
        "lost: choose int8, bf16, fp16 or fp32"
    )
    if method.encodes_itself:
        why = f"{name} encodes its messages itself: choose fp32"
    return [Fault(pointer(*prefix, "communication", "wire"), why)]


def _check_sharding(sharding: str, name: str, method: AlgorithmOffer, *place: object) -> list[Fault]:
    """Refuse to hand out batches where nobody does."""
    if sharding != "dispatched" or method.coordination != "lock-free":
        return []
    why = (
        f"in {name} no server hands out batches, and workers take unequal numbers of them, so that no epoch would "
        "have every item once: choose iid or disjoint data, or leave this method out"
    )
    return [Fault(pointer(*place), why)]


def _check_target(target: Target | None) -> list[Fault]:
    if target is None:
        return []
    if target.part == "test":
        instead = target.metric.replace("test", "validation")
        why = f"targets refer to the validation part: write {instead} instead of {target.metric}"
        return [Fault("/target/metric", f"{why} (the test part is scored once, after the run)")]
    if target.of_accuracy and not 0 < target.value <= 1:
        return [Fault("/target/value", "an accuracy lies in (0, 1]")]
    return []


def _check_stores(
    method: AlgorithmOffer, values: Mapping[str, Any], virtual: VirtualCluster | None, *prefix: object
) -> list[Fault]:
    """Refuse plain stores if ranks share no memory; on a real cluster only the run itself can check this."""
    name = method.updates_field
    if name is None or virtual is None or virtual.shares_memory or method.resolve(values)[0].get(name) != "plain":
        return []
    why = (
        "plain loads and stores need a center in shared memory, but in this virtual cluster messages take time: "
        "choose `atomic`, or `auto`, which is atomic there; or set latency and seconds_per_byte to 0, which means "
        "the memory of one host"
    )
    return [Fault(pointer(*prefix, "parameters", name), why)]


def _check_choice(
    kind: str, name: str, values: dict[str, Any], catalogues: Catalogues, key: str, *prefix: object
) -> list[Fault]:
    """Return the faults of an algorithm or workload, whose name is at `prefix`/`key`, and of its parameters."""
    offers: dict[str, Offer] = {
        host: offer
        for host, catalogue in catalogues.items()
        if (offer := getattr(catalogue, f"{kind}s").get(name)) is not None
    }
    place = pointer(*prefix, key)
    if lacking := [host for host in catalogues if host not in offers]:
        return [Fault(place, unknown(kind, name, catalogues, lacking))]
    if wrong := conflict(kind, name, offers):
        return [Fault(place, wrong)]
    faults = [each for offer in offers.values() for each in offer.resolve(values, *prefix, "parameters")[1]]
    return list(dict.fromkeys(faults))  # clusters with the same offer have the same faults


def _check_settings(
    chosen: WorkloadChoice, settings: dict[str, Any], offer: WorkloadOffer | None, *prefix: object
) -> list[Fault]:
    """Return the faults of the parameters of a workload that a variant sets."""
    if offer is None or not settings:
        return []
    known = ", ".join(sorted(offer.per_variant)) or "none"
    place = (*prefix, "workload_settings")
    fixed = [
        Fault(pointer(*place, name), f"a variant cannot set this parameter of {chosen.name}; it may set: {known}")
        for name in settings
        if name not in offer.per_variant
    ]
    if fixed or offer.resolve(chosen.parameters)[1]:
        return fixed
    return offer.resolve(chosen.parameters | settings, *place)[1]


def _searched(spec: ExperimentSpec, variant: Variant, offered: Catalogues) -> list[Searchable]:
    """Return what a variant searches on each cluster, once where they offer the same."""
    found: dict[tuple[int, int], Searchable] = {}
    begun = spec.tuning.spaces.get(variant.algorithm) if spec.tuning else None
    for catalogue in offered.values():
        method = catalogue.algorithms.get(variant.algorithm)
        workload = catalogue.workloads.get(spec.workload.name)
        if method is not None:
            whole = method if workload is None else offer_of(variant, method, workload, spec.workload, begun)
            found.setdefault((id(method), id(workload)), whole)
    return list(found.values())


def _of(spec: ExperimentSpec, catalogues: Catalogues | None) -> Catalogues:
    """Return the catalogue of every known host of an experiment; `expand` reports unknown ones."""
    if catalogues is None:
        return {"": here()}
    known = {c.host: catalogues[c.host] for c in spec.clusters if c.host in catalogues}
    return known or {"": here()}


def parse_experiment(document: Any) -> ExperimentSpec:
    """Return the experiment that a JSON-like document describes; only its form is checked. Raises SpecError."""
    try:
        return ExperimentSpec.model_validate(document)
    except ValidationError as error:
        raise SpecError(told(error, document)) from None


def check_experiment(spec: ExperimentSpec, catalogues: Catalogues | None = None) -> None:
    """Raise SpecError with all faults of an experiment that has the right form.

    Every cluster of the experiment must offer its algorithms and workload, from the same sources; `expand` checks
    clusters without an entry in `catalogues`.
    """
    offered = _of(spec, catalogues)
    chosen = spec.workload
    faults = _check_choice("workload", chosen.name, chosen.parameters, offered, "name", "workload")
    if not faults:
        sources = [catalogue.workloads[chosen.name] for catalogue in offered.values()]
        faults = [each for source in sources for each in _check_source("workload", chosen, source)][:1]
    for i, variant in enumerate(spec.variants):
        place = ("algorithm", "variants", i)
        wrong = wrong_parameters = _check_choice(
            "algorithm", variant.algorithm, variant.parameters, offered, *place
        )
        offers = {id(o): o for c in offered.values() if (o := c.algorithms.get(variant.algorithm))}.values()
        of_trials = given_by_trials(spec, i, offers)
        faults += [each for each in wrong if each.pointer not in of_trials]
        for searched in _searched(spec, variant, offered):
            faults += [each for each in check_search(variant, searched, "variants", i) if each not in faults]
        for cluster in spec.clusters:
            method = offered.get(cluster.host, next(iter(offered.values()))).algorithms.get(variant.algorithm)
            wrong = _check_stores(method, variant.parameters, cluster.virtual, "variants", i) if method else []
            wrong += _check_wire(variant.communication, variant.algorithm, method, "variants", i) if method else []
            wrong += _check_sharding(spec.sharding, variant.algorithm, method, "sharding") if method else []
            faults += [each for each in wrong if each not in faults]
        for source in offered.values():
            wrong = _check_settings(
                chosen, variant.workload_settings, source.workloads.get(chosen.name), "variants", i
            )
            faults += [each for each in wrong if each not in faults]
        if offers and not wrong_parameters:
            method = next(iter(offers))
            faults += groups.check_methods(spec, i, method)
            wrong = [
                each
                for source in offered.values()
                for each in narrow.check_variant(spec, i, method, source.workloads.get(chosen.name))
            ]
            faults += [each for each in dict.fromkeys(wrong) if each not in faults]
        simulated = any(c.virtual for c in spec.clusters)
        faults += _check_communication(variant.communication, simulated, "variants", i)
    names = [v.name for v in spec.variants]
    for i in twice(names):
        faults.append(Fault(f"/variants/{i}/name", "another variant has the same name: give each its own"))
    for i in twice([c.name for c in spec.clusters]):
        faults.append(Fault(f"/clusters/{i}/name", "another cluster has the same name: give each its own"))
    for i, cluster in enumerate(spec.clusters):
        faults += [
            *check_cluster(cluster, "clusters", i),
            *groups.check_cluster(cluster, spec.batch, "clusters", i),
        ]
    if spec.baseline not in names:
        faults.append(Fault("/baseline", f"no variant has this name{meant(spec.baseline, names)}"))
    faults += [*_check_target(spec.target), *check_tuning(spec), *groups.check_threads(spec.compute)]
    if spec.evaluation.every * MOST_EVALUATIONS < spec.budget.samples:
        faults.append(Fault("/evaluation/every", too_often(spec.budget.samples, "the budget")))
    if faults:
        raise SpecError(faults)


def validate_experiment(document: Any, catalogues: Catalogues | None = None) -> ExperimentSpec:
    """Return the experiment that a JSON-like document describes, or raise SpecError with all faults.

    It has one variant for each value of a sweep.
    """

    def checked(read: ExperimentSpec) -> ExperimentSpec:
        plain = expanded(read)
        with plain.telling() as spec:
            check_experiment(spec, catalogues)
        return spec

    try:
        read = parse_experiment(document)
    except SpecError as error:
        raise SpecError([*error.faults, *further(document, error.faults, checked)]) from None
    return checked(read)


def validate_run(document: Any, catalogue: Catalogue | None = None) -> RunSpec:
    """Return the resolved run that a JSON-like document describes, or raise SpecError with all faults."""
    try:
        spec = RunSpec.model_validate(document)
    except ValidationError as error:
        raise SpecError(told(error, document)) from None
    offered = catalogue or here()
    only = {"": offered}
    faults = _check_choice("workload", spec.workload.name, spec.workload.parameters, only, "name", "workload")
    faults += _check_settings(spec.workload, spec.workload_settings, offered.workloads.get(spec.workload.name))
    faults += _check_choice("algorithm", spec.algorithm.name, spec.algorithm.parameters, only, "name", "algorithm")
    faults += _check_communication(spec.communication, spec.world == "virtual")
    faults += [*_check_target(spec.target), *groups.check_threads(spec.compute)]
    if spec.world == "virtual" and spec.virtual is None:
        faults.append(Fault("/virtual", "the virtual world needs a network: `virtual: {}` is the usual one"))
    if spec.world == "mpi" and spec.virtual is not None:
        why = "constants of a simulated network belong to `world: virtual`: choose it, or leave them out"
        faults.append(Fault("/virtual", why))
    if not faults:
        method = offered.algorithms[spec.algorithm.name]
        network = spec.virtual if spec.world == "virtual" else None
        faults += _check_stores(method, spec.algorithm.parameters, network, "algorithm")
        faults += _check_wire(spec.communication, spec.algorithm.name, method)
        faults += _check_sharding(spec.sharding, spec.algorithm.name, method, "sharding")
        faults += groups.check_run(spec, method)
        faults += narrow.check_run(spec, method, offered.workloads[spec.workload.name])
        faults += _check_source("algorithm", spec.algorithm, method)
        faults += _check_source("workload", spec.workload, offered.workloads[spec.workload.name])
        if method.max_workers is not None and spec.workers > method.max_workers:
            why = f"at most {method.max_workers} with {spec.algorithm.name}: choose fewer, or another algorithm"
            faults.append(Fault("/workers", why))
        wrong = method.faults(spec.algorithm.parameters, spec.workers)
        faults += [Fault("/workers", why) for why in wrong]
        faults += [] if wrong else [Fault("/batch", why) for why in capacity.faults(spec)]
    if faults:
        raise SpecError(faults)
    return spec


def _check_source(kind: str, choice: AlgorithmChoice | WorkloadChoice, offer: Offer) -> list[Fault]:
    if choice.hash is None or choice.hash == offer.hash:
        return []
    why = (
        f"the source of {choice.name!r} here differs from the planned one (SHA-256 "
        f"{(offer.hash or 'unknown')[:12]}, planned {choice.hash[:12]}): restore the file, or submit again"
    )
    return [Fault(f"/{kind}/hash", why)]
