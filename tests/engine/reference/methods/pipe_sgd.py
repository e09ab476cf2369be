"""Means that are some steps late: Pipe-SGD (arXiv 1811.03619) and Delayed Gradient Averaging (NeurIPS 2021)."""

from __future__ import annotations

import numpy as np

from tests.engine.reference.descent import Array, Momentum, Step
from tests.engine.reference.observed import End, Observed


def pipe_sgd(run: Observed) -> End:
    """Every step but the first `delay` ones takes the oldest mean; a prediction adds powers of mu to the point."""
    x, step, late = run.start.copy(), run.own()[0], run.values["delay"]
    step.factor = lambda taken: run.factor(taken + late)
    line = list[Array]()
    for t in range(run.steps[0]):
        at = step.at(x)
        if run.values["predict"] == "momentum" and isinstance(step, Momentum):
            powers = [step.mu**k for k in range(1, late + (2 if run.nesterov else 1))]
            at = step.point = x + sum(powers) * step.v
        line.append(np.mean([run.gradient(i, t, at) for i in range(run.workers)], axis=0))
        if t >= late:
            x = step.apply(x, line.pop(0))
    return [x] * run.workers, x


def delayed_gradient_averaging(run: Observed) -> End:
    """Every worker replays the run from its start: along means where they have arrived, else along its own."""
    sgd = run.values.get("optimizer", "sgd") == "sgd"
    mu, late, share = run.values["momentum"] if sgd else 0.0, run.values["delay"], run.values["share"]
    own, steps = run.own(momentum=0.0), list[list[Array]]()
    for t in range(run.steps[0]):
        states = [_replayed(run.start, steps, i, t - late, mu, share) for i in range(run.workers)]
        steps.append([])
        for i, (x, v) in enumerate(states):
            at = own[i].at(x + mu * v if run.nesterov else x)
            steps[-1].append(_step(own[i], x, run.gradient(i, t, at)))
    ends = [_replayed(run.start, steps, i, run.steps[0] - late, mu, share)[0] for i in range(run.workers)]
    return ends, np.mean(ends, axis=0)


def _replayed(
    start: Array, steps: list[list[Array]], i: int, arrived: int, mu: float, share: float
) -> tuple[Array, Array]:
    """Return weights and velocity of worker i where the means of the first `arrived` steps are known."""
    x, v = start.copy(), np.zeros_like(start)
    for s, all_ in enumerate(steps):
        v = mu * v + (np.mean(all_, axis=0) if s < arrived else share * all_[i])
        x = x + v
    return x, v


def _step(step: Step, x: Array, g: Array) -> Array:
    return np.asarray(step.move(g) if isinstance(step, Momentum) else step.apply(x, g) - x)
