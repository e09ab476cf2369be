"""What runs that are added to an experiment, or continue one, take from those that there are.

A further variant takes the collective, where it names none: its default may have been another one (decision 112),
and who names no collective does not ask for a comparison of collectives. Further seeds of a variant have the
defaults of its runs (`hooke.tuning.defaults`), and an experiment that continues trials those of the trials; a
further variant has those of now, which is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hooke.comparison.wording import listed
from hooke.errors import Fault
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.spec.sweeps import word
from hooke.tuning.defaults import Defaults


def with_collective(spec: Mapping[str, Any], added: Sequence[Variant]) -> list[Variant]:
    """Return variants to add; those without a collective get that of the present ones, if these have the same.

    `spec`: the stored specification, which names the collective of every variant.
    """
    return [_as_present(variant, _taken(spec, variant)) for variant in added]


def told_of_collectives(spec: Mapping[str, Any], added: Sequence[Variant]) -> Iterator[Fault]:
    """Yield which added variants get another collective than they would have in a new experiment."""
    for i, variant in enumerate(added):
        taken = _taken(spec, variant)
        if taken not in (None, variant.communication.collective):
            yield Fault(
                f"/variants/{i}/communication/collective",
                f"{taken}, as the existing variants: name another collective to compare it",
            )


def _as_present(variant: Variant, taken: str | None) -> Variant:
    if taken is None:
        return variant
    communication = variant.communication.model_copy(update={"collective": taken})
    return variant.model_copy(update={"communication": communication})


def _taken(spec: Mapping[str, Any], variant: Variant) -> str | None:
    """Return the collective that a variant takes from the present ones; None: it has its own."""
    present: set[str] = {each["communication"]["collective"] for each in spec["variants"]}
    named = "collective" in variant.communication.model_fields_set
    return None if named or len(present) > 1 else present.pop()


def told_of_kept(spec: ExperimentSpec, defaults: Defaults, *, seeds: bool) -> Iterator[Fault]:
    """Yield which values added runs keep that are not the defaults by now; `seeds`: also of present variants."""
    for who, values in _kept(spec, defaults, variants=seeds):
        yield Fault("", f"{who} keeps what was the default when it was submitted: {values}")


def told_of_continued(spec: ExperimentSpec, defaults: Defaults) -> Iterator[Fault]:
    """Yield which values that are not the defaults by now an experiment has from the trials that it continues."""
    for who, values in _kept(spec, defaults, variants=True):
        why = f"{who} has what was the default in the trials that it continues: {values}"
        yield Fault("/tuning/continues", why)


def _kept(spec: ExperimentSpec, defaults: Defaults, *, variants: bool) -> Iterator[tuple[str, str]]:
    names = [variant.name for variant in spec.variants] if variants else []
    found = {name: (defaults.of(name), defaults.changed.get(name, {})) for name in names}
    found[f"the workload {spec.workload.name}"] = defaults.workload, defaults.workload_changed
    for who, (then, now) in found.items():
        if now:
            yield who, listed([f"{name} {word(then[name])} (now {word(value)})" for name, value in now.items()])


def told_of_present(spec: ExperimentSpec, present: Collection[str], defaults: Defaults) -> Iterator[Fault]:
    """Yield what an added variant has by default where present ones of its algorithm have another value."""
    for i, variant in enumerate(spec.variants):
        alike = [each.name for each in spec.variants if each.algorithm == variant.algorithm]
        for other in alike if variant.name not in present else ():
            for name, now in defaults.changed.get(other, {}).items():
                then = defaults.of(other)
                if name not in variant.parameters and not _searched(spec, variant, name, then):
                    told = f"{other} has {word(then[name])}, the default when it was submitted"
                    yield Fault(
                        pointer("variants", i, "parameters", name), f"{word(now)}, the default by now; {told}"
                    )


def _searched(spec: ExperimentSpec, variant: Variant, name: str, values: Mapping[str, Any]) -> bool:
    """Return whether a variant searches a parameter, where the others have these values."""
    declared = spec.tuning.spaces.get(variant.algorithm, {}) if spec.tuning else {}
    space = variant.search.get(name, declared.get(name))
    return space is not None and space.applies({**values, **variant.parameters})
