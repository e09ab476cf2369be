"""Methods that average gradients or weights, from the equations in `tests.engine.reference.descent`."""

from __future__ import annotations

import numpy as np

from tests.engine.reference import descent
from tests.engine.reference.descent import Array
from tests.engine.reference.observed import End, Observed


def gradient_averaging(run: Observed) -> End:
    """One step along the mean (or sum) of all gradients, the same everywhere (SGD, Sync SGD)."""
    reduction = run.values.get("reduction", "mean")
    x = descent.sync_sgd(run.start, run.gradient, run.own()[0], run.steps[0], run.workers, reduction)
    return [x] * run.workers, x


def weighted_gradient_averaging(run: Observed) -> End:
    """One step along the mean gradient of all examples; worker i has b_i batches of each (Weighted Sync SGD)."""
    b = [run.values["sizes"][i % len(run.values["sizes"])] for i in range(run.workers)]
    x, step = run.start.astype(np.float64).copy(), run.own()[0]
    for t in range(run.steps[0] // b[0]):
        at = step.at(x)
        g = [run.gradient(i, t * b[i] + k, at) for i in range(run.workers) for k in range(b[i])]
        x = step.apply(x, np.mean(g, axis=0))
    return [x] * run.workers, x


def lock_free(run: Observed) -> End:
    """With one worker, sequential SGD; its x is only what it has read last."""
    if run.workers > 1:
        raise ValueError("several workers wrote without locks")
    return [], gradient_averaging(run)[1]


def parameter_server(run: Observed) -> End:
    """Pushes applied in the order in which the server was observed to serve them (Async SGD)."""
    v = run.values
    at, own = v["momentum_at"], run.own(momentum=0.0 if v["momentum_at"] == "master" else None)
    return descent.async_sgd(
        run.start, run.gradient, v["lr"], run.period, run.served, run.steps, v["momentum"], run.nesterov, at, own
    )


def weight_averaging(run: Observed) -> End:
    """Local steps, and the mean after every H-th (Local SGD)."""
    return descent.local_sgd(run.start, run.gradient, run.own(), run.period, run.steps[0])


def post_local(run: Observed) -> End:
    """Sync SGD until the switch, Local SGD from there."""
    return descent.local_sgd(run.start, run.gradient, run.own(), run.period, run.steps[0], run.values["switch"])


def slowmo(run: Observed) -> End:
    """A slow step with momentum after every H local steps."""
    v = run.values
    own = run.own()
    center = descent.slow_step(v["slow_momentum"], v["slow_lr"], lambda: v["lr"] * run.factor(own[0].t - 1))
    return descent.outer(run.start, run.gradient, own, run.period, run.steps[0], center)


def diloco(run: Observed) -> End:
    """An outer Nesterov step after every H inner steps."""
    v = run.values
    center = descent.nesterov_step(v["outer_lr"], v["outer_momentum"])
    return descent.outer(run.start, run.gradient, run.own(), run.period, run.steps[0], center)


def low_rank(run: Observed) -> End:
    """Sync SGD along a rank-r approximation of the mean gradient (PowerSGD)."""
    basis = first_basis(run)
    x = descent.powersgd(run.start, run.gradient, run.own()[0], run.steps[0], run.workers, run.shapes, basis)
    return [x] * run.workers, x


def first_basis(run: Observed) -> list[Array]:
    """Return the Q that PowerSGD begins with: a seeded normal draw, (columns, rank) of every matrix."""
    matrices = [shape for shape in run.shapes if len(shape) > 1]
    sizes = [(m, min(run.values["rank"], n, m)) for n, m in matrices]
    draw, found = run.normal(sum(m * r for m, r in sizes)), []
    for m, r in sizes:
        found.append(draw[: m * r].reshape(m, r))
        draw = draw[m * r :]
    return found
