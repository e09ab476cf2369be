"""Who takes part in a table, and what its words may therefore claim: the fastest is that of those entered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hooke.catalogue.discovery import built_in

from benchmarks.tuned.entries import DDP, DDP_BF16, DDP_POWERSGD, PEER_NAMES, elastic, method_of
from benchmarks.tuned.rows import Row

PROPOSED = "virtual time"
"""In the effort of a table whose trials on hosts were chosen in virtual time."""
TWINS = (
    "Which settings of a peer reached the hosts was decided in virtual time by its twin of the catalogue, which "
    "sends along a tree and has no overlap, where the peer has gloo's ring and, with DDP, overlaps: that favours "
    "settings that send seldom."
)
TWINS_BY_HALVING = TWINS.replace(
    "sends along a tree and has no overlap, where the peer has gloo's ring and, with DDP, overlaps",
    "sends by halving, as long as gloo's ring, and has no overlap, where DDP overlaps",
)
WIRES = (
    "Peers send what their libraries offer: post-local SGD sends fp32, DDP with its hook bf16, where methods of "
    "the catalogue send bf16 with error feedback."
)


def methods() -> int:
    """Return the number of methods of the catalogue."""
    return len(built_in("algorithm"))


def elastic_methods() -> int:
    """Return the number of its elastic methods."""
    return sum(elastic(name) for name in built_in("algorithm"))


def entered(found: Iterable[str]) -> list[str]:
    """Return the entries of a table that are methods of the catalogue."""
    return [name for name in found if name not in PEER_NAMES]


def methods_entered(found: Iterable[str]) -> set[str]:
    """Return the methods of the catalogue in a table, of which some have two entries."""
    return {method_of(name) for name in entered(found)}


def elastic_entered(found: Iterable[str]) -> list[str]:
    """Return the elastic methods in a table."""
    return [name for name in methods_entered(found) if elastic(name)]


def fastest_of(found: Iterable[str]) -> str:
    """Return who the fastest method of a table is the fastest of."""
    number = len(methods_entered(found))
    if number == 1:
        return f"The only method of the catalogue entered (of {methods()})"
    return f"The fastest of the {number} methods of the catalogue entered (of {methods()})"


def elastic_of(found: Iterable[str]) -> str:
    """Return who the fastest elastic method of a table is the fastest of."""
    number = len(elastic_entered(found))
    if number == 1:
        return f"The only elastic method entered (of {elastic_methods()})"
    return f"The fastest of the {number} elastic methods entered (of {elastic_methods()})"


def about_elastic(tables: Sequence[Mapping[str, Row]], claims: Sequence[str]) -> str:
    """Return on how many elastic methods the verdicts rest; `claims`: on the fastest one of each table."""
    numbers = [len(elastic_entered(found)) for found in tables]
    slower = [found for found, claim in zip(tables, claims, strict=True) if claim == "slower"]
    alone = [found for found in slower if len(elastic_entered(found)) == 1]
    least, most = min(numbers), max(numbers)
    said = f"These are verdicts on entries: a table has {least if least == most else f'{least} or {most}'} of the "
    said += f"{elastic_methods()} elastic methods."
    if alone:
        names = " or ".join(sorted({elastic_entered(found)[0] for found in alone}))
        said += f" In {len(alone)} of the {len(slower)} that say *slower* {names} was the only one entered."
    return said


def not_measured(tables: Iterable[Iterable[str]]) -> str:
    """Return which peers have no result in tables of hosts, and which of DDP's hooks have one."""
    there = {name for found in tables for name in found}
    lacking = [name for name in PEER_NAMES if name not in there]
    of_all = (DDP, DDP_BF16, DDP_POWERSGD)
    hooks = [entry.name for entry in of_all if entry.name in there]
    said = f"**Not measured on hosts**: {'; '.join(lacking)}." if lacking else ""
    told = f"{' and '.join(hooks)} alone {'has' if len(hooks) == 1 else 'have'} results."
    told = told if 0 < len(hooks) < len(of_all) else ""
    of_ddp = f" Of DDP without and with its hooks, {told}" if told else ""
    return f"{said}{of_ddp} {WIRES}".strip()


def notes(effort: str, found: Mapping[str, Row], collective: str = "tree") -> Iterable[str]:
    """Yield what limits a table: settings at edges that were not widened, and how those of peers were chosen.

    `collective`: of the twins of peers.
    """
    edges: dict[str, list[str]] = defaultdict(list)
    for name, row in found.items():
        run = next(iter(row.runs.values()))
        edges[name] = [f"{each} {run['parameters'][each]}" for each in run["edges"] if each in run["parameters"]]
    if told := "; ".join(f"{name}: {', '.join(of)}" for name, of in edges.items() if of):
        yield f"At an edge of their space, which was not widened, so that more may lie beyond it: {told}."
    if PROPOSED in effort and any(name in PEER_NAMES for name in found):
        yield TWINS if collective == "tree" else TWINS_BY_HALVING
