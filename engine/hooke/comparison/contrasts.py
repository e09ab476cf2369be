"""Contrasts: two rows of the same or of different experiments, whose times to the target are compared by seed.

Times are compared if they were measured under the same conditions and one thing alone differs: the cluster, the
number of workers, or the setting. Otherwise the reason is said in place of a ratio. Seconds of a simulated cluster
are not compared with those of a measured one. The rule is that of `verdict`, with Holm's correction for all
contrasts that are judged together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from hooke.comparison.cells import Cell
from hooke.comparison.effort import UNPRICED
from hooke.comparison.figures import RunFigures
from hooke.comparison.verdict import Verdict, compare, holm
from hooke.comparison.wording import count, listed, sentence

OF_THE_WORKLOAD = "workload "
"""Beginning of the names of settings of the workload among those of a side."""
PROCESSOR = "processor"
"""Its name among what made the runs of a side."""
Positions = tuple[int, int]
"""Of the side whose time is divided, and of the one whose time it is divided by."""


@dataclass(frozen=True)
class Side:
    """One variant on one cluster with one number of workers, as a contrast needs it."""

    experiment: int
    """Number of its experiment."""
    cell: Cell
    place: str
    """What its cluster is: the same for sides on one cluster, with the same constants if it is virtual."""
    conditions: Mapping[str, object]
    """What has to be equal for times to be comparable, by name."""
    setting: Mapping[str, object]
    """Algorithm, parameters and communication, by name, and settings of the workload after OF_THE_WORKLOAD."""
    has_target: bool
    trials: int | None = None
    """Trials that its setting is the best of; None: it is as given."""
    of_trials: str = ""
    """How these trials were made (`hooke.comparison.effort.of_trials`)."""
    refuted: str | None = None
    """Why its tuned setting allows no claim (`hooke.comparison.effort.refuted`)."""
    made_by: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The versions of programs and the processors that its runs told, by name; without names that none told."""
    number: int | None = None
    """Number of its run, if it is a single one that was chosen."""

    @property
    def run(self) -> RunFigures:
        """Return one of its runs: variant, cluster, workers, whether it is simulated."""
        return self.cell.runs[0]


@dataclass(frozen=True)
class Contrast:
    """The time of one side over that of another one: 2 means that `second` needs half the time."""

    first: int
    second: int
    verdict: Verdict | None
    """On `second`, with `first` as the baseline; None if they are not compared."""
    sentence: str
    """The conclusion, or why they are not compared."""


def between_clusters(sides: Sequence[Side]) -> list[Positions]:
    """Return the positions of each variant on two clusters with the same number of workers.

    In different experiments a variant is the same if its name or its setting is.
    """
    numbered = combinations(enumerate(sides), 2)
    return [(i, j) for (i, one), (j, other) in numbered if _is_elsewhere(one, other)]


def against(sides: Sequence[Side], reference: int) -> list[Positions]:
    """Return the positions of one side with each of the others."""
    return [(reference, other) for other in range(len(sides)) if other != reference]


def contrasts(sides: Sequence[Side], positions: Iterable[Positions]) -> list[Contrast]:
    """Return the contrasts of these sides, corrected for the number of those that have a ratio."""
    reasons = {(i, j): _why_not(sides[i], sides[j]) for i, j in positions}
    crossings = [side.cell.crossings() for side in sides]
    compared = [(i, j) for (i, j), why in reasons.items() if why is None]
    verdicts = holm({(i, j): compare(crossings[i], crossings[j]) for i, j in compared})
    found = []
    for (i, j), why in reasons.items():
        first, second = _names(sides[i], sides[j])
        if why is not None:
            found.append(Contrast(i, j, None, f"{first} and {second} are not compared: {why}."))
            continue
        verdict = verdicts[i, j]
        if unfair := _unfair(sides[i], sides[j]):
            verdict = replace(verdict, claim="no claim", unfair=unfair)
        said = sentence(second, first, verdict, _marks(sides[i], sides[j]), None)
        found.append(Contrast(i, j, verdict, said))
    return found


def _is_elsewhere(one: Side, other: Side) -> bool:
    if one.place == other.place or one.run.workers != other.run.workers:
        return False
    if one.run.variant == other.run.variant:
        return True
    return one.experiment != other.experiment and one.setting == other.setting


def _why_not(one: Side, other: Side) -> str | None:
    """Return why two sides have no ratio, or None."""
    if not (one.has_target or other.has_target):
        return "without a target there is no time to it"
    if unequal := _unequal(one.conditions, other.conditions):
        return f"their {listed(unequal)} {'differs' if len(unequal) == 1 else 'differ'}"
    if one.run.simulated != other.run.simulated:
        measured, simulated = (one, other) if other.run.simulated else (other, one)
        return (
            f"{measured.run.cluster} is measured and {simulated.run.cluster} is simulated, and virtual seconds "
            "are not compared with measured ones"
        )
    different = _different(one, other)
    if len(different) > 1:
        return f"{listed(different)} differ, so a ratio would tell of none of them alone"
    return None


def _different(one: Side, other: Side) -> list[str]:
    found = []
    if one.place != other.place:
        found.append("the cluster")
    if one.run.workers != other.run.workers:
        found.append("the number of workers")
    if one.run.algorithm != other.run.algorithm:
        found.append("the algorithm")
    elif unequal := _unequal(one.setting, other.setting):
        found.append(f"the setting ({', '.join(unequal)})")
    return found


def _unequal(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """Return the names under which two mappings differ; what is missing is None."""
    return [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]


def _unfair(one: Side, other: Side) -> str | None:
    """Return why tuning or simulated time does not allow a claim, or None.

    The same setting has had the same tuning.
    """
    if one.run.simulated and _trained(one) != _trained(other):
        return UNPRICED
    if one.setting != other.setting and (one.trials, one.of_trials) != (other.trials, other.of_trials):
        (first, second), in_full = _names(one, other), one.trials == other.trials
        return f"unequal tuning: {_effort(other, in_full)} of {second}, but {_effort(one, in_full)} of {first}"
    return one.refuted or other.refuted


def _trained(side: Side) -> dict[str, object]:
    """Return how a side trains the workload: simulated time prices all alike."""
    return {name: value for name, value in side.setting.items() if name.startswith(OF_THE_WORKLOAD)}


def _effort(side: Side, in_full: bool) -> str:
    """Return the trials of a side in words, with how they were made if the number alone does not differ."""
    if side.trials is None:
        return "a setting as given"
    return count(side.trials, "trial") + (f" ({side.of_trials})" if in_full else "")


def _marks(one: Side, other: Side) -> str:
    marks = ", simulated" if one.run.simulated else ""
    runs = [run for side in (one, other) for run in side.cell.runs]
    marks += ", oversubscribed" if any(run.oversubscribed for run in runs) else ""
    marks += ", overlapped with other runs" if any(run.overlap is not None for run in runs) else ""
    if one.place == other.place and one.experiment != other.experiment and not one.run.simulated:
        marks += ", not measured in turn"
    unlike = [
        name for name in sorted(one.made_by.keys() & other.made_by.keys()) if _made_otherwise(name, one, other)
    ]
    return marks + (f", with another {listed(unlike)}" if unlike else "")


def _made_otherwise(name: str, one: Side, other: Side) -> bool:
    """Return whether two sides were made by other things of this name; clusters are to have other processors."""
    return one.made_by[name] != other.made_by[name] and (name != PROCESSOR or one.place == other.place)


def _names(one: Side, other: Side) -> tuple[str, str]:
    """Return the names of two sides, with what tells them apart."""

    def named(side: Side) -> str:
        parts = [side.run.variant]
        if one.place != other.place:
            parts.append(f"on {side.run.cluster}")
        if one.run.workers != other.run.workers:
            parts.append(f"with {count(side.run.workers, 'worker')}")
        if side.number is not None:
            parts.append(f"in run {side.number}")
        if one.experiment != other.experiment:
            parts.append(f"(#{side.experiment})")
        return " ".join(parts)

    return named(one), named(other)
