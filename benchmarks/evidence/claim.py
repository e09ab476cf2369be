"""A claim: what is said or aimed at, how it is read off the runs, and what the verdict is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.evidence.conditions import SEEDS, Precision
from benchmarks.evidence.spread import Figure, Spread
from benchmarks.evidence.view import View

Measure = Callable[[View, str], Spread | None]


@dataclass(frozen=True)
class Claim:
    """One line. `target` and `aim` are what is to be reached; `better` says on which side of them."""

    what: str
    paper: str
    measure: Measure | None
    places: tuple[str, ...] = ("8-hosts", "2-hosts")
    target: float | None = None
    aim: float | None = None
    better: str = "more"
    form: str = ".2f"
    unit: str = "x"
    judged: str = "target"
    """`target`: met or not; `sooner`: is it faster or not; empty: the figure only."""
    about: tuple[str, ...] = ()
    """Methods that are not run everywhere: the claim is looked at where they are."""
    precision: Precision | None = None
    """Looked at only where the matrix computes in this; the other precision's line says it, or there is none."""

    def concerns(self, precision: Precision) -> bool:
        """Return whether it is looked at where the matrix computes in `precision`."""
        return self.precision in (None, precision)

    def told(self, figure: float | None) -> str:
        """Return a target or an aim as text."""
        if figure is None:
            return ""
        sign = "≤" if self.better == "less" else "≥"
        digits = f"{figure:.0%}" if self.form.endswith("%") else f"{figure:g}{self.unit}"
        return f"{sign} {digits}"

    def text(self, found: Spread) -> str:
        """Return what was measured as text."""
        return found.text(self.form, "" if self.form.endswith("%") else self.unit)

    def verdict(self, found: Spread | None) -> str:
        """Return what was found of this claim; fewer than three seeds say so and decide nothing."""
        if found is None:
            return "not measured"
        if not self.judged or self.target is None:
            return ""
        few = f" (so far: {found.count} of {SEEDS})" if found.count < SEEDS else ""
        return self._judged(found) + few

    def _judged(self, found: Spread) -> str:
        target = self.target if self.target is not None else 0.0
        sides = [self._side(figure, target) for figure in (found.median, found.least, found.most)]
        words = ("faster", "slower") if self.judged == "sooner" else ("target met", "target not met")
        if None in sides[:1]:
            return "not shown: only a bound is known"
        if set(sides) == {True}:
            aim = self.aim is not None and self._side(self._worst(found), self.aim)
            return f"{words[0]}, aim met" if aim else words[0]
        if set(sides) == {False}:
            return words[1]
        return f"{words[0 if sides[0] else 1]} by the median, not by all"

    def _worst(self, found: Spread) -> Figure:
        return found.most if self.better == "less" else found.least

    def _side(self, figure: Figure, target: float) -> bool | None:
        """Return whether a figure is on the better side; None where a bound leaves it open."""
        if self.better == "less":
            good = figure.value <= target
            return good if figure.side == "=" else (False if figure.side == ">" and not good else None)
        good = figure.value >= target if self.judged == "target" else figure.value > target
        if figure.side == "=" or (figure.side == ">" and good) or (figure.side == "<" and not good):
            return good
        return None
