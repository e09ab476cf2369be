"""The claims of the paper that are tested, each on methods as published.

Figures of the paper are those of its abstract, or of a detailed account of its text (`account`); figures found in
neither are not quoted.
"""

from __future__ import annotations

from benchmarks.evidence.claim import Claim, Finding, Paper, findings
from benchmarks.evidence.methods import EASGD1, EASGD2, EASGD3, ORIGINAL, PAIRS, Method, seldom
from benchmarks.evidence.paces import OFF
from benchmarks.evidence.view import View

LADDER_FIGURES = {"EASGD1": 3.7, "EASGD2": 1.3, "EASGD3": 1.1, "whole": 5.3}
EXPOSED = {ORIGINAL.label: 0.87, EASGD3.label: 0.14}
"""Shares of communication according to the abstract."""
CHIP_SECONDS = {1: 1605, 4: 1025, 8: 823, 16: 490}
"""Parts of a chip -> seconds of AlexNet to an accuracy of 0.625 (account)."""


def _sooner(variant: Method, baseline: Method, paper: Paper | None = None) -> Claim:
    return Claim(f"{variant.label} over {baseline.label}", (variant.label,), (baseline.label,), paper)


LADDER = (
    *(
        _sooner(upper, lower, Paper(f"{figure}x", "account", figure))
        for upper, lower, figure in ((EASGD1, ORIGINAL, 3.7), (EASGD2, EASGD1, 1.3), (EASGD3, EASGD2, 1.1))
    ),
    _sooner(EASGD3, ORIGINAL, Paper("5.3x", "abstract", 5.3)),
)
ASYNCHRONOUS = (
    *(
        _sooner(elastic, plain, Paper("faster", source))
        for (elastic, plain), source in zip(PAIRS, ("abstract", "account", "account"), strict=True)
    ),
    *(_sooner(seldom(elastic), seldom(plain)) for elastic, plain in PAIRS),
    *(
        Claim(
            f"{elastic.label} over {plain.label}, each at its better period",
            (elastic.label, seldom(elastic).label),
            (plain.label, seldom(plain).label),
        )
        for elastic, plain in PAIRS
    ),
)
PACKING = Claim(
    "one message for all layers over one per layer, Sync EASGD3, samples/s",
    ("Sync EASGD3",),
    ("Sync EASGD3, per layer",),
    Paper("more; no figure found", "account"),
    pace=True,
)
SCALING = Claim(
    "weak scaling, Sync EASGD3: samples/s over the same with communication off",
    ("Sync EASGD3",),
    (OFF,),
    Paper("91.5% on 4,253 cores", "abstract", 0.915),
    pace=True,
    judged=False,
)
CLAIMS = (*LADDER, *ASYNCHRONOUS, PACKING, SCALING)
SIDES = ("8-hosts", "2-hosts", "virtual")


def found(view: View) -> dict[str, list[Finding]]:
    """Return all findings by group of claims: `ladder`, `asynchronous`, `system`; corrected together."""
    groups = {"ladder": LADDER, "asynchronous": ASYNCHRONOUS, "system": (PACKING, SCALING)}
    asked = [(claim, place) for claims in groups.values() for claim in claims for place in _places(view, claim)]
    everything = findings(view, asked)
    return {
        name: [finding for finding in everything if finding.claim in claims] for name, claims in groups.items()
    }


def _places(view: View, claim: Claim) -> list[str]:
    if claim.pace:
        return [p for p in SIDES if all(view.matrix.repeats(p, x) for x in (*claim.variant, *claim.baseline))]
    return [p for p in SIDES if {*claim.variant, *claim.baseline} <= set(view.matrix.at(p))]
