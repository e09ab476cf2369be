"""The head of the page: three sentences on whether and where hashing pays, and a list of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hooke.comparison.verdict import Verdict
from hooke.comparison.wording import short

from benchmarks.slide.alike import ratios
from benchmarks.slide.conditions import BATCH, FULL, PROBLEMS, RANDOM, REAL, SAMPLED, SLIDE
from benchmarks.slide.page import Record, Row, hashing, idle, rows, unit_of, verdicts
from benchmarks.slide.spaces import of_one_size, size_of, untried

Sections = Mapping[tuple[str, str, str], Sequence[Record]]
"""Records of the comparison by problem, size and machine."""
PAYS = {
    "faster": "pays",
    "at least": "pays",
    "slower": "does not pay",
    "at most": "does not pay",
    "same": "gains nothing",
}
GOALS = {FULL: (10.0, 20.0), SAMPLED: (1.0, 1.5)}
"""Layers -> how many times as fast hashing is to be on the real records, to one P@1, and what is aimed at."""
PLACES = {name: "the real records" if name == REAL else "the planted problem" for name in PROBLEMS}


def head(
    sections: Sections, mapped: Sequence[Record], beside: Sequence[Record], alone: Sequence[Record]
) -> Iterator[str]:
    """Yield the first paragraph and the list; `beside` and `alone` are results of `benchmarks.slide.device`."""
    ordered = [(problem, own) for (problem, _, _), own in sorted(sections.items())]
    told = [_over_best(ordered), _over_full(ordered)]
    if mapped:
        from benchmarks.slide.region import finding

        told.append(finding(mapped))
    yield " ".join(filter(None, told)) or "Whether hashing pays has not been measured."
    items = [*_idle(ordered), *_per_sample(ordered), *_goals(ordered)]
    if beside:
        from benchmarks.slide.device_words import finding as of_gpu

        items.append(of_gpu(beside))
    if sections or beside:
        from benchmarks.slide.device_words import abstract

        items.append(abstract(beside))
    if alone:
        from benchmarks.slide.curve_page import said_by_samples

        items.append(said_by_samples(alone))
    if any(items):
        yield "\n".join(f"- {item}" for item in items if item)


def _over_best(sections: Sequence[tuple[str, Sequence[Record]]]) -> str:
    told: list[str] = []
    sizes = "" if any(of_one_size(own[0]) for _, own in sections) else "sets of the sizes that trials chose, "
    for problem, own in sections:
        found = rows(own, unit_of(own))
        where = (
            f"On {PROBLEMS[problem].title}, {sizes}batches of {BATCH} and {own[0]['hardware']['cores']} cores, "
            if not told
            else f"on {PLACES[problem]} "
        )
        best = _best(found)
        if not hashing(found) or not best:
            told.append(f"{where}hashing has not been compared")
            continue
        told.append(
            f"{where}{_pays(found, best, unit_of(own))} in {unit_of(own)} to P@1 {own[0]['target']:.1%} over the "
            f"best other layer, {best}"
        )
    return f"{'; '.join(told)}." if told else ""


def _over_full(sections: Sequence[tuple[str, Sequence[Record]]]) -> str:
    told: list[str] = []
    for problem, own in sections:
        found = rows(own, unit_of(own))
        if FULL in found and hashing(found) and _best(found) != FULL:
            where = f" on {PLACES[problem]}" if len(sections) > 1 else ""
            unit = unit_of(own)
            told.append(f"{_pays(found, FULL, unit)} in {unit}{where}{_without(found, unit)}")
    return f"Over the full layer in float32, {'; '.join(told)}." if told else ""


def _without(found: Mapping[str, Row], unit: str) -> str:
    """Return what random sets, which have no tables, are over the full layer; empty without any."""
    if RANDOM not in found:
        return ""
    said = verdicts({name: found[name] for name in (FULL, RANDOM)}, unit, FULL)[RANDOM]
    return f" (without tables: {short(RANDOM, said)})"


def _per_sample(sections: Sequence[tuple[str, Sequence[Record]]]) -> Iterator[str]:
    """Yield what hashing adds per sample: the difference to random active sets, of the same or a chosen size."""
    for problem, own in sections:
        found = rows(own, unit_of(own))
        if hashing(found) and RANDOM in found:
            alike = ": both have random sets, or nearly so" if idle(found[hashing(found)]) else ""
            size = "of the same size" if of_one_size(own[0]) else "each with the size that its trials chose"
            yield (
                f"In samples to that P@1 on {PLACES[problem]}, over `{RANDOM}`{',' * (not of_one_size(own[0]))} "
                f"{size}, {_pays(found, RANDOM, 'samples')}{alike}.{_at_one_rate(own)}"
            )


def _at_one_rate(records: Sequence[Record]) -> str:
    """Return what hashing takes over random sets where both have the same learning rate."""
    found = sorted(ratios(records))
    if not found:
        return ""
    size = "" if of_one_size(records[0]) else " and sets of one size"
    return (
        f" With one learning rate{size} for both it took {found[0]:.2f} to {found[-1]:.2f} times the samples "
        f"({len(found)} trials of one seed)."
    )


def _idle(sections: Sequence[tuple[str, Sequence[Record]]]) -> Iterator[str]:
    """Yield where the settings that were chosen left the tables nothing to add."""
    for problem, own in sections:
        found = [row for name, row in rows(own, unit_of(own)).items() if name.startswith(SLIDE)]
        names = [f"`{row.name}`" for row in found if idle(row)]
        if names:
            most = max(idle(row) for row in found)
            size = max(size_of(run) for row in found if idle(row) for run in row.runs.values())
            yield (
                f"**On {PLACES[problem]} tables added nothing, or nearly so, to the sets of "
                f"{' and '.join(names)}** as trials chose them: the labels of the batch and the uniform ones were "
                f"{most:,.0f} in a step, and labels from tables fill a set up to {size:,}. The verdicts there "
                "are on sets that are random, or nearly so, and pay for tables; they say nothing of what is "
                "retrieved."
            )


def _goals(sections: Sequence[tuple[str, Sequence[Record]]]) -> Iterator[str]:
    """Yield whether the goals on the real records are reached, where there are times."""
    for problem, own in sections:
        found = rows(own, unit_of(own))
        if problem != REAL or unit_of(own) != "seconds" or not hashing(found):
            continue
        told = []
        for kind, (goal, aim) in GOALS.items():
            other = next((name for name in found if name.startswith(kind)), None)
            if other:
                said = _said(found, other, "seconds")
                times = "" if goal == 1 else f"{goal:g} times "
                told.append(
                    f"{times}as fast as `{other}`: {_judged(said, goal)} ({short(hashing(found), said)}), "
                    f"aim of {aim:g} times: {_judged(said, aim)}"
                )
        if told:
            goals = f"Goals in seconds to that P@1 on {PLACES[problem]}: {'; '.join(told)}."
            yield f"{goals} {more}." if (more := untried(own)) else goals


def _judged(said: Verdict, goal: float) -> str:
    """Return whether all of an interval is beyond a goal, none of it, or a part."""
    if said.low is not None and said.low >= goal:
        return "reached"
    return "missed" if said.high is not None and said.high < goal else "not shown"


def _best(found: Mapping[str, Row]) -> str:
    """Return the first of the layers without hash tables to meet the target; empty without any."""
    return next((name for name in found if not name.startswith(SLIDE)), "")


def _said(found: Mapping[str, Row], other: str, unit: str) -> Verdict:
    own = hashing(found)
    return verdicts({name: found[name] for name in (other, own)}, unit, other)[own]


def _pays(found: Mapping[str, Row], other: str, unit: str) -> str:
    said = _said(found, other, unit)
    claim = PAYS.get(said.claim, "is not shown to pay")
    return f"hashing {claim} ({said.claim}: {short(hashing(found), said)})"
