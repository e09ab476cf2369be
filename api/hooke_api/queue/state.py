"""The state of one cluster's queue, as plain values. Times are seconds since 1970, durations seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooke_api.queue.prediction import Prediction
from hooke_api.queue.settings import QueuePolicy


@dataclass(frozen=True)
class Batch:
    """Waiting runs of one experiment that are alike."""

    runs: int
    ranks: int
    """Slots that each of them needs."""
    predicted: Prediction | None = None
    """Duration of one of them; None: nothing similar has run."""


@dataclass(frozen=True)
class Entry:
    """The waiting runs of one experiment on one cluster. They are ordered as a whole, so they stay together."""

    experiment: str
    user: str
    submitted_at: float
    batches: tuple[Batch, ...]
    priority: int = 0
    begun: bool = False
    """Whether runs of the experiment have been dispatched to this cluster before."""
    number: int = 0
    name: str = ""

    @property
    def runs(self) -> int:
        """Return the number of its waiting runs."""
        return sum(batch.runs for batch in self.batches)

    @property
    def ranks(self) -> int:
        """Return the slots that its largest run needs."""
        return max(batch.ranks for batch in self.batches)

    @property
    def service(self) -> float | None:
        """Return predicted duration x ranks over its runs, slot seconds; None if a duration is unknown."""
        total = 0.0
        for batch in self.batches:
            if batch.predicted is None:
                return None
            total += batch.runs * batch.ranks * batch.predicted.seconds
        return total


@dataclass(frozen=True)
class Active:
    """The runs of one experiment that occupy the cluster."""

    experiment: str
    user: str
    ranks: int
    """Slots occupied: those of its largest run, as the runs of a launch follow one another."""
    runs: int = 1
    left: tuple[float, float] | None = None
    """Mean and standard deviation of the seconds until the last one ends; None: unknown."""
    number: int = 0
    """0: not to be told."""
    sent: int = 0
    """Runs among them that have not begun."""
    late: float = 0.0
    """Seconds by which the run that is going on has exceeded its predicted duration; 0: it has not."""
    taken: float = 0.0
    """Seconds for which the run that is going on has kept the cluster: not yet part of the user's use."""


@dataclass(frozen=True)
class Calibrating:
    """A calibration that has not ended: it needs the whole cluster, and comes before what waits."""

    running: bool
    """False: it waits for the active runs."""
    left: tuple[float, float]
    """Mean and standard deviation of the seconds that it still takes, once it runs."""


@dataclass(frozen=True)
class Elsewhere:
    """What another cluster does on a machine of this one, which has to wait for its end."""

    cluster: str
    doing: str
    """As a phrase: "is timing a run"."""
    left: tuple[float, float] | None = None
    """Mean and standard deviation of the seconds until it ends; None: unknown."""


@dataclass(frozen=True)
class QueueState:
    """All that the order, the reasons and the predictions of one cluster's queue depend on."""

    cluster: str
    slots: int
    now: float
    waiting: tuple[Entry, ...] = ()
    active: tuple[Active, ...] = ()
    policy: QueuePolicy = field(default_factory=QueuePolicy)
    usage: Mapping[str, float] = field(default_factory=dict)
    """User -> slot seconds used, decayed by the policy's half-life."""
    exclusive: bool = True
    """Whether a launch occupies the whole cluster, so that timed runs never share cores."""
    online: bool = True
    seen_at: float = 0.0
    drained: bool = False
    calibration: Calibrating | None = None
    elsewhere: Elsewhere | None = None
    held_until: float | None = None
    """Until when no runs are sent to it, because launches failed; None: they are."""
    held_why: str = ""

    def active_runs(self, user: str) -> int:
        """Return the number of a user's runs that are active."""
        return sum(each.runs for each in self.active if each.user == user)

    def needed(self, ranks: int) -> int:
        """Return the slots that runs with so many ranks take from others."""
        return self.slots if self.exclusive else min(ranks, self.slots)

    def charge(self, entry: Entry) -> float | None:
        """Return predicted duration x slots that others cannot use meanwhile, slot seconds; None if unknown."""
        total = 0.0
        for batch in entry.batches:
            if batch.predicted is None:
                return None
            total += batch.runs * self.needed(batch.ranks) * batch.predicted.seconds
        return total

    @property
    def free(self) -> int:
        """Return the number of slots without a rank."""
        return max(0, self.slots - sum(min(each.ranks, self.slots) for each in self.active))
