"""Methods that tie workers to a center, from the equations in `tests.engine.reference.elastic`."""

from __future__ import annotations

from tests.engine.reference import elastic
from tests.engine.reference.elastic import Constants, Spring
from tests.engine.reference.observed import End, Observed


def _constants(run: Observed, springs: int) -> Constants:
    values = run.values
    return Constants(
        values["lr"],
        run.rate(springs) / values["lr"],
        run.period,
        values["momentum"],
        run.nesterov,
        values.get("center_momentum", 0.0),
    )


def simultaneous(run: Observed) -> End:
    """All workers and the center move at once, from old values (Sync EASGD)."""
    s = Spring.at(run.start, run.workers, run.own())
    elastic.sync_easgd(s, run.gradient, _constants(run, run.workers), run.steps[0])
    return s.x, s.c


def with_center_momentum(run: Observed) -> End:
    """The same, with a momentum of the center (SMA)."""
    s = Spring.at(run.start, run.workers, run.own())
    elastic.sma(s, run.gradient, _constants(run, run.workers), run.steps[0])
    return s.x, s.c


def in_rank_order(run: Observed) -> End:
    """One worker after the other, in rank order (Original EASGD)."""
    s = Spring.at(run.start, run.workers, run.own())
    elastic.original_easgd(s, run.gradient, _constants(run, run.workers), sum(run.steps))
    return s.x, s.c


def in_order_of_arrival(run: Observed) -> End:
    """One worker after the other, as the server was observed to serve them (Async EASGD)."""
    s = Spring.at(run.start, run.workers, run.own())
    elastic.async_easgd(s, run.gradient, _constants(run, run.workers), run.served, run.steps)
    return s.x, s.c


def lock_free(run: Observed) -> End:
    """With one worker there is one order; of several nobody can say what they read and wrote."""
    if run.workers > 1:
        raise ValueError("several workers wrote without locks")
    return simultaneous(run)


def chips(run: Observed) -> End:
    """Sync SGD inside a chip of several workers, (1) and (2) between chips."""
    parts = run.values["parts"]
    k = _constants(run, run.workers // parts)
    own = run.own(run.workers // parts)
    s = elastic.chip_easgd(run.start, run.gradient, k, run.steps[0], run.workers, parts, run.values["inside"], own)
    return [s.x[i // parts] for i in range(run.workers)], s.c
