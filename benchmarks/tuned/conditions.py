"""Conditions of the tuned comparison: tasks, places, effort of the search, seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hooke.comparison.wording import count

from benchmarks.evidence.conditions import PLACES, Place

BATCH = 16
"""Per worker and step, for every entry of a task that does not search it; accumulation is a setting of some."""
TRIALS = 12
PROPOSING, PROPOSED = 16, 4
"""Trials of an entry in virtual time, if it proposes settings, and the best of them, which the hosts try."""
SEEDS = 3
CLAIM_SEEDS = 5
"""Reported seeds of every entry, and of those about which a claim is made."""
TUNING_SEEDS = 1
"""Seeds of every trial on the hosts; one that misses the target with any ranks behind the others."""
MAX_SECONDS = 600.0
"""Wall time, in virtual time processor time, after which a run of any entry is ended, without a result: its budget
is samples alone."""


@dataclass(frozen=True)
class Task:
    """A workload with its target on the validation part and the budget of a reported run."""

    name: str
    title: str
    workload: str
    target: float
    samples: int
    every: int
    """Samples between evaluations."""
    batches: tuple[int, ...] = (BATCH,)
    """Batches per worker; if there are several, every entry searches its own."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of gradients, for every entry."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the workload."""
    optimizer: Literal["sgd", "adamw"] = "sgd"
    """Of the workers' steps, for every entry; AdamW with weight decay 0.01, PyTorch's default, not searched."""
    gradient: tuple[float, float] | None = None
    """Seconds of a gradient in virtual time: in any case, and per sample; None: those of the place, per sample."""
    trials: int = TRIALS
    """Of every entry, if no other number is given."""
    collective: Literal["tree", "halving"] = "tree"
    """Schedule of the catalogue's all-reduces. Both give the same bits; peers have that of their library."""
    first_seed: int = 0
    """The first reported seed: no run that had a part in choosing a setting had this one or a later one."""

    @property
    def searches_batch(self) -> bool:
        """Return whether the batch is a setting of every entry."""
        return len(self.batches) > 1

    def seconds_per_sample(self, batch: int, usual: float) -> float:
        """Return the virtual seconds of a gradient per sample; `usual`: those of the place."""
        return usual if self.gradient is None else self.gradient[0] / batch + self.gradient[1]


SEARCHED: dict[str, Any] = {"batches": (16, 32, 64), "precision": "bf16", "gradient": (6.7e-3, 570e-6)}
"""Gradients of LeNet in bf16 on a core of an AMD EPYC with bf16 vectors, 4 times: 8 ranks share 2 cores."""
TASKS = {
    task.name: task
    for task in (
        Task("mnist", "MNIST, LeNet", "mnist-lenet", 0.988, 240_000, 3_200),
        Task("fashion", "Fashion-MNIST, LeNet", "fashion-lenet", 0.88, 240_000, 3_200),
        Task(
            "fashion-halving",
            "Fashion-MNIST, LeNet, all-reduces by halving,",
            "fashion-lenet",
            0.88,
            240_000,
            3_200,
            gradient=(
                0.0,
                430e-6,
            ),  # of a core of an Intel Xeon (family 6 model 207) for each host
            collective="halving",
            first_seed=5,
        ),
        Task("mnist-batch", "MNIST, LeNet, own batch", "mnist-lenet", 0.988, 480_000, 3_200, **SEARCHED),
        Task(
            "fashion-batch", "Fashion-MNIST, LeNet, own batch", "fashion-lenet", 0.88, 192_000, 3_200, **SEARCHED
        ),
        Task("fashion-early", "Fashion-MNIST, LeNet, early", "fashion-lenet", 0.85, 64_000, 1_600, trials=6),
        Task(
            "fashion-early-halving",
            "Fashion-MNIST, LeNet, early, all-reduces by halving,",
            "fashion-lenet",
            0.85,
            64_000,
            1_600,
            trials=6,
            collective="halving",
        ),
        Task(
            "digits-halving",
            "Digits 8 x 8, perceptron, all-reduces by halving,",
            "digits-mlp",
            0.94,
            24_000,
            320,
            trials=6,
            collective="halving",
        ),
        Task(
            "cifar",
            "CIFAR-10 of JPEG files, ResNet-20",
            "cifar-resnet20",
            0.40,
            32_000,
            3_200,
            precision="bf16",
            trials=8,
        ),
        Task(
            "text",
            "The Python documentation's topics, Transformer with AdamW",
            "text-transformer",
            0.40,
            32_000,
            1_600,
            batches=(4,),
            precision="bf16",
            optimizer="adamw",
            trials=8,
        ),
    )
}
WORKERS = (1, 4, 16)
"""Of virtual clusters beside that of 8 workers."""
SLOW = (("seconds_per_byte", 80e-9),)
"""100 Mb/s: for the small perceptron on digits, what 1 Gb/s is for LeNet with 8.5 times its weights."""
AT: dict[str, Place] = {
    place.name: place
    for place in (
        *(PLACES[name] for name in ("8-hosts", "2-hosts", "4-hosts", "1-host", "virtual")),
        *(
            Place(f"virtual-{n}", f"{count(n, 'worker')} on a virtual cluster of 1 Gb/s", "virtual", n)
            for n in WORKERS
        ),
        *(
            Place(
                f"slow-{n}", f"{count(n, 'worker')} on a virtual cluster of 100 Mb/s", "virtual", n, network=SLOW
            )
            for n in (1, 4, 8, 16)
        ),
    )
}
