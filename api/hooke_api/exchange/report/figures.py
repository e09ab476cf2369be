"""Figures of a report as inline SVG: a forest plot of speed-ups, and curves with their bands.

Colours and dashes of variants are those of the dashboard, so that a variant looks the same in both.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence

from markupsafe import Markup

from hooke_api.comparisons.schemas import ComparisonRow
from hooke_api.exchange.report.formats import estimated, number
from hooke_api.exchange.report.markup import RIGHT_TO_LEFT, joined, tag
from hooke_api.metrics.schemas import Band

COLORS = ("#1f66d0", "#e07000", "#0f9b80", "#a3327f", "#2b3038")
DASHES = (None, "7 4", "2 3", "9 3 2 3", "14 4", "4 2")
INK, GRID = "#3a4149", "#dfe3e7"
WIDTH, LABELS, ROW = 720, 240, 26
WIDEST = math.log(20)
"""Intervals that reach farther are cut, with an arrow."""
_FARTHEST = 1e290
"""Ends of an axis; what lies beyond is drawn there."""
_ROUND = (1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000, 1_000_000)


def color(index: int) -> str:
    """Return the colour of the variant at a position in its experiment."""
    return COLORS[index % len(COLORS)]


def dash(index: int) -> str | None:
    """Return its dash pattern; None: solid."""
    return DASHES[index // len(COLORS) % len(DASHES)]


def swatch(index: int) -> Markup:
    """Return a piece of a variant's line, for a legend."""
    line = tag("line", x1=0, x2=26, y1=6, y2=6, stroke=color(index), stroke_width=3, stroke_dasharray=dash(index))
    return tag("svg", line, width=26, height=12, class_="swatch", aria_hidden="true")


_ELLIPSIS = "\u2026"
_WIDE, _NARROW = "MWmw%@\u2014\u2026", " ijl.,:;'|!"


def _breadth(letter: str) -> float:
    """Return at most how wide a letter of 12 px is in the fonts of readers' systems, px."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":  # emoji, too
        return 13.5
    if letter in _WIDE:
        return 12.0
    if letter.isupper() or letter in "&#+=<>~":
        return 10.2
    return 4.5 if letter in _NARROW else 8.0


def short(name: str) -> str:
    """Return a name as it fits beside a plot, with an ellipsis where something is left out."""
    room, found = LABELS - 2.0, name
    if sum(map(_breadth, name)) > room:
        used, room = 0.0, room - _breadth(_ELLIPSIS)
        kept = 0
        while used + _breadth(name[kept]) <= room:
            used += _breadth(name[kept])
            kept += 1
        found = f"{name[:kept].rstrip()}{_ELLIPSIS}"
    return f"\u2068{found}\u2069" if RIGHT_TO_LEFT.search(name) else found


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def forest(rows: Sequence[ComparisonRow], positions: Sequence[int]) -> Markup:
    """Return the ratios of a group on a log axis with 95% intervals; `positions`: of the variants, for colours."""
    logs = [abs(math.log(ratio)) for row in rows if (ratio := estimated(row.speed_up))]
    shown = [row.speed_up for row in rows if row.speed_up.claim not in ("no claim", "baseline")]
    ends = [abs(math.log(end)) for each in shown for end in (each.low, each.high) if end]
    reach = 1.08 * max(math.log(1.5), *logs, min(WIDEST, max(ends, default=0.0)), 0.0)
    left, right = LABELS + 10, WIDTH - 20

    def place(log: float) -> float:
        return left + (min(reach, max(-reach, log)) + reach) / (2 * reach) * (right - left)

    best = max((each for each in _ROUND if math.log(each) <= 0.93 * reach), default=1.2)
    bottom = 24 + ROW * len(rows)
    parts = [
        joined(
            tag(
                "line",
                x1=_px(place(math.log(tick))),
                x2=_px(place(math.log(tick))),
                y1=22,
                y2=bottom,
                stroke=shade,
            ),
            tag("text", f"{number(tick, 2)}\u00d7", x=_px(place(math.log(tick))), y=14, text_anchor="middle"),
        )
        for tick, shade in ((1 / best, GRID), (1.0, INK), (best, GRID))
    ]
    parts += [
        _forest_row(row, position, 24 + ROW * i + ROW / 2, place, reach)
        for i, (row, position) in enumerate(zip(rows, positions, strict=True))
    ]
    told = "Speed-up against the baseline with 95% intervals, log axis; right of 1 is faster"
    return tag("svg", parts, viewBox=f"0 0 {WIDTH} {bottom + 4}", role="img", aria_label=told)


def _forest_row(row: ComparisonRow, index: int, y: float, place: Callable[[float], float], reach: float) -> Markup:
    found, shade = row.speed_up, color(index)
    whole = None if short(row.variant) == row.variant else tag("title", row.variant)
    label = tag("text", whole, short(row.variant), x=LABELS, y=_px(y + 4), text_anchor="end")
    if found.claim == "baseline":
        return joined(label, tag("circle", cx=_px(place(0.0)), cy=_px(y), r=4, fill=INK))
    ratio = estimated(found)
    if not ratio and (found.claim == "no claim" or not (found.low or found.high)):
        return joined(label, tag("text", found.claim, x=_px(place(0.0) + 8), y=_px(y + 4), class_="quiet"))
    parts = [label]
    if found.claim != "no claim" and (found.low or found.high):
        low = math.log(found.low) if found.low else -math.inf
        high = math.log(found.high) if found.high else math.inf
        start, end = place(low), place(high)
        parts.append(tag("line", x1=_px(start), x2=_px(end), y1=_px(y), y2=_px(y), stroke=shade, stroke_width=2))
        for beyond, x, to in ((low < -reach, start, -1), (high > reach, end, 1)):
            if beyond:
                path = f"M{_px(x)} {_px(y - 4)} l{6 * to} 4 l{-6 * to} 4"
                parts.append(tag("path", d=path, fill="none", stroke=shade, stroke_width=2))
    if ratio:
        parts.append(tag("rect", x=_px(place(math.log(ratio)) - 4), y=_px(y - 4), width=8, height=8, fill=shade))
    return joined(*parts)


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return round values within a range, about so many."""
    raw = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(each * step, 12) for each in range(first, math.floor(high / step + 1e-9) + 1)]


class _Frame:
    """Where values lie on a chart."""

    left, right, top, bottom = 62, WIDTH - 16, 12, 300

    def __init__(self, bands: Sequence[Band], target: float | None, of_accuracy: bool) -> None:
        xs = [x for band in bands for x in band.x]
        ys = [y for band in bands for y in (*band.mean, *band.low, *band.high) if y is not None]
        ys += [target] if target is not None else []
        self.low_x, self.high_x = _range(xs)
        if of_accuracy:  # intervals of few seeds reach beyond what an accuracy can be
            ys = [min(1.0, max(0.0, y)) for y in ys]
        low, high = _range(ys)
        room = 0.04 * (high - low)
        self.low_y, self.high_y = low - room, high + room

    def x(self, value: float) -> float:
        """Return where an x lies, px."""
        return self.left + (value - self.low_x) / (self.high_x - self.low_x) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return where a y lies, px; of one beyond the axis, its end."""
        value = min(self.high_y, max(self.low_y, value))
        return self.bottom - (value - self.low_y) / (self.high_y - self.low_y) * (self.bottom - self.top)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis for these values: different, and far enough from one another to be divided."""
    low = max(-_FARTHEST, min(values, default=0.0))
    high = min(_FARTHEST, max(values, default=1.0))
    if high - low > 1e-12 * max(abs(low), abs(high), 1 / _FARTHEST):
        return low, high
    room = max(0.5, 0.05 * abs(low))
    return low - room, low + room


def curves(
    bands: Sequence[Band],
    positions: Sequence[int],
    titles: tuple[str, str],
    target: float | None,
    of_accuracy: bool,
) -> Markup:
    """Return means over seeds with their 95% bands. `titles`: of the x and y axes."""
    frame = _Frame(bands, target, of_accuracy)
    parts = [_axes(frame, titles, of_accuracy)]
    if target is not None:
        y = _px(frame.y(target))
        parts.append(
            tag(
                "line",
                x1=frame.left,
                x2=frame.right,
                y1=y,
                y2=y,
                stroke=INK,
                stroke_dasharray="6 4",
                class_="target",
            )
        )
    for band, position in zip(bands, positions, strict=True):
        parts.append(_band(band, position, frame))
    return tag(
        "svg",
        parts,
        viewBox=f"0 0 {WIDTH} {frame.bottom + 44}",
        role="img",
        aria_label=" over ".join(titles[::-1]),
    )


def _axes(frame: _Frame, titles: tuple[str, str], of_accuracy: bool) -> Markup:
    rows = [
        joined(
            tag("line", x1=frame.left, x2=frame.right, y1=_px(frame.y(at)), y2=_px(frame.y(at)), stroke=GRID),
            tag(
                "text",
                f"{number(100 * at)}%" if of_accuracy else number(at),
                x=frame.left - 8,
                y=_px(frame.y(at) + 4),
                text_anchor="end",
            ),
        )
        for at in ticks(frame.low_y, frame.high_y, 6)
    ]
    columns = [
        tag("text", number(at), x=_px(frame.x(at)), y=frame.bottom + 18, text_anchor="middle")
        for at in ticks(frame.low_x, frame.high_x, 7)
    ]
    base = tag("line", x1=frame.left, x2=frame.right, y1=frame.bottom, y2=frame.bottom, stroke=INK)
    middle = (frame.left + frame.right) / 2
    return joined(rows, base, columns, tag("text", titles[0], x=middle, y=frame.bottom + 38, text_anchor="middle"))


def _band(band: Band, index: int, frame: _Frame) -> Markup:
    """Return the line and the band of one variant; gaps are left open."""
    parts = []
    for piece in _pieces(band):
        line = [(band.x[i], band.mean[i]) for i in piece]
        wide = [i for i in piece if band.low[i] is not None and band.high[i] is not None]
        if len(wide) > 1:
            edge = [(band.x[i], band.high[i]) for i in wide] + [(band.x[i], band.low[i]) for i in reversed(wide)]
            parts.append(tag("path", d=f"{_path(edge, frame)}Z", fill=color(index), fill_opacity=0.13))
        look: dict[str, str | float | None] = {
            "fill": "none",
            "stroke": color(index),
            "stroke_width": 2,
            "stroke_dasharray": dash(index),
        }
        parts.append(tag("path", d=_path(line, frame), **look))
    return joined(*parts)


def _pieces(band: Band) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for i, value in enumerate(band.mean):
        if value is None:
            found.append([])
        else:
            found[-1].append(i)
    return [piece for piece in found if piece]


def _path(points: Sequence[tuple[float, float | None]], frame: _Frame) -> str:
    return "".join(
        f"{'L' if i else 'M'}{_px(frame.x(x))} {_px(frame.y(y))}"
        for i, (x, y) in enumerate(points)
        if y is not None
    )
