"""The tuning behind a comparison: a method that was tuned less than another one is not called slower."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hooke.catalogue.joined import setting_name
from hooke.comparison.cells import Cell
from hooke.comparison.figures import FINISHED
from hooke.comparison.verdict import Verdict
from hooke.comparison.wording import count, listed
from hooke.spec.specification import ExperimentSpec
from hooke.spec.tuning import Tuning
from hooke.tuning.plan import Where

HOW = {
    "quasi-random": "quasi-random search",
    "halving": "successive halving",
    "tpe": "model-based search of Optuna",
    "gp": "model-based search of Optuna by a Gaussian process",
    "random": "random search of Optuna",
    "qmc": "quasi-random search of Optuna",
}
AS_GIVEN = (
    "Settings are as given: no trials were made, so a claim is about these settings, not about the algorithms."
)
OTHERS = " A claim is about these settings: another search might choose others."

UNPRICED = (
    "simulated gradients take as long with all settings of the workload, in which the two differ: compare them "
    "on a real cluster"
)


def trained(spec: ExperimentSpec) -> dict[str, str]:
    """Return how each variant trains the workload, as text: other texts mean gradients of another cost.

    A variant that searches settings of the workload is like no other one.
    """
    found = {}
    for variant in spec.variants:
        searched = any(space and setting_name(name) for name, space in variant.search.items())
        own = [variant.workload_settings, variant.name if searched else ""]
        found[variant.name] = json.dumps(own, sort_keys=True)
    return found


def of_trials(spec: ExperimentSpec) -> str:
    """Return how the trials of an experiment are made: what costs as much has the same text. Empty without any."""
    if (tuning := spec.tuning) is None:
        return ""
    samples = f"{tuning.samples or spec.budget.samples:,} samples each"
    return f"{_how(tuning)}, {count(tuning.seeds, 'tuning seed')}, {samples}"


def _how(tuning: Tuning) -> str:
    return HOW[tuning.sampler if tuning.search == "optuna" else tuning.search]


def later_spaces(tuning: Tuning) -> str:
    """Return which algorithms have later spaces than others, which a declaration or a document gave them."""
    if not tuning.later:
        return ""
    return f" The search spaces of {listed(tuning.later)} were declared later than those of the other algorithms."


def refuted(name: str, cell: Mapping[int, bool], tuning_seeds: int) -> str | None:
    """Return why a tuned setting allows no claim, or None: it diverged with more than half of its seeds.

    `cell`: seed -> whether the run diverged. A time to the target with a setting that hardly ever converges tells
    nothing of the method that it was chosen for.
    """
    diverged = sum(cell.values())
    if 2 * diverged <= len(cell):
        return None
    return (
        f"the setting chosen for {name} diverged with {diverged} of {count(len(cell), 'seed')}, which "
        f"{count(tuning_seeds, 'tuning seed')} did not show: tune with more seeds"
    )


@dataclass(frozen=True)
class Effort:
    """How many trials each variant had."""

    tuning: Tuning | None = None
    variants: tuple[str, ...] = ()
    complete: bool = True
    """Whether all settings have been chosen."""
    measured: bool = True
    """Whether any chosen setting has runs."""
    made: Mapping[Where, int] = field(default_factory=dict)
    """Trials of each search that have had their budget."""
    earlier: int = 0
    """Trials per variant of the experiments that this one continues."""
    outcomes: tuple[str, ...] = ()
    """How the runs of all trials ended, in words."""
    trained: Mapping[str, str] = field(default_factory=dict)
    """How each variant trains the workload (`trained`); empty: all alike."""
    by_hand: str = ""
    """What was left to no search, and how many parameters were searched (`hooke.comparison.by_hand`)."""

    @property
    def sentence(self) -> str:
        """Return how the settings were chosen."""
        if self.tuning is None:
            return AS_GIVEN
        trials, seeds = count(self.tuning.trials + self.earlier, "trial"), count(self.tuning.seeds, "tuning seed")
        how = _how(self.tuning)
        if self.tuning.samples:  # else that of a run
            seeds += f", at most {self.tuning.samples:,} samples each"
        where = f"on {self.tuning.cluster}" if self.tuning.cluster else "on each cluster and number of workers"
        began = "Each setting is the best of" if self.complete else "Settings are being chosen, each the best of"
        if self.complete and not self.measured:
            began = "No setting was chosen from"
        counted = (
            f", {self.earlier} of them made before by the experiments that it continues" if self.earlier else ""
        )
        return (
            f"{began} {trials} per variant{counted}, {where} ({how}, {seeds}); no reported run has a tuning seed."
            f"{self.by_hand}{later_spaces(self.tuning)}{OTHERS if self.complete and self.measured else ''}"
        )

    def judged(
        self, cells: Mapping[str, Cell], baseline: str, verdicts: Mapping[str, Verdict]
    ) -> dict[str, Verdict]:
        """Return the verdicts, without a claim where tuning or simulated time does not allow one.

        Tuning does not if the two sides had different numbers of trials, or if the setting that was chosen for
        either diverged with most seeds (`refuted`); simulated time does not if they differ in `trained`.
        """
        if baseline not in cells:
            return dict(verdicts)
        found = {}
        for name, verdict in verdicts.items():
            why = None if name == baseline else self._unfair(cells[baseline], cells[name])
            found[name] = replace(verdict, claim="no claim", unfair=why) if why else verdict
        return found

    def _unfair(self, base: Cell, cell: Cell) -> str | None:
        """Return why a variant is not compared with another one, or None."""
        if cell.runs[0].simulated and self.trained.get(base.variant) != self.trained.get(cell.variant):
            return UNPRICED
        if self.tuning is None:
            return None
        own, theirs = self.trials_of(cell), self.trials_of(base)
        if own != theirs:
            return f"unequal tuning: {count(own, 'trial')}, but {theirs} of {base.variant}"
        return self.refuted_setting(base) or self.refuted_setting(cell)

    def unchosen(self, cells: Mapping[str, Cell]) -> list[str]:
        """Return the variants whose search for this place gave no setting, once all searches have ended."""
        if not self.tuning or not self.complete:
            return []
        run = next(iter(cells.values())).runs[0]
        return [
            name
            for name in self.variants
            if name not in cells and self._searched(name, run.cluster, run.workers) in self.made
        ]

    def refuted_setting(self, cell: Cell) -> str | None:
        """Return why the tuned setting of a variant in a place allows no claim (`refuted`), or None."""
        if self.tuning is None or self.trials_of(cell) == 0:
            return None
        told = {seed: run.diverged for seed, run in cell.by_seed.items() if run.state in FINISHED or run.diverged}
        return refuted(cell.variant, told, self.tuning.seeds)

    def trials_of(self, cell: Cell) -> int:
        """Return the number of trials that the setting of a variant in a place was chosen from."""
        run = cell.runs[0]
        return self.made.get(self._searched(cell.variant, run.cluster, run.workers), 0)

    def _searched(self, variant: str, cluster: str, workers: int) -> Where:
        return variant, (self.tuning.cluster if self.tuning else None) or cluster, workers
