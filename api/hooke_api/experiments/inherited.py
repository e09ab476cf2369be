"""What a variant that is added to an experiment takes from those that it has: the collective, where it names none.

The default of an experiment that is extended may have been another one (decision 112), and who names no collective
does not ask for a comparison of collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hooke.errors import Fault
from hooke.spec.specification import Variant


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
