"""Sources of a user's own algorithms and workloads that have changed since the trials which decide for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooke.catalogue.expand import Location, cell
from hooke.errors import Fault
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.tuning.continued import Trials, Where

CHANGED = "the source of {name!r} has changed since its trials, so their choice does not hold for it: submit again"


def changed_sources(
    spec: ExperimentSpec, locations: Mapping[Where, tuple[Variant, Location]], made: Iterable[Trials]
) -> list[Fault]:
    """Return a fault for each own algorithm or workload whose source is not that of its trials any more."""
    found = []
    for where, trials in (item for each in made for item in each.items()):
        if where not in locations:  # of a variant that was left out
            continue
        variant, location = locations[where]
        now = cell(spec, variant, location, spec.first_seed).spec
        place = pointer("variants", spec.variants.index(variant), "algorithm")
        for tried in trials.values():
            if tried.algorithm_hash != now.algorithm.hash:
                found.append(Fault(place, CHANGED.format(name=variant.algorithm)))
            if tried.workload_hash != now.workload.hash:
                found.append(Fault("/workload/name", CHANGED.format(name=spec.workload.name)))
    return list(dict.fromkeys(found))
