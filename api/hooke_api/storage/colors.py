"""Which color of the palette each variant of an experiment has: that of its name in earlier experiments.

A color is a place in the palette of the dashboard: a hue, and a pattern of the line, solid for the first ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Experiment

HUES = 5
STYLES = 30
"""Places of the palette: six patterns of each hue."""
KNOWN = 500
"""Latest experiments whose names keep their colors."""
RECENT = 20
"""Latest experiments whose colors another name does not get while others are left."""


def colors_of(session: Session, names: Sequence[str], own: Sequence[int] = ()) -> list[int]:
    """Return the places in the palette of variants of these names, all of them different.

    `own`: those that the first of them have, if the experiment is extended. A name has the place that it has in
    the latest experiment with such a variant. Another one gets a hue that the experiment does not have yet, and a
    place that no other name has had recently, as far as there are any.
    """
    known, recent = _earlier(session)
    found = dict(zip(names, own, strict=False))
    for name in names:
        place = known.get(name)
        if name not in found and place is not None and place not in found.values():
            found[name] = place
    for name in names:
        if name not in found:
            found[name] = _free(set(found.values()), recent)
    return [found[name] for name in names]


def _earlier(session: Session) -> tuple[dict[str, int], Counter[int]]:
    """Return the place of each name of the latest experiments, and how many names had each place recently."""
    latest = select(Experiment.variants, Experiment.colors).order_by(Experiment.number.desc()).limit(KNOWN)
    known: dict[str, int] = {}
    recent: dict[str, int] = {}
    for n, (variants, colors) in enumerate(session.execute(latest)):
        for name, place in zip(variants, shown(variants, colors), strict=True):
            known.setdefault(name, place)
            if n < RECENT:
                recent.setdefault(name, place)
    return known, Counter(recent.values())


def _free(taken: set[int], recent: Counter[int]) -> int:
    hues = Counter(place % HUES for place in taken)
    places = (place for place in range(len(taken) + STYLES) if place not in taken)
    return min(places, key=lambda place: (hues[place % HUES], recent[place % STYLES], place))


def shown(variants: Sequence[str], colors: Sequence[int]) -> list[int]:
    """Return the colors of variants; an experiment of before has them by place."""
    return list(colors) if len(colors) == len(variants) else list(range(len(variants)))
