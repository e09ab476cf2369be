"""Which operations have had how many random requests: a file, so that all of them can have them in portions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sent:
    """The last time that an operation was sent requests."""

    examples: int
    """As many were asked for; checks of the edges of its schema come on top."""
    seed: int
    commit: str
    seconds: float
    unix: float
    """When they had been sent."""
    found: bool
    """Whether something was found."""


def read(place: Path) -> dict[str, Sent]:
    """Return what a record says of each operation; nothing if there is none."""
    if not place.exists():
        return {}
    return {name: Sent(**told) for name, told in json.loads(place.read_text()).items()}


def add(place: Path, name: str, sent: Sent) -> None:
    """Add an operation to a record, in place of what it said of it; a record that is cut short stays as it was."""
    known = read(place) | {name: sent}
    place.parent.mkdir(parents=True, exist_ok=True)
    made = place.with_suffix(".new")
    made.write_text(json.dumps({each: asdict(known[each]) for each in sorted(known)}, indent=1) + "\n")
    made.replace(place)


def left(names: Sequence[str], known: Mapping[str, Sent], examples: int) -> list[str]:
    """Return the operations that have not had so many requests yet."""
    return [name for name in names if name not in known or known[name].examples < examples]


def summary(names: Sequence[str], known: Mapping[str, Sent], examples: int) -> str:
    """Return in lines which operations have had so many requests, at which commits, and what has a finding."""
    rest = left(names, known, examples)
    done = [name for name in names if name not in rest]
    commits = ", ".join(sorted({known[name].commit for name in done})) or "none"
    lines = [f"{len(done)} of {len(names)} operations have had {examples} requests each; commits: {commits}"]
    if rest:
        lines.append(f"not yet: {', '.join(rest)}")
    found = [name for name in names if name in known and known[name].found]
    return "\n".join([*lines, f"something was found in: {', '.join(found) or 'none'}"])
