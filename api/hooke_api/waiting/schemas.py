"""Responses about queues."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Strict

from hooke_api.base.schema import View
from hooke_api.queue.settings import Priority, QueuePolicy


class SpanView(View):
    """A predicted time with a 90% interval."""

    at: datetime
    """The most likely time."""
    earliest: datetime
    """Lower end of the interval."""
    latest: datetime
    """Upper end of the interval."""


class WaitingView(View):
    """Why something waits on one cluster, and how long it is expected to wait."""

    cluster: str
    """The registered cluster whose slots it waits for."""
    position: int
    """Place of its experiment in the queue of the cluster, from 1; 0: it has been sent, and waits for its turn."""
    experiments_ahead: int
    """Experiments that come before."""
    runs_ahead: int
    """Runs that come before; of a run, with those of its own experiment."""
    reason: str
    """Why it waits, a phrase: `needs 8 slots, 4 are free until about 14:05 UTC`."""
    starts: SpanView | None
    """When it is expected to start; null: something before it has an unknown duration."""
    ends: SpanView | None
    """When it is expected to end; null: its duration is unknown, too."""
    runs: int
    """Number of runs that wait; 1 of a run."""


class QueueEntryView(WaitingView):
    """One experiment in the queue of a cluster."""

    experiment: str
    number: int
    name: str
    user: str
    priority: int
    begun: bool
    """Whether it has had runs on this cluster before; it then goes on first."""
    ranks: int
    """Slots that its largest run needs."""
    run_seconds: float | None
    """Predicted duration of all its waiting runs, s; null: nothing similar has run."""
    likeness: str | None
    """What the prediction is made from; null without one."""
    submitted_at: datetime
    """When it was submitted."""


class ActiveView(View):
    """The runs of one experiment that occupy a cluster."""

    experiment: str
    number: int
    user: str
    runs: int
    """Number of its runs there."""
    sent: int = 0
    """Runs among them that were sent there and have not begun: those of a launch take turns."""
    ranks: int
    """Slots that they occupy."""
    ends: SpanView | None
    """When the last of them is expected to end; null: not known."""


class QueueView(View):
    """The queue of one cluster, in the order in which it will be served."""

    cluster: str
    online: bool
    """Whether its agent reports."""
    drained: bool
    """Whether no new runs are sent to it."""
    slots: int
    free: int
    """Slots that no rank occupies."""
    policy: QueuePolicy
    """Order and limits of the queue."""
    active: list[ActiveView]
    """Experiments that occupy the cluster."""
    entries: list[QueueEntryView]
    """Experiments that wait, the next one first."""


class DurationView(View):
    """How long the planned runs of one cluster of an experiment take, one after the other, as similar runs did."""

    cluster: str
    host: str
    """The registered cluster that they keep meanwhile."""
    runs: int
    """Number of runs."""
    unlike: int
    """Number of these to which no run that has ended is similar."""
    seconds: float | None
    """Mean duration of all of them, s; null: a run has no similar one, or it would take more than ten years."""
    least: float | None
    """5th percentile of the duration, s; null with `seconds`."""
    most: float | None
    """95th percentile of the duration, s; null with `seconds`."""
    likeness: str | None
    """What the prediction is made from; null without one."""


class PriorityChange(View):
    """The new priority of an experiment."""

    priority: Annotated[Priority, Strict()]
