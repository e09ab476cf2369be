"""Builds the network with a wide output layer that the workload `xmlc-mlp` describes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from hooke.catalogue.workload import Place
from hooke.errors import LaunchError
from hooke.hashing.active import Assembler
from hooke.hashing.families import make_family
from hooke.hashing.family import Family
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.hashing.threads import Threads
from hooke.objective import active_labels
from hooke.objective.bags import BagPart, Subset
from hooke.objective.device import threads as threads_of
from hooke.objective.item_sets import ItemObjective, RandomSets, SlideSets
from hooke.objective.slide import Rebuilt, Slide
from hooke.objective.wide import WideObjective
from hooke.objective.wide_settings import WideSettings

Kind = TypeVar("Kind", bound=Rebuilt)
Parts = tuple[BagPart, BagPart, BagPart | None]
"""Training, test and validation part, the last one if it is apart."""


def objective_of(workload: WideSettings, parts: Parts, place: Place) -> WideObjective:
    """Return the objective of one rank on training, test and validation part, the last one if it is apart.

    Raises LaunchError for what its device cannot compute."""
    of_items = workload.sets == "item" and workload.output in ("random-active", "slide")
    if place.compute.device == "cuda" and (of_items or workload.weights == "bf16"):
        what = "an active set for each item" if of_items else "weights in bf16"
        raise LaunchError(
            f"{workload.id()} computes with {what} on the CPU alone: choose the device `auto` or `cpu`"
        )
    parts = (parts[0], _shortened(parts[1], workload.test_items), parts[2])
    train, test, validation = parts
    if of_items:
        return _of_items(workload, parts, place)
    layer, narrow = layer_of(workload, train, place), workload.weights == "bf16"
    return WideObjective(
        train,
        test,
        workload.hidden,
        layer,
        validation_items=workload.validation_items,
        place=place,
        narrow=narrow,
        validation=validation,
    )


def _of_items(workload: WideSettings, parts: Parts, place: Place) -> WideObjective:
    """Return the objective with an active set for each item. Raises LaunchError if one has too many labels."""
    train, test, validation = parts
    assembler, most = assembler_of(workload, train.label_count, place), int(train.label_counts.max(initial=0))
    if most + assembler.uniform > assembler.cap < train.label_count:
        raise LaunchError(
            f"an item has {most} labels, which with {assembler.uniform} uniform ones exceed an active set of "
            f"{assembler.cap}: raise `active`, lower `uniform_share`, or choose `sets: batch`"
        )
    threads = Threads(threads_of(place.compute))
    sets = (
        _set(workload, SlideSets(*_hashed(workload, train.label_count, place), threads))
        if workload.output == "slide"
        else RandomSets(assembler, threads)
    )
    return ItemObjective(
        train,
        test,
        workload.hidden,
        sets,
        validation_items=workload.validation_items,
        place=place,
        narrow=workload.weights == "bf16",
        validation=validation,
    )


def _shortened(test: BagPart, items: int) -> BagPart:
    """Return the first items of the test part; 0: all."""
    return Subset(test, np.arange(items, dtype=np.int64)) if 0 < items < len(test) else test


def layer_of(workload: WideSettings, train: BagPart, place: Place) -> active_labels.Layer:
    """Return what chooses the active set of a batch; log-uniform negatives follow the frequencies of `train`."""
    labels = train.label_count
    if workload.output == "sampled":
        skewed = workload.distribution == "log-uniform"
        order = active_labels.by_frequency(train.label_frequencies()) if skewed else None
        return active_labels.Sampled(labels, workload.active, workload.distribution, workload.correction, order)
    if workload.output == "random-active":
        return active_labels.RandomActive(labels, workload.active)
    if workload.output == "in-batch":
        return active_labels.InBatch()
    if workload.output == "slide":
        layer = _set(workload, Slide(*_hashed(workload, labels, place), Threads(threads_of(place.compute))))
        layer.queries = workload.queries
        return layer
    return active_labels.Full()


def assembler_of(workload: WideSettings, labels: int, place: Place) -> Assembler:
    """Return what adds uniform labels to active sets: all of one that has no others."""
    size, hashed = min(workload.active, labels), workload.output == "slide"
    seed = 4096 * place.seed + place.rank + (place.thread << 45)  # above the largest of a worker
    share = workload.uniform_share if hashed else 0.0
    return Assembler(labels, size, int(size * share), 0 if hashed else size, seed=seed)


def _set(workload: WideSettings, layer: Kind) -> Kind:
    """Set how a layer samples its buckets and rebuilds its tables; return it."""
    layer.strategy = workload.sampling or layer.strategy
    layer.times, layer.changed_only = workload.threshold, workload.rebuild == "touched"
    return layer


def _hashed(
    workload: WideSettings, labels: int, place: Place
) -> tuple[Family, Tables, Assembler, RebuildSchedule]:
    """Return hash functions and tables, uniform labels, and the steps at which tables are built anew."""
    hashes = workload.hashes_per_table()
    family = make_family(workload.hash_family, workload.hidden, hashes, workload.tables, place.seed)
    tables = Tables(family.tables, family.bits, workload.bucket, workload.bucket_policy, place.seed)
    rebuilds = RebuildSchedule(workload.first_rebuild, workload.rebuild_growth)
    return family, tables, assembler_of(workload, labels, place), rebuilds
