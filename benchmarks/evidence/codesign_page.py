"""The page of the co-design. It contains no figures of the paper, because none refers to these methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from benchmarks.evidence import finding_table, spread
from benchmarks.evidence.claim import Claim, Finding, ratio, said
from benchmarks.evidence.codesign import BESIDE_PEERS, OURS, PLACES_OF, THEIRS, WITH_ALL, alone, found, lacking
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.finding_table import RULE, ratios
from benchmarks.evidence.methods import BEST, MEANS, NONE, Method
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import COMMANDS, beside, incomplete, machines, seconds, table

Found = Mapping[tuple[str, str], Finding]


def page(view: View, make: str) -> Iterable[str]:
    """Yield the lines of the page."""
    everything = found(view)
    yield "# Co-design: Sync EASGD with every means and its peers, and the effect of each means"
    yield ""
    yield from incomplete(view)
    yield (
        f"MNIST and LeNet to {view.matrix.target:.0%} validation accuracy. The rates of all methods are selected "
        f"by the same search. {RULE}"
    )
    yield ""
    yield "## With every means, and its peers"
    yield ""
    yield (
        f"{BEST.label} has every means: Nesterov's momentum, {BEST.period} steps per exchange, bf16 on the wire "
        "with error feedback, an all-reduce with the least number of bytes (halving), and an exchange that "
        "overlaps all steps up to the next one. Peers are measured in their usual form, and with every means "
        "that they have. Its settings other than the rate were chosen among 40 on this workload, those of its "
        "peers were not: a ratio here is one of settings, not of methods."
    )
    yield ""
    names = {claim.what for claim in BESIDE_PEERS}
    yield from ratios(view, [finding for (what, _), finding in everything.items() if what in names], paper=False)
    yield ""
    for place in (place for place in PLACES_OF if place in view.matrix.places):
        where = f"{PLACES[place].title}{beside(view.note(place))}"
        yield f"## Each means alone: {where}"
        yield ""
        yield f"Compared with none: {NONE[OURS].label}, and {NONE[THEIRS].label} (sends all gradients together)."
        yield ""
        yield from _table(view, everything, place, alone, lambda claim: claim.variant[0], NONE)
        yield ""
        yield f"## All but one: {where}"
        yield ""
        yield f"Speedup of {WITH_ALL[OURS].label} and {WITH_ALL[THEIRS].label} with each means over without it."
        yield ""
        yield from _table(view, everything, place, lacking, lambda claim: claim.baseline[0], WITH_ALL)
        yield ""
    yield "## How"
    yield ""
    yield from machines(view, view.runs)
    yield COMMANDS.format(make=make) + " This page's ratios: [CSV](codesign.csv)."


def rows(view: View) -> Iterable[dict[str, object]]:
    """Yield every ratio of the page as plain data."""
    return finding_table.plain(view, found(view).values())


def _table(
    view: View,
    everything: Found,
    place: str,
    claim_of: Callable[[str, int], Claim | None],
    method_of: Callable[[Claim], str],
    start: tuple[Method, Method],
) -> Iterable[str]:
    """Yield one line per means, with method, time and ratio of both sides."""
    unit = seconds(place)
    header = (
        "means",
        "Sync EASGD",
        f"time, {unit}",
        "ratio",
        "verdict",
        "peer",
        f"time, {unit}",
        "ratio",
        "verdict",
    )
    first = [cell for method in start for cell in (method.label, _time(view, place, method.label), "", "")]
    lines = [("none" if start is NONE else "all", *first)]
    for means in MEANS:
        cells = list[str]()
        for side in (OURS, THEIRS):
            claim = claim_of(means, side)
            if claim is None:
                cells += ["has no choice", "", "", ""]
                continue
            finding, label = everything.get((claim.what, place)), method_of(claim)
            pairs = finding and finding.verdict and finding.verdict.pairs
            told = ratio(finding.verdict) if pairs and finding and finding.verdict else ""
            cells += [view.marked(place, label), _time(view, place, label), told, said(finding) if finding else ""]
        lines.append((means, *cells))
    yield from table(header, lines)


def _time(view: View, place: str, label: str) -> str:
    runs = view.reported(place, label)
    times = spread.times([runs[seed] for seed in sorted(runs)])
    return times.text(".1f") if times else "not measured"
