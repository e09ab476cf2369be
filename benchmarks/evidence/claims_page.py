"""The page that compares each claim with what was measured, also those that did not reproduce."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from benchmarks.evidence.claim import Claim
from benchmarks.evidence.claims import CLAIMS
from benchmarks.evidence.conditions import BEST, CO_DESIGN, DDP_NESTEROV, PLACES, SEEDS
from benchmarks.evidence.spread import Spread
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import COMMANDS, beside, incomplete, machines, processor, table

CSV_COLUMNS = ("claim", "paper", "target", "aim", "place", "measured", "count", "verdict", "note", "runs")


def places_of(view: View) -> tuple[str, ...]:
    """Return the places that this page is about."""
    return view.matrix.places


def page(view: View, make: str) -> Iterable[str]:
    """Yield the lines of the page."""
    yield "# Claims, and what was measured"
    yield ""
    yield from incomplete(*view.missing())
    yield (
        "Of *Scaling deep learning on GPU and Knights Landing clusters* (SC17, arXiv 1708.02983), and of this "
        "project. Median [least, most] of the seeds; ≥ and ≤ are bounds, where runs did not meet the target "
        "within their budget; ∞ and 0 are quotients with a run that diverged. A verdict is about the median "
        "and every seed; with fewer than three seeds it is provisional, and it is open until every method that it "
        "is about has been run with every learning rate."
    )
    yield ""
    if view.matrix.seeds < SEEDS:
        yield (
            f"**A quick look, not the evidence**: fewer methods, {view.matrix.seeds} seed, target "
            f"{view.matrix.target:.1%}."
        )
        yield ""
    for place in places_of(view):
        note = view.note(place)
        yield f"## {PLACES[place].title}{beside(note)}"
        yield ""
        yield from _table(view, place)
        yield ""
        yield f"Runs: [{place}]({place}.md)."
        yield ""
    yield "## One worker, and what was not measured here"
    yield ""
    yield from _table(view, "")
    yield ""
    yield (
        "*Abstract*: as the paper's abstract says. *Account*: as a detailed account of its text says; not checked "
        "against the paper. 4,253 cores is as printed; 64 nodes of 68 cores are 4,352. The paper's clusters have "
        "GPUs or many-core chips, and processors of their own for each worker: a factor there is no prediction of "
        "a factor here, and the other way round."
    )
    yield ""
    yield (
        f"{BEST.label} is {_best(view)}. Its momentum is no means of elastic averaging: {DDP_NESTEROV.label} has "
        f"the same, and {CO_DESIGN.label} goes without, with period {CO_DESIGN.parameters['period']}. "
        "Throughput, scaling and one worker: [pace](pace.md)."
    )
    yield ""
    yield "This page's figures, with the runs that each is made from: [CSV](claims.csv)."
    yield ""
    yield "## How"
    yield ""
    yield from machines(view, view.runs)
    yield COMMANDS.format(make=make)


def compared(views: Mapping[str, View]) -> Iterable[str]:
    """Yield the claims that are judged, and what each machine measured, side by side."""
    lines = []
    for claim in CLAIMS:
        if not claim.judged or claim.measure is None:
            continue
        target = claim.told(claim.target) if claim.judged == "target" else "faster"
        for place in dict.fromkeys(place for view in views.values() for place in _places(claim, view)):
            notes = "; ".join(dict.fromkeys(filter(None, (view.note(place) for view in views.values()))))
            found = ((view, _measured(claim, view, place)) for view in views.values())
            told = (_told(claim, view, place, spread) or _lacks(claim, view) for view, spread in found)
            lines.append((claim.what, PLACES[place].title + beside(notes), target, *told))
    yield from table(("claim", "where", "target", *map(_column, views.values())), lines)


def rows(view: View) -> Iterable[dict[str, object]]:
    """Yield each claim at each place as plain data, with the keys of the runs that its figure is made from."""
    for claim in CLAIMS:
        for place in _places(claim, view):
            found = _measured(claim, view, place)
            yield {
                "claim": claim.what,
                "paper": claim.paper,
                "target": claim.told(claim.target),
                "aim": claim.told(claim.aim),
                "place": place,
                "measured": claim.text(found) if found else "",
                "count": found.count if found else 0,
                "verdict": _verdict(claim, view, place, found),
                "note": view.note(place) if place in PLACES else "",
                "runs": " ".join(dict.fromkeys(found.keys)) if found else "",
            }


def _lacks(claim: Claim, view: View) -> str:
    """Return why a machine has no figure for a claim."""
    precision = view.matrix.precision
    return "not measured" if claim.concerns(precision) else f"everything is in {precision}"


def _column(view: View) -> str:
    return f"{processor(view)}, {view.matrix.precision}"


def _places(claim: Claim, view: View) -> tuple[str, ...]:
    """Return where a claim is looked at: the places of the matrix, one worker, or nowhere in particular."""
    if not claim.concerns(view.matrix.precision):
        return ()
    if claim.measure is None:
        return ("",)
    if claim.places == ("here",):
        return ("here",)
    run = [place for place in places_of(view) if set(claim.about) <= set(view.matrix.at(place))]
    return tuple(run) or places_of(view)


def _table(view: View, place: str) -> Iterable[str]:
    lines = []
    for claim in CLAIMS:
        if (place and place in _places(claim, view)) or (not place and _places(claim, view) in (("",), ("here",))):
            found = _measured(claim, view, place or "here")
            lines.append(
                (
                    claim.what,
                    claim.paper,
                    claim.told(claim.target) if claim.judged == "target" else "",
                    claim.told(claim.aim),
                    _told(claim, view, place or "here", found),
                    _verdict(claim, view, place or "here", found),
                )
            )
    yield from table(("claim", "paper", "target", "aim", "measured", "verdict"), lines)


def _verdict(claim: Claim, view: View, place: str, found: Spread | None) -> str:
    """Return what was found of a claim; open as long as a method that it is about may have a better rate."""
    judged = claim.verdict(found)
    return "open" if found and judged and _untried(claim, view, place, found) else judged


def _told(claim: Claim, view: View, place: str, found: Spread | None) -> str:
    """Return what was measured of a claim at a place, and what must stand beside it; nothing if it was not."""
    if found is None:
        return ""
    counted = f"n = {found.count}" if found.count > 1 else "one run: spread not known"
    untried = "; not all rates tried" if _untried(claim, view, place, found) else ""
    return f"{claim.text(found)}, {counted}{untried}{_crowded(view, place, found)}"


def _untried(claim: Claim, view: View, place: str, found: Spread) -> bool:
    """Return whether there are rates that a method behind a figure has not been run with."""
    towards = {run.label for run in (view.evidence.runs[key] for key in found.keys) if run.kind == "target"}
    best = [view.best(place, label) for label in towards | set(claim.about)]
    return any(method.grid < len(view.matrix.rates) for method in best if method)


def _crowded(view: View, place: str, found: Spread) -> str:
    """Return a warning if runs were oversubscribed at a place where others were not."""
    runs = [view.evidence.runs[key] for key in found.keys]
    alone = any(run.oversubscribed == "yes" for run in runs) and not view.note(place).startswith("over")
    return "; the server oversubscribed the cores" if alone else ""


def _measured(claim: Claim, view: View, place: str) -> Spread | None:
    return claim.measure(view, place) if claim.measure else None


def _best(view: View) -> str:
    own = {**BEST.parameters, **BEST.communication, "precision": view.matrix.precision}
    settings = ", ".join(f"{name.replace('_', ' ')} {json.dumps(value)}" for name, value in own.items())
    return f"`{BEST.name}` with {settings}"
