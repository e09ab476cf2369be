"""The part of the page about networks: the map's tables, and its points beside real hosts."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hooke.comparison.verdict import Verdict
from hooke.comparison.wording import count, estimate, figure, listed, short

from benchmarks.evidence.wording import table
from benchmarks.regimes.networks import (
    EQUAL,
    LINKS,
    SHOWN,
    SPREADS,
    Cell,
    Record,
    Side,
    cells,
    elements,
    judged,
    sources,
)
from benchmarks.regimes.real import Point

FIGURE = "networks.svg"
NEAR = 1.05
"""A ratio within this factor of 1 is neither ahead nor behind."""
ABOUT = """\
What a synchronous method learns depends on its setting, the number of workers and the seed, and not on the
network. So the trials and reported runs of the [tuned comparison](tuned.md) have other times on other networks,
with the same bits. `python -m benchmarks.regimes networks` computes these times in closed form, which a test
compares with complete runs, and chooses for every network and spread of speeds the best trial of every entry
anew: the same trials for all, on the tuning seed. All times are **simulated**: all-reduces by recursive
halving, the product's default; gradients of 160 us per sample (own batch: 6.7 ms and 0.57 ms per sample, as of
8 workers on 2 cores). What counts is how many gradients an exchange takes: gradients and bytes that are both
ten times as fast give the same map.

Ratios are times of the fastest other entry over those of the fastest elastic one: above 1, elastic averaging is
ahead. They are geometric means over reported seeds where both chosen trials have these, or bounds where a run
diverged or missed; with * they are those of the tuning seed, on which the trials were chosen, without a
verdict. Verdicts follow [the rule](../decisions/0020-one-rule-of-verdict.md), corrected for the 30 conditions
of a comparison, not for the choice of the two entries; in bold type what it shows. What was expected: [decision
119](../decisions/0119-where-elastic-averaging-wins.md).

*Not shown*: methods with a server, without locks or with gossip, which do not wait for the slowest worker
([unequal workers](heterogeneous.md)); Streaming DiLoCo and CO2 (in the section on digits); overlap of PyTorch
DDP, whose place Sync SGD takes, as Local SGD takes that of post-local SGD: where an exchange takes less than a
gradient, DDP would be faster than here. Trials that a search by halving ended early count as having missed.
Models are small, with 6 to 16 trials: another draw of trials may turn any condition."""


Count = tuple[int, int, int]
"""Conditions in which elastic averaging is ahead, near, and behind."""


def balance(of: Iterable[Cell]) -> Count:
    """Return in how many cells elastic averaging is ahead, near, and behind."""
    known = [ratio for cell in of if (ratio := cell.ratio) is not None]
    ahead, behind = sum(r > NEAR for r in known), sum(r < 1 / NEAR for r in known)
    return ahead, len(known) - ahead - behind, behind


def answer(records: Sequence[Record]) -> str:
    """Return the answer in a paragraph: who is ahead over all cells, and where."""
    found = {source: cells(source, records) for source in sources(records)}
    every = [cell for own in found.values() for cell in own]
    ahead, near, behind = balance(every)
    claims = Counter(verdict.claim for own in found.values() for verdict in judged(own).values())
    return (
        f"**{_first(ahead, near, behind)}: its fastest entry is ahead of the fastest other one by more than 5% in "
        f"{ahead} of {ahead + near + behind} simulated conditions, behind in {behind}, and within 5% in {near}.** "
        f"By the rule of verdict, in {sum(claims.values())} conditions with enough seeds: "
        f"{claims['faster'] + claims['at least']} faster, {claims['slower'] + claims['at most']} slower, "
        f"{claims['not shown'] + claims['same']} neither. "
        f"[Where it is ahead](#over-networks-and-spreads-of-speeds-simulated): {_most(every)}."
    )


def in_short(records: Sequence[Record]) -> str:
    """Return for the index of results where elastic averaging is ahead on simulated networks, in a sentence."""
    found = {source: cells(source, records) for source in sources(records)}
    every = [cell for own in found.values() for cell in own]
    claims = Counter(verdict.claim for own in found.values() for verdict in judged(own).values())
    by_length = [(name, balance(own)) for name, own in _groups(every)["length of an exchange"].items()]
    (least, (few, *rest)), (most, (many, *others)) = by_length[0], by_length[-1]
    return (
        f"**Where elastic averaging wins**, [simulated](regimes.md): ahead by more than 5% in {many} of "
        f"{many + sum(others)} conditions in which an exchange takes {most}, in {few} of {few + sum(rest)} with "
        f"{least}. The rule calls it faster in {claims['faster'] + claims['at least']} of {sum(claims.values())}, "
        f"slower in {claims['slower'] + claims['at most']}."
    )


def _first(ahead: int, near: int, behind: int) -> str:
    if behind > ahead + near:
        return "Elastic averaging loses in most conditions"
    if behind == ahead:
        return "Elastic averaging wins as often as it loses"
    if behind > ahead:
        return "Elastic averaging loses more often than it wins"
    return "Elastic averaging wins more often than it loses"


def _groups(of: Sequence[Cell]) -> dict[str, dict[str, list[Cell]]]:
    """Return the cells by length of an exchange, network, spread, number of workers, and comparison."""
    kinds = "length of an exchange", "network", "spread of speeds", "workers", "comparison"
    found: dict[str, dict[str, list[Cell]]] = {kind: {} for kind in kinds}
    for cell in sorted(of, key=exchange):
        names = _long(cell), cell.link, cell.spread, count(cell.source.workers, "worker"), title(cell)
        for kind, name in zip(kinds, names, strict=True):
            found[kind].setdefault(name, []).append(cell)
    return found


def _most(of: Sequence[Cell]) -> str:
    """Return for each kind of condition those in which elastic averaging is ahead most often, and least."""
    told = []
    for kind, groups in _groups(of).items():
        counts = {name: balance(own) for name, own in groups.items()}
        shares = {name: count[0] / max(1, sum(count)) for name, count in counts.items()}
        both = max(shares.values()), min(shares.values())
        ends = [[name for name in shares if shares[name] == end] for end in both]
        if ends[0] != ends[1]:
            each = (listed([f"{name} ({counts[name][0]} of {sum(counts[name])})" for name in end]) for end in ends)
            told.append(f"by {kind} {', least '.join(each)}")
        elif len(groups) > 1:
            told.append(f"by {kind} equally often")
    return "; ".join(told)


def _overview(of: Sequence[Cell]) -> Iterable[str]:
    lines = [(name, *map(str, balance(own))) for groups in _groups(of).values() for name, own in groups.items()]
    return table(("elastic averaging, number of conditions", "ahead", "within 5%", "behind"), lines)


def section(records: Sequence[Record], points: Sequence[Point]) -> list[str]:
    """Return the lines of the section; none without records."""
    of = sources(records)
    if not of:
        return []
    lines = ["## Over networks and spreads of speeds (simulated)", "", ABOUT, ""]
    lines += [f"![Fastest elastic entry over the fastest other one, by network](regimes/{FIGURE})", ""]
    lines += ["Exchanges in this table are of any network; *own batch* counts as 16.", ""]
    lines += [*_overview([cell for source in of for cell in cells(source, records)]), ""]
    for source in of:
        found = cells(source, records)
        said = judged(found)
        lines += [f"### {title(found[0])}", "", *_effort(source.name, records), "", *_links(found, said), ""]
        lines += [*_spreads(found, said), ""]
    return [*lines, *_beside(points)]


def title(cell: Cell) -> str:
    of = cell.source.of
    return (
        f"{of.title.rstrip(',')} to {of.target:.1%}: {cell.source.workers} worker{'s' * (cell.source.workers > 1)}"
    )


def _effort(name: str, records: Sequence[Record]) -> Iterator[str]:
    tried: dict[str, list[Record]] = {}
    for record in records:
        if record["source"] == name and record["tuning"]:
            tried.setdefault(record["entry"], []).append(record)
    trials = max(len(of) for of in tried.values())
    met = ", ".join(f"{entry} {sum(bool(r['met']) for r in of)}" for entry, of in tried.items())
    yield f"{trials} trials of every entry; of these met the target: {met}."


def _links(found: Sequence[Cell], said: Mapping[int, Verdict]) -> Iterable[str]:
    """Yield the table of all links at equal speeds."""
    lines = []
    for n, cell in enumerate(found):
        mine, other = cell.elastic, cell.other
        if cell.spread == EQUAL and mine and other:
            claim = f"{said[n].claim}: {short(mine.entry, said[n])}" if n in said else "one seed"
            sides = (
                f"{side.entry} {side.mean or side.seconds:.3g}{'' if side.mean else '*'}" for side in (mine, other)
            )
            lines.append((cell.link, f"{exchange(cell):.2g}", *sides, claim))
    header = ("link", "exchange, in gradients", "fastest elastic, s", "fastest other, s", "verdict")
    return table(header, lines)


def _seconds(side: Side) -> str:
    return f"{side.entry} {side.mean or side.seconds:.3g}{'' if side.mean else '*'}"


def exchange(cell: Cell) -> float:
    """Return how many gradients, of a batch of 16 if it is searched, an all-reduce in bf16 takes."""
    source, link = cell.source, LINKS[cell.link]
    rounds = 2 * (source.workers - 1).bit_length()
    share = 2 * (source.workers - 1) / source.workers
    seconds = rounds * link.latency + 2 * share * elements(source) * link.seconds_per_byte
    batch = source.of.batches[0]
    return seconds / (batch * (source.pace or source.of.seconds_per_sample(batch, 160e-6)))


def _long(cell: Cell) -> str:
    """Return the class of an exchange by its length."""
    names = "less than 0.1 gradients", "0.1 to 1 gradients", "1 to 10 gradients", "10 gradients or more"
    return names[sum(exchange(cell) >= limit for limit in (0.1, 1, 10))]


def _ratio(cell: Cell, verdict: Verdict | None) -> str:
    """Return a ratio: of seeds, or a bound, in bold type if the rule shows it; with * that of the tuning seed."""
    if cell.ratio is None:
        return "-"
    if verdict is None:
        return f"{estimate(cell.ratio)}*"
    bounds = (("≥", verdict.low), ("≤", verdict.high))
    bound = next((f"{sign} {figure(end)}" for sign, end in bounds if end is not None), "-")
    told = bound if verdict.censored or not verdict.ratio else estimate(verdict.ratio)
    return f"**{told}**" if verdict.claim in SHOWN else told


def _spreads(found: Sequence[Cell], said: Mapping[int, Verdict]) -> Iterable[str]:
    """Yield the ratios of all links and spreads."""
    told = {(cell.spread, cell.link): _ratio(cell, said.get(n)) for n, cell in enumerate(found)}
    lines = [(spread, *(told[spread, link] for link in LINKS)) for spread in SPREADS]
    return table(("time of the fastest other over that of the fastest elastic", *LINKS), lines)


def _beside(points: Sequence[Point]) -> Iterator[str]:
    """Yield the points of real hosts beside the closed form."""
    yield "### Beside real hosts"
    yield ""
    yield (
        "Published tables of hosts at 1 Gb/s, each with its own settings; the model: the closed form with the "
        "seconds per sample that the table's runs had while they did not wait (the median), on the seeds that met "
        "the target with both. Hosts that outnumber the cores of their machine share them. *ms per sample*: of "
        "elastic and other, while they did not wait."
    )
    yield ""
    lines = [
        (
            point.where,
            f"{point.elastic} {point.seconds[0]:.3g} ({point.expected[0]:.3g})",
            f"{point.other} {point.seconds[1]:.3g} ({point.expected[1]:.3g})",
            f"{estimate(point.ratio)} ({estimate(point.of_model)})",
            point.measured,
            f"{point.paces[0]:.2f}, {point.paces[1]:.2f}",
        )
        for point in points
    ]
    header = ("where", "elastic, s (model)", "other, s (model)", "ratio (model)", "measured", "ms per sample")
    yield from table(header, lines)
    if points:
        off = [point.ratio / point.of_model for point in points]
        yield ""
        mean = statistics.geometric_mean(off)
        yield (
            f"Measured ratios are {figure(min(off))} to {figure(max(off))} times those of the model (geometric "
            f"mean {figure(mean)}): on hosts that share cores an exchange behind a gradient takes processor time "
            "from it, which the last column shows, and which is nothing in the model. So an elastic entry that is "
            "ahead by less than that in the map may be behind on such hosts."
        )
