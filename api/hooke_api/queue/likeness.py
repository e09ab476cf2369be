"""What the duration of a run of Hooke depends on, and when two runs are alike."""

from __future__ import annotations

from dataclasses import dataclass

from hooke_api.queue.prediction import History, Level

OCCASION = 0.15
"""Standard deviation of log durations between occasions: runs of an experiment share their machine's load."""


@dataclass(frozen=True)
class Kind:
    """What the duration of a run of Hooke depends on."""

    cluster: str
    simulated: bool
    workload: str
    algorithm: str
    ranks: int
    samples: int
    """Of its budget."""
    limit: float | None = None
    """Wall limit of its budget, s."""
    target: float | None = None
    """Value of the metric at which it ends."""


LEVELS: tuple[Level[Kind], ...] = (
    Level(
        "the same workload, algorithm, ranks, cluster, budget and target",
        lambda k: k,
        spread=OCCASION,
    ),
    Level(
        "the same workload, algorithm, ranks and cluster",
        lambda k: (k.cluster, k.simulated, k.workload, k.algorithm, k.ranks),
        scaled=True,
        spread=0.25,
    ),
    Level(
        "the same workload, algorithm and cluster",
        lambda k: (k.cluster, k.simulated, k.workload, k.algorithm),
        scaled=True,
        spread=0.4,
    ),
    Level(
        "the same workload and cluster",
        lambda k: (k.cluster, k.simulated, k.workload),
        scaled=True,
        spread=0.7,
    ),
    Level(
        "the same workload, algorithm and ranks on other clusters",
        lambda k: (k.simulated, k.workload, k.algorithm, k.ranks),
        scaled=True,
        spread=0.7,
    ),
)
"""From the closest likeness to the coarsest."""


def history_of_runs() -> History[Kind]:
    """Return an empty history of runs of Hooke."""
    return History(LEVELS, lambda kind: max(1, kind.samples), lambda kind: kind.limit)
