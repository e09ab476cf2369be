"""The two halves of a simulated run: what it learns, and when.

What a synchronous method learns depends on its setting, the number of workers and the seed alone. A trajectory is
therefore run once, and its times for each link and spread of speeds come from a run with gradients of no cost and
the same messages, so that gradients are not computed again for each of them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.regimes.conditions import LAB, TASKS, Regime
from benchmarks.tuned.entries import entry_of


@dataclass(frozen=True)
class Run:
    """One half of a run; `link` and `jitter` are those of its times, None for its trajectory."""

    task: str
    workers: int
    method: str
    """Name of an entry."""
    trial: int
    """Number of the setting, from 1."""
    seed: int
    link: str | None = None
    jitter: float | None = None

    @property
    def timed(self) -> bool:
        """Return whether it yields the times of a trajectory."""
        return self.link is not None

    def document(self, parameters: Mapping[str, Any], samples: int) -> dict[str, Any]:
        """Return its specification; for times, without the target."""
        regime = LAB if self.link is None or self.jitter is None else Regime(self.link, self.jitter)
        entry, task = entry_of(self.method), TASKS[self.task]
        found = entry.document(task, regime.place(self.workers), parameters, samples, self.seed)
        return found | ({"target": None} if self.timed else {})


Todo = tuple[Run, dict[str, Any], int, int]
"""A half of a run, its parameters, and samples: of its last evaluation, and of the last one that missed the
target; of a trajectory its budget and 0."""


def carried_out(todo: Todo) -> dict[str, Any]:
    """Carry out one half of a run in this process; return its record.

    `ended`: the samples of a trial that would have taken longer than another one (`bounded`).
    """
    run, parameters, end, before = todo
    document = run.document(parameters, end)
    found = times(document, before) if run.timed else trajectory(document)
    if end < TASKS[run.task].samples and not run.timed and not found["diverged"] and found["met"] is None:
        found["ended"] = end
    return asdict(run) | {"parameters": dict(parameters)} | found


def trajectory(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the samples of the last evaluation below the target and of the first that met it; None if none."""
    from hooke.catalogue.validation import validate_run
    from hooke.errors import NumericalError
    from hooke.loop.train import run_spec_virtual

    try:
        evaluations = run_spec_virtual(validate_run(document))[0].evaluations
    except NumericalError:
        return {"diverged": True, "before": 0, "met": None, "accuracy": None}
    met = next((each.samples for each in evaluations if each.reached), None)
    below = max((each.samples for each in evaluations if not each.reached), default=0)
    return {"diverged": False, "before": below, "met": met, "accuracy": evaluations[-1].accuracy}


def times(document: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return the virtual seconds of the evaluation after `before` samples, and of the last one."""
    from hooke.catalogue.validation import validate_run
    from hooke.loop.train import run_spec_virtual

    spec = validate_run(document)
    evaluations = run_spec_virtual(spec, None, lambda: free(spec.workload.name))[0].evaluations
    clocks = {each.samples: each.clock for each in evaluations}
    return {"seconds_before": clocks[before], "seconds": evaluations[-1].clock}


def free(name: str) -> Any:
    """Return an objective with gradients of no cost, for one rank."""
    from benchmarks.core._objectives import Weightless

    class Constant(Weightless):
        """A gradient other than 0: a method may divide by its norm, and may change it in its place."""

        def bind(self, weights: Any, gradient: Any) -> None:
            del weights
            self._bound = gradient

        def gradient(self, batch: Any) -> float:
            self._bound.fill_(1e-6)
            return super().gradient(batch)

    return Constant(_objective(name))


@functools.cache
def _objective(name: str) -> Any:
    from hooke.catalogue.workload import workload

    return workload(name)().build()
