"""The co-design: the effect of each means on both sides, and Sync EASGD with every means against its peers."""

from __future__ import annotations

from benchmarks.evidence.claim import Claim, Finding, findings
from benchmarks.evidence.methods import BEST, DDP_BEST, LESS, MEANS, NONE, RIVALS, Method
from benchmarks.evidence.view import View

OURS, THEIRS = 0, 1
WITH_ALL: tuple[Method, Method] = (BEST, DDP_BEST)
PLACES_OF = ("8-hosts", "2-hosts", "virtual")


def _over(variant: Method, baseline: Method) -> Claim:
    return Claim(f"{variant.label} over {baseline.label}", (variant.label,), (baseline.label,))


def alone(means: str, side: int) -> Claim | None:
    """Return the claim that one means alone makes a side faster; None if the side does not have this choice."""
    method = MEANS[means][side]
    return _over(method, NONE[side]) if method else None


def lacking(means: str, side: int) -> Claim | None:
    """Return the claim that a side with all means is faster than without this one."""
    method = LESS[means][side]
    return _over(WITH_ALL[side], method) if method else None


BESIDE_PEERS = tuple(_over(BEST, rival) for rival in RIVALS)
ABLATION = tuple(
    claim
    for make in (alone, lacking)
    for means in MEANS
    for side in (OURS, THEIRS)
    if (claim := make(means, side))
)
CLAIMS = (*BESIDE_PEERS, *ABLATION)


def found(view: View) -> dict[tuple[str, str], Finding]:
    """Return all findings by claim and place, corrected together."""
    asked = [(claim, place) for place in PLACES_OF for claim in CLAIMS if _there(view, claim, place)]
    return {(finding.claim.what, finding.place): finding for finding in findings(view, asked)}


def _there(view: View, claim: Claim, place: str) -> bool:
    return {*claim.variant, *claim.baseline} <= set(view.matrix.at(place))
