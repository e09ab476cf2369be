"""Responses about queues."""

from __future__ import annotations

from datetime import datetime

from hooke_api.base.schema import View
from hooke_api.queue.settings import Priority, QueuePolicy


class SpanView(View):
    """A predicted time with a 90% interval."""

    at: datetime
    earliest: datetime
    latest: datetime


class WaitingView(View):
    """Why something waits on one cluster, and how long it is expected to wait."""

    cluster: str
    """The registered cluster whose slots it waits for."""
    position: int
    """Of its experiment in the queue of the cluster, from 1; 0: it has been sent and waits for its turn."""
    experiments_ahead: int
    runs_ahead: int
    """Runs that come before; of a run, with those of its own experiment."""
    reason: str
    """A phrase: `needs 8 slots, 4 are free until about 14:05 UTC`."""
    starts: SpanView | None
    """Null: cannot be predicted, because the duration of something before it is unknown."""
    ends: SpanView | None
    runs: int
    """Runs that wait: 1 of a run."""


class QueueEntryView(WaitingView):
    """One experiment in the queue of a cluster."""

    experiment: str
    number: int
    name: str
    user: str
    priority: int
    begun: bool
    """Whether runs of it have been dispatched to this cluster before; it then goes on first."""
    ranks: int
    """Slots that its largest run needs."""
    run_seconds: float | None
    """Predicted duration of all its waiting runs, s; null: nothing similar has run."""
    likeness: str | None
    """What the prediction is made from; null without one."""
    submitted_at: datetime


class ActiveView(View):
    """The runs of one experiment that occupy a cluster."""

    experiment: str
    number: int
    user: str
    runs: int
    ranks: int
    ends: SpanView | None


class QueueView(View):
    """The queue of one cluster, in the order in which it will be served."""

    cluster: str
    online: bool
    drained: bool
    slots: int
    free: int
    """Slots without a rank."""
    policy: QueuePolicy
    active: list[ActiveView]
    entries: list[QueueEntryView]


class DurationView(View):
    """How long the planned runs of one cluster of an experiment take, one after the other, as similar runs did."""

    cluster: str
    host: str
    """The registered cluster that they keep meanwhile."""
    runs: int
    unlike: int
    """Runs that nothing that has run is similar to."""
    seconds: float | None
    """Mean, s; null: there is a run that nothing is similar to, or it would take more than ten years."""
    least: float | None
    """5% and 95%, s; null with `seconds`."""
    most: float | None
    likeness: str | None
    """What the prediction is made from; null without one."""


class PriorityChange(View):
    """The new priority of an experiment."""

    priority: Priority
