"""What the trials of an experiment have shown, from the figures of their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol

from hooke.comparison.figures import FINISHED
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL, RunState
from hooke.tuning.plan import Where
from hooke.tuning.search import TrialKey, TrialResult


class TrialRun(Protocol):
    """One run of a trial: `RunFigures`, or a row of a database with these columns."""

    @property
    def variant(self) -> str:
        """Name of the variant."""

    @property
    def cluster(self) -> str:
        """Name of the cluster."""

    @property
    def workers(self) -> int:
        """Number of workers."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def trial(self) -> int | None:
        """Number of the setting, from 1."""

    @property
    def rung(self) -> int | None:
        """Rung of the search, from 0."""

    @property
    def state(self) -> RunState:
        """State of the run."""

    @property
    def diverged(self) -> bool:
        """Whether it ended with NaN or Inf."""

    @property
    def samples(self) -> int:
        """Samples trained on."""

    @property
    def loss(self) -> float | None:
        """Loss of the latest evaluation."""

    @property
    def accuracy(self) -> float | None:
        """Accuracy of the latest evaluation."""

    @property
    def time_to_target(self) -> float | None:
        """Train clock at which it met the target, s."""


def where(run: TrialRun) -> Where:
    """Return the search that a trial's run belongs to."""
    return run.variant, run.cluster, run.workers


def known(spec: ExperimentSpec, trials: Iterable[TrialRun]) -> dict[Where, dict[TrialKey, TrialResult | None]]:
    """Return the results of trials by search; None of a run that has not ended."""
    found: dict[Where, dict[TrialKey, TrialResult | None]] = defaultdict(dict)
    for run in trials:
        key = TrialKey(run.trial or 0, run.rung or 0, run.seed)
        found[where(run)][key] = result(spec, run) if run.state in TERMINAL else None
    return dict(found)


def result(spec: ExperimentSpec, run: TrialRun) -> TrialResult:
    """Return what an ended trial has shown: nothing, if it failed or was cancelled."""
    if run.state not in FINISHED or run.diverged:
        return TrialResult(None, None, _had_its_budget(run))
    by_loss = spec.target is not None and not spec.target.of_accuracy
    quality = (None if run.loss is None else -run.loss) if by_loss else run.accuracy
    return TrialResult(run.time_to_target, quality)


def trials_made(trials: Iterable[TrialRun]) -> dict[Where, int]:
    """Return how many trials of each search have had their budget: all of whose runs ended by themselves."""
    counted: dict[Where, dict[int, bool]] = defaultdict(dict)
    for run in trials:
        of_search = counted[where(run)]
        of_search[run.trial or 0] = of_search.get(run.trial or 0, True) and _had_its_budget(run)
    return {search: sum(of_search.values()) for search, of_search in counted.items()}


def _had_its_budget(run: TrialRun) -> bool:
    """Return whether a trial ended as it would again; not, if it was refused before its first step."""
    return run.state in FINISHED or run.diverged or (run.state is RunState.FAILED_USER and run.samples > 0)
