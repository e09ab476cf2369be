"""HTML and SVG of nested elements; whatever is text is escaped, wherever it comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from markupsafe import Markup, escape

Content = str | int | float | Markup | None
RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc]")
"""Letters that run from right to left, and signs that turn the direction."""


def tag(name: str, /, *content: Content | Iterable[Content], **attributes: str | float | None) -> Markup:
    """Return an element. None is left out; `class_` is `class`, and `_` within a name is `-`.

    Every element but `meta` has an end: without one, those of SVG would hold what follows.
    """
    told = Markup("").join(
        _raw(' {}="{}"', each.rstrip("_").replace("_", "-"), value)
        for each, value in attributes.items()
        if value is not None
    )
    start = _raw("<{}", name) + told + _raw(">")
    return start if name == "meta" else start + joined(*content) + _raw("</{}>", name)


def _raw(text: str, *values: str | float) -> Markup:
    """Return a text of this file as it is, with escaped values."""
    return Markup(text).format(*values)  # noqa: S704 - `text` is a constant above


def joined(*content: Content | Iterable[Content]) -> Markup:
    """Return contents one after the other."""
    found = Markup("")
    for each in content:
        if each is None:
            continue
        if isinstance(each, (str, int, float)):
            found += escape(each)
        else:
            found += joined(*each)
    return found


def isolated(text: str, names: Collection[str]) -> Markup:
    """Return a text in which names run in their own direction.

    Figures beside a name that runs from right to left would otherwise stand on its other side.
    """
    turned = sorted(filter(RIGHT_TO_LEFT.search, names), key=len, reverse=True)
    if not turned:
        return joined(text)
    parts = re.split(f"({'|'.join(map(re.escape, turned))})", text)
    return joined(tag("bdi", each) if i % 2 else each for i, each in enumerate(parts))


def table(
    head: Iterable[Content], rows: Iterable[Iterable[Content]], numbers: int = 1, caption: str = ""
) -> Markup:
    """Return a table; columns from `numbers` on are aligned as numbers, the first names its row."""
    heads = [
        tag("th", each, scope="col", class_="number" if i >= numbers else None) for i, each in enumerate(head)
    ]
    body = [tag("tr", (_cell(i, each, numbers) for i, each in enumerate(row))) for row in rows]
    told = tag("caption", caption) if caption else None
    return tag(
        "div",
        tag("table", told, tag("thead", tag("tr", heads)), tag("tbody", body)),
        class_="wide",
        tabindex=0,
        role="group",
        aria_label="Table",
    )


def _cell(column: int, content: Content, numbers: int) -> Markup:
    if column == 0:
        return tag("th", content, scope="row")
    return tag("td", content, class_=_align(column, numbers))


def _align(column: int, numbers: int) -> str | None:
    return "number" if column >= numbers else None
