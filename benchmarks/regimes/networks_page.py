"""The part of the page about networks: the map's tables, and its points beside real hosts."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hooke.comparison.verdict import holm
from hooke.comparison.wording import figure, short

from benchmarks.evidence.wording import table
from benchmarks.regimes.networks import EQUAL, LINKS, SPREADS, Cell, Record, cells, elements, sources
from benchmarks.regimes.real import Point

FIGURE = "networks.svg"
NEAR = 1.05
"""A ratio within this factor of 1 is neither ahead nor behind."""
ABOUT = f"""\
What a synchronous method learns depends on its setting, the workers and the seed, and not on the network. So the trials
and reported runs of the [tuned comparison](tuned.md) have other times on other networks, and the same bits.
`python -m benchmarks.regimes networks` computes these times in closed form, and chooses for every network and spread
of speeds the best trial of every entry anew: the same trials for all, on the tuning seed. A test compares the closed form with
complete runs. All-reduces go by recursive halving. Times are **simulated**: gradients of 160 us per sample (own
batch: 6.7 ms and 0.57 ms per sample, of 8 workers on 2 cores). A network that is ten times as fast and a gradient
that is ten times as short give the same map but for latencies. A ratio is the time of the fastest other entry over
that of the fastest elastic one: above 1, elastic averaging is ahead. It is that of reported seeds where both chosen
trials have them, else (*) that of the tuning seed, on which they were chosen, and then there is no verdict. Verdicts
follow [the rule](../decisions/0020-one-rule-of-verdict.md), corrected for the rows of a table, but not for the choice
of the two entries ([decision 119](../decisions/0119-where-elastic-averaging-wins.md)).

*Not shown*: methods with a server or without a meeting of all (asynchronous, lock-free, gossip), which do not wait
for the slowest worker: [unequal workers](heterogeneous.md). Streaming DiLoCo and CO2, which are in the section before.
Peers are their twins of the catalogue without overlap, so DDP would be faster than Sync SGD here where a gradient takes as long
as its all-reduce. Trials that a search by halving ended early count as having missed. LeNet alone, and few trials:
another draw may change any cell."""


def verdict_counts(of: Iterable[Cell]) -> Counter[str]:
    """Return the claims of all cells that have enough reported seeds, each by itself."""
    return Counter(verdict.claim for cell in of if (verdict := cell.verdict))


def balance(of: Iterable[Cell]) -> tuple[int, int, int]:
    """Return in how many cells elastic averaging is ahead, near, and behind."""
    ratios = [cell.ratio for cell in of]
    known = [ratio for ratio in ratios if ratio is not None]
    ahead, behind = sum(r > NEAR for r in known), sum(r < 1 / NEAR for r in known)
    return ahead, len(known) - ahead - behind, behind


def answer(records: Sequence[Record]) -> str:
    """Return the answer in a paragraph: who is ahead over all cells, and where."""
    found = [cell for source in sources(records) for cell in cells(source, records)]
    ahead, near, behind = balance(found)
    first = (
        "Elastic averaging is not the fastest in most conditions"
        if ahead < behind
        else "Elastic averaging is the fastest in more conditions than any other method"
    )
    claims = verdict_counts(found)
    told = ", ".join(f"{claims[claim]} {claim}" for claim in sorted(claims))
    return (
        f"**{first}: over {ahead + near + behind} simulated conditions its fastest entry is ahead of the fastest other one by "
        f"more than 5% in {ahead}, behind in {behind}, and within 5% in {near}.** Of {sum(claims.values())} conditions with "
        f"enough seeds, each judged by itself: {told}. Where it is ahead, by number of cells: {_where(found)}."
    )


def _where(found: Sequence[Cell]) -> str:
    """Return where the cells with elastic averaging ahead are: by link, by spread, by comparison."""
    parts = []
    for name in ("link", "spread", "title"):
        own: dict[str, list[Cell]] = {}
        for cell in found:
            own.setdefault(title(cell) if name == "title" else getattr(cell, name), []).append(cell)
        counts = {key: balance(of) for key, of in own.items()}
        told = [f"{key}: {n[0]} of {sum(n)}" for key, n in counts.items() if sum(n)]
        parts.append("; ".join(told))
    return ". By spread: ".join(parts[:2]) + f". By comparison: {parts[2]}"


def section(records: Sequence[Record], points: Sequence[Point]) -> list[str]:
    """Return the lines of the section; none without records."""
    of = sources(records)
    if not of:
        return []
    lines = ["## Over networks and spreads of speeds (simulated)", "", ABOUT, ""]
    lines += [f"![Fastest elastic entry over the fastest other one, by network and spread](regimes/{FIGURE})", ""]
    for source in of:
        found = cells(source, records)
        lines += [f"### {title(found[0])}", "", *_effort(source.name, records), "", *_links(found), ""]
        lines += [*_spreads(found), ""]
    return [*lines, *_beside(points)]


def title(cell: Cell) -> str:
    of = cell.source.of
    return f"{of.title.rstrip(',')} to {of.target:.1%}: {cell.source.workers} worker{'s' * (cell.source.workers > 1)}"


def _effort(name: str, records: Sequence[Record]) -> Iterator[str]:
    tried: dict[str, list[Record]] = {}
    for record in records:
        if record["source"] == name and record["tuning"]:
            tried.setdefault(record["entry"], []).append(record)
    trials = max(len(of) for of in tried.values())
    met = ", ".join(f"{entry} {sum(bool(r['met']) for r in of)}" for entry, of in tried.items())
    yield f"{trials} trials of every entry; of these met the target: {met}."


def _links(found: Sequence[Cell]) -> Iterable[str]:
    """Yield the table of all links at equal speeds."""
    own = [cell for cell in found if cell.spread == EQUAL and cell.elastic and cell.other]
    judged = {n: verdict for n, cell in enumerate(own) if (verdict := cell.verdict)}
    said = dict(holm(judged)) if judged else {}
    lines = []
    for n, cell in enumerate(own):
        mine, other = cell.elastic, cell.other
        assert mine and other  # noqa: S101 - as filtered
        claim = f"{said[n].claim}: {short(mine.entry, said[n])}" if n in said else "one seed"
        sides = (f"{side.entry} {side.mean or side.seconds:.3g}" for side in (mine, other))
        lines.append((cell.link, _exchange(cell), *sides, _ratio(cell), claim))
    header = ("link", "exchange, in gradients", "fastest elastic, s", "fastest other, s", "ratio", "verdict")
    return table(header, lines)


def _exchange(cell: Cell) -> str:
    """Return how many gradients of a batch of 16 an all-reduce in bf16 takes."""
    source, link = cell.source, LINKS[cell.link]
    rounds = 2 * (source.workers - 1).bit_length()
    share = 2 * (source.workers - 1) / source.workers
    seconds = rounds * link.latency + 2 * share * elements(source) * link.seconds_per_byte
    return f"{seconds / (16 * source.of.seconds_per_sample(16, 160e-6)):.2g}"


def _ratio(cell: Cell) -> str:
    ratio, mine, other = cell.ratio, cell.elastic, cell.other
    if ratio is None or mine is None or other is None:
        return "-"
    reported = mine.mean is not None and other.mean is not None
    return f"{figure(ratio)}{'' if reported else '*'}"


def _spreads(found: Sequence[Cell]) -> Iterable[str]:
    """Yield the ratios of all links and spreads."""
    at = {(cell.spread, cell.link): cell for cell in found}
    lines = [(spread, *(_ratio(at[spread, link]) for link in LINKS)) for spread in SPREADS]
    return table(("ratio", *LINKS), lines)


def _beside(points: Sequence[Point]) -> Iterator[str]:
    """Yield the points of real hosts beside the closed form."""
    yield "### Beside real hosts"
    yield ""
    yield (
        "Published tables of hosts at 1 Gb/s, each with its own settings: the closed form with the seconds per sample that its "
        "runs had while they did not wait (the median), on the seeds that met the target with both. Hosts that share two "
        "cores also wait for a core, which the model does not have."
    )
    yield ""
    lines = [
        (
            point.where,
            f"{point.elastic} {point.seconds[0]:.3g} ({point.expected[0]:.3g})",
            f"{point.other} {point.seconds[1]:.3g} ({point.expected[1]:.3g})",
            f"{figure(point.seconds[1] / point.seconds[0])} ({figure(point.expected[1] / point.expected[0])})",
            f"{point.measured.claim}: {short(point.elastic, point.measured)}",
        )
        for point in points
    ]
    header = ("where", "elastic, s (closed form)", "other, s (closed form)", "ratio (closed form)", "measured")
    yield from table(header, lines)
    if points:
        off = [(p.seconds[1] / p.seconds[0]) / (p.expected[1] / p.expected[0]) for p in points]
        yield ""
        yield (
            f"Measured ratios are {figure(min(off))} to {figure(max(off))} times those of the closed form (geometric mean "
            f"{figure(statistics.geometric_mean(off))})."
        )

