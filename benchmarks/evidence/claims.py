"""The claims: what the paper says, what is aimed at, and how each is read off the runs.

Figures of the paper are those of its abstract, or of a detailed account of its text (`account`); what could be
found in neither is not quoted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.evidence.conditions import (
    BEST,
    DDP,
    DDP_FULL,
    DDP_NESTEROV,
    EASGD1,
    EASGD2,
    EASGD3,
    HOGWILD,
    OFF,
    ORIGINAL,
    PACES,
    PLACES,
    SEEDS,
    Precision,
)
from benchmarks.evidence.records import Run
from benchmarks.evidence.spread import Figure, Spread, of, times_faster
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
        few = f" (so far: {_seeds(found)} of {SEEDS})" if _seeds(found) < SEEDS else ""
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


def _seeds(found: Spread) -> int:
    return found.count


def faster(base: str, other: str) -> Measure:
    """Return how many times sooner `other` meets the target than `base`, both at their best rates."""
    return lambda view, place: times_faster(view.at_best(place, base), view.at_best(place, other))


def exposed(label: str) -> Measure:
    """Return the share of a worker's time that it is blocked in communication."""

    def measure(view: View, place: str) -> Spread | None:
        runs = view.at_best(place, label).values()
        return of((run.communication_fraction for run in runs), (run.key for run in runs))

    return measure


def of_limit(label: str) -> Measure:
    """Return the throughput over that of max(compute alone, an all-reduce of the weights at wire speed)."""

    def measure(view: View, place: str) -> Spread | None:
        runs, alone = view.paces.get((place, label), {}), view.paces.get((place, OFF), {})
        found, keys = [], list[str]()
        for repeat in sorted(runs.keys() & alone.keys()):
            limit, took = step_limit(view, alone[repeat]), runs[repeat].seconds_per_step
            if limit and took:
                found.append(limit / took)
                keys += [runs[repeat].key, alone[repeat].key]
        return of(found, keys)

    return measure


def wire_limit(view: View, run: Run, collective: str = "any") -> float | None:
    """Return seconds of an all-reduce of the weights at wire speed, where the run was; `any`: by any schedule."""
    calibration = view.evidence.sessions.get(run.session, {}).get("calibrations", {}).get(run.place)
    return calibration["collectives"]["limits"].get(collective) if calibration else None


def step_limit(view: View, alone: Run) -> float | None:
    """Return seconds of a step that nothing could beat: computing, or the wire, whichever takes longer."""
    wire, compute = wire_limit(view, alone), alone.seconds_per_step
    if compute is None or (wire is None and PLACES[alone.place].hosts > 1):
        return None
    return max(compute, wire or 0.0)


def paces(above: str, below: str) -> Measure:
    """Return the quotient of two throughputs, repeat by repeat."""
    return lambda view, place: view.over(place, above, below)


LIMITED = ("Sync EASGD3", "Sync EASGD3, halving", "Sync EASGD3, halving, pipelined")
PER_CENT = {"form": ".0%", "unit": ""}
CLAIMS = (
    Claim(
        f"{BEST.label} over {ORIGINAL.label}, time to target",
        "5.3x (abstract)",
        faster(ORIGINAL.label, BEST.label),
        target=5.3,
        aim=10,
    ),
    Claim(
        f"exposed communication, {ORIGINAL.label}",
        "87% (abstract)",
        exposed(ORIGINAL.label),
        judged="",
        **PER_CENT,
    ),
    Claim(
        f"exposed communication, {BEST.label}",
        "14% (abstract)",
        exposed(BEST.label),
        target=0.14,
        aim=0.05,
        better="less",
        form=".1%",
        unit="",
    ),
    *(
        Claim(
            f"{BEST.label} over {ddp.label}, time to target",
            "",
            faster(ddp.label, BEST.label),
            target=2,
            aim=3,
            precision="bf16" if ddp is DDP_FULL else None,
        )
        for ddp in (DDP, DDP_FULL, DDP_NESTEROV)
    ),
    *(
        Claim(
            f"throughput of {label} over max(compute, all-reduce at wire speed)",
            "",
            of_limit(label),
            target=0.9,
            aim=0.97,
            **PER_CENT,
        )
        for label in LIMITED
    ),
    *(
        Claim(
            f"Hooke over plain PyTorch, one worker, {precision}, samples/s",
            "",
            paces(f"Hooke, {precision}", f"plain PyTorch, {precision}"),
            ("here",),
            target=0.98,
            aim=1,
            form=".3f",
            precision="bf16" if precision == "bf16" else None,
        )
        for precision in ("bf16", "fp32")
    ),
    *(
        Claim(
            f"{elastic} over {plain}, time to target",
            f"faster ({said})",
            faster(plain, elastic),
            target=1,
            judged="sooner",
            about=(elastic, plain),
        )
        for elastic, plain, said in (
            ("Async EASGD", "Async SGD", "abstract"),
            ("Async MEASGD", "Async MSGD", "account"),
            ("Hogwild EASGD", "Hogwild SGD", "account"),
        )
    ),
    *(
        Claim(
            f"weak scaling, {label}: throughput over the same with communication off",
            "91.5% on 4,253 cores (abstract)",
            paces(label, PACES[label].off),
            target=0.9,
            aim=0.95,
            **PER_CENT,
        )
        for label in (BEST.label, "Sync EASGD3")
    ),
    *(
        Claim(
            f"{faster_one.label} over {slower.label}, time to target",
            f"{factor}x (account)",
            faster(slower.label, faster_one.label),
            target=1,
            judged="sooner",
        )
        for faster_one, slower, factor in (
            (EASGD1, ORIGINAL, 3.7),
            (EASGD2, EASGD1, 1.3),
            (EASGD3, EASGD2, 1.1),
        )
    ),
    Claim(
        f"{HOGWILD.label} over {EASGD3.label}, time to target",
        "about 1x: the two fastest (account)",
        faster(EASGD3.label, HOGWILD.label),
        judged="",
        about=(HOGWILD.label,),
    ),
    Claim(
        "one message for all layers over one per layer, Sync EASGD3, samples/s",
        "more; no figure found (account)",
        paces("Sync EASGD3", "Sync EASGD3, per layer"),
        target=1,
        judged="sooner",
    ),
    Claim("16 parts of a many-core chip over one (AlexNet, CIFAR-10)", "3.3x (account)", None, judged=""),
)
