"""What is kept of a screen, and what counts as a difference from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("expected")
TOLERANCE = 2
"""Pixels by which a place or a size may differ: what rounding and a version of the browser do."""
MOST = 12
"""Differences of one view that are told."""

Box = tuple[int, int, int, int]
"""x, y, width, height; px of the page."""


@dataclass(frozen=True)
class View:
    """What was seen of a screen at one width: boxes, and styles in one colour scheme, by name, in their order."""

    boxes: Mapping[str, Box]
    styles: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, probed: Sequence[Sequence[Any]]) -> View:
        """Return what `probe.js` returns as `boxes`."""
        boxes = {name: tuple(box) for name, box, _ in probed}
        return cls(boxes, {name: style for name, _, style in probed})


def moved(before: Mapping[str, Box], now: Mapping[str, Box], tolerance: int = TOLERANCE) -> list[str]:
    """Return what has come, gone, or changed its place or size by more than the tolerance.

    What lies below something that has grown is moved with it: each shift is told once, of the first that has it.
    """
    found = [f"gone: {name}" for name in before if name not in now]
    found += [f"new: {name} at {now[name]}" for name in now if name not in before]
    shift = 0
    for name, box in now.items():
        if name not in before:
            continue
        dx, dy, dw, dh = (a - b for a, b in zip(box, before[name], strict=True))
        parts = [
            f"{d:+} px {what}" for d, what in ((dx, "right"), (dw, "wide"), (dh, "high")) if abs(d) > tolerance
        ]
        if abs(dy - shift) > tolerance:
            parts.append(f"{dy - shift:+} px down")
            shift = dy
        if parts:
            found.append(f"moved: {name}: {', '.join(parts)}")
    return found


def restyled(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return what both have and whose style is another one."""
    return [
        f"restyled: {name}: {before[name]} -> {style}"
        for name, style in now.items()
        if name in before and before[name] != style
    ]


def told(found: Sequence[str], most: int = MOST) -> list[str]:
    """Return the first of them, and how many there are beside."""
    return [*found[:most], *([f"and {len(found) - most} more"] if len(found) > most else [])]


def read(screen: str, folder: Path = EXPECTED) -> dict[str, View]:
    """Return what is expected of a screen, by `WIDTH` (boxes alone) or `WIDTH-SCHEME`; empty: nothing yet."""
    path = folder / f"{screen}.json"
    if not path.exists():
        return {}
    kept = json.loads(path.read_text())
    found = {}
    for view, part in kept["views"].items():
        boxes = {name: tuple(map(int, box.split())) for name, box in part.get("boxes", {}).items()}
        styles = {name: kept["styles"][n] for name, n in part.get("styles", {}).items()}
        found[view] = View(boxes, styles)
    return found


def write(screen: str, views: Mapping[str, View], folder: Path = EXPECTED) -> None:
    """Keep what was seen; styles that are the same are written once."""
    styles: dict[str, int] = {}
    parts = {}
    for view, seen in views.items():
        part: dict[str, Any] = {}
        if seen.boxes:
            part["boxes"] = {name: " ".join(map(str, box)) for name, box in seen.boxes.items()}
        if seen.styles:
            part["styles"] = {name: styles.setdefault(style, len(styles)) for name, style in seen.styles.items()}
        parts[view] = part
    folder.mkdir(exist_ok=True)
    text = json.dumps({"styles": list(styles), "views": parts}, indent=0, ensure_ascii=False)
    (folder / f"{screen}.json").write_text(text + "\n")
