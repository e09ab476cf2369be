"""Many-core chips, whose parts are workers: what two-level methods exchange inside and between them."""

from __future__ import annotations

from typing import Any

from hooke.catalogue.claims import Step, Transfer, Transfers
from hooke.methods.elastic import overlap_of


def inside_and_between_chips(method: Any, step: Step) -> Transfers:
    """Return the transfers inside each chip of `parts` workers, and between the first workers of all chips."""
    size, chips = step.elements, step.workers // method.parts
    inside = Transfer("all-reduce", size, method.parts, chips)
    if step.t % method.exchange_period():
        return (inside,)
    between = Transfer("all-reduce", size, chips, behind=overlap_of(method))
    return inside, between, Transfer("broadcast", size, method.parts, chips)
