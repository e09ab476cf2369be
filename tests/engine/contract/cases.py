"""Which cases the contract suite plays, found by discovery: a new algorithm file needs no edit here.

A case is one run of one method on a `Quadratic`; `play` plays it on one rank of whatever world.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
from hooke.catalogue.algorithm import Algorithm, catalogue
from hooke.catalogue.claims import claimed
from hooke.catalogue.validation import validate_run
from hooke.comm.base import Comm
from hooke.comm.virtual.communicator import run_virtual
from hooke.loop.flag import Flag
from hooke.loop.rank import TrainingRank
from hooke.loop.state import RankOptions
from hooke.loop.train import Outcome, train_rank
from hooke.methods.elastic import Elastic
from hooke.spec.invariants import faults
from hooke.spec.specification import RunSpec

from tests.engine.contract.objective import Behaviour, Quadratic, Quadratics

World = Literal["mpi", "virtual"]
WORLDS: tuple[World, ...] = ("virtual", "mpi")
BATCH = 4
STEPS = 12
"""Local steps of a worker in most cases."""
SILENT = ("lr", "rho", "alpha", "beta")
"""Parameters that do not show in test ids."""
NETWORK = {"latency": 1e-5, "seconds_per_byte": 1e-8, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0.3}


ONE_HOST = (("latency", 0.0), ("seconds_per_byte", 0.0))
"""A network over which ranks share memory."""


@dataclass(frozen=True)
class Case:
    """One run; `halt` and `cancel` cut it in two attempts of the same run."""

    algorithm: str
    parameters: tuple[tuple[str, Any], ...] = ()
    workers: int = 2
    steps: int = STEPS
    objective: Quadratics = Quadratics(spread=0.3)
    packing: str = "one"
    collective: Literal["tree", "halving"] = "tree"
    every: int = 3 * BATCH
    """Samples between evaluations."""
    extra: int = 0
    """Samples of the budget beyond steps x workers x batch."""
    sleeps: int | None = None
    slow: tuple[int, float] | None = None
    """(worker, extra seconds per gradient)."""
    held: int | None = None
    """Under MPI the slow worker is in its second gradient until the others have done this many together."""
    scoring: float = 0.0
    """Seconds of an evaluation, virtual or real; around a server an evaluation takes no virtual time."""
    halt: int | None = None
    """Stop, checkpoint and restart after this many gradients of all workers together."""
    cancel: int | None = None
    """The same, by a signal that the deciding rank gets during this evaluation, counted from 1."""
    poison: tuple[int, int, float] | None = None
    """(worker, step, value): this gradient holds this value."""
    drop: bool = False
    """Go on without a worker whose numbers went bad."""
    sharding: Literal["iid", "disjoint"] = "iid"
    target: float | None = None
    """Loss of the center at which the run ends."""
    seconds: float | None = None
    """Wall limit."""
    journal: bool = False
    """Write journals into the folder."""
    network: tuple[tuple[str, float], ...] = ()
    seed: int = 5

    @property
    def kind(self) -> type[Algorithm]:
        """Return the algorithm's class."""
        return catalogue()[self.algorithm]

    @property
    def ranks(self) -> int:
        """Return how many processes or threads it takes."""
        return self.workers + self.kind.servers

    @property
    def longest(self) -> int:
        """Return the largest number of local steps from one exchange of a worker to the next."""
        return self.method.exchange_period()

    @property
    def values(self) -> dict[str, Any]:
        """Return every parameter, defaults included."""
        return self.method.model_dump()

    @property
    def method(self) -> Algorithm:
        """Return the algorithm with its parameters."""
        return self.kind.model_validate(dict(self.parameters))

    @property
    def centered(self) -> bool:
        """Return whether what the method conserves has a center in it."""
        return bool(claimed(self.kind, "conserves") == "weights and center")

    @property
    def rate(self) -> float:
        """Return the moving rate of an elastic method."""
        method = self.method
        assert isinstance(method, Elastic)
        return method.rate(self.workers)

    @property
    def parts(self) -> int:
        """Return how many workers share one set of weights, being one worker of the outer method."""
        return int(self.values.get("parts", 1))

    def pulling(self, a: float) -> Case:
        """Return the case with this moving rate, however its method is given one by default."""
        return self.given({"beta": None, "alpha": a})

    def given(self, parameters: Mapping[str, Any]) -> Case:
        """Return the case with these parameters as well."""
        return replace(self, parameters=(*self.parameters, *parameters.items()))

    @property
    def name(self) -> str:
        """Return a short name for test ids."""
        changed = "".join(f"-{key}={value}" for key, value in self.parameters if key not in SILENT)
        return f"{self.algorithm}{changed}-P{self.workers}"

    @property
    def whole(self) -> bool:
        """Return whether the run is one attempt, not stopped and started again."""
        return self.halt is None and self.cancel is None

    @functools.cache  # noqa: B019 - cases live as long as the tests, and every rank of a play asks
    def spec(self, world: World, samples: int | None = None) -> RunSpec:
        """Return the run as the product specifies it, cut at `samples` if asked."""
        document: dict[str, Any] = {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": self.algorithm, "parameters": dict(self.parameters)},
            "communication": {"packing": self.packing, "collective": self.collective},
            "batch": BATCH,
            "workers": self.workers,
            "seed": self.seed,
            "world": world,
            "virtual": NETWORK | dict(self.network) if world == "virtual" else None,
            "sharding": self.sharding,
            "target": None if self.target is None else {"metric": "validation_loss", "value": self.target},
            "budget": {"samples": samples or self.budget, "max_seconds": self.seconds},
            "evaluation": {"every": self.every},
            "on_bad_worker": "drop" if self.drop else "fail",
            "checkpoint": "never" if self.whole else "on-stop" if self.cancel else "always",
        }
        return validate_run(document)

    @property
    def budget(self) -> int:
        """Return the budget in samples."""
        return self.steps * self.workers * BATCH + self.extra


@dataclass
class Played:
    """What one rank reports after a case."""

    weights: np.ndarray
    center: np.ndarray | None
    done: dict[str, Any]
    first: dict[str, Any] | None
    """How the first attempt ended, of a case in two."""
    scores: list[tuple[int, float]]
    """(samples, loss) of every evaluation noted."""
    clocks: list[float]
    """Train clock of every evaluation noted."""
    stood: float
    """Seconds for which the clock stood for evaluations, after that of the initial weights, by its own records."""
    picked: list[list[int]]
    spent: np.ndarray
    torn: int
    tests: int = 0
    """How often the test part was scored; over both attempts of a case in two."""
    served: list[int] = field(default_factory=list)
    """Server: the worker of each exchange, in order."""
    last_words: bool = False
    """Server: each worker brings something once more behind its last step."""
    faults: list[str] | None = None
    """What does not hold in the journals, of a case that writes them."""


class Watched(TrainingRank):
    """The product's rank; a server also notes whom it serves, which is the record that a replay needs."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        assert isinstance(self.objective, Quadratic)
        self.objective.seen_by = self

    def requests(self, *args: Any, **keywords: Any) -> Iterator[int]:
        assert isinstance(self.objective, Quadratic)
        self.objective.last_words = keywords.get("last_words", False)
        for worker in super().requests(*args, **keywords):
            self.objective.served.append(worker)
            yield worker


def watched() -> Any:
    """Return a context in which `train_rank` makes ranks that are `Watched`."""
    return mock.patch("hooke.loop.train.TrainingRank", Watched)


def objective_of(
    comm: Comm, case: Case, world: World, first: bool = True, folder: Path | None = None
) -> Quadratic:
    """Return this rank's problem, with the behaviour that the case asks of it."""
    behaviour = Behaviour(
        sleeps=case.sleeps,
        slow=case.slow[1] if case.slow and case.slow[0] == comm.rank else 0.0,
        held=(folder / "gradients", case.held) if case.held and folder else None,
        scoring=case.scoring,
        served=case.kind.coordination == "parameter-server",
        poison=case.poison[1:] if case.poison and case.poison[0] == comm.rank else None,
        cancel_at=case.cancel if first else None,
    )
    return Quadratic(case.objective, comm, behaviour, Flag(), world == "virtual")


def train(comm: Comm, case: Case, world: World, folder: Path | None, objective: Quadratic, first: bool) -> Outcome:
    """Hand the problem to the product: the first attempt of a case, or the one that ends it."""
    cut = case.halt * BATCH if case.halt is not None and first else None
    options = RankOptions(objective.cancel_requested)
    return train_rank(comm, case.spec(world, cut), folder, objective, resume=not first, options=options)


def play(comm: Comm, case: Case, world: World, folder: Path, written: bool = False) -> Played:
    """Play a case on this rank; a case in two is stopped, checkpointed and started anew from its folder.

    `written`: journals are left in the folder, and not looked at here.
    """
    place = folder if written or case.journal or not case.whole else None
    objective = objective_of(comm, case, world, folder=folder)
    outcome = train(comm, case, world, place, objective, first=True)
    if case.whole:
        report = _report(outcome, objective, None)
        if case.journal:
            comm.barrier()  # every rank has closed its journal
            report.faults = faults(folder)
        return report
    comm.barrier()  # a restart comes after every process of the first attempt has ended
    again = objective_of(comm, case, world, first=False)
    again.picked, again.served, again.spent = objective.picked, objective.served, objective.spent
    again.tests = objective.tests
    return _report(train(comm, case, world, place, again, first=False), again, outcome)


def _report(outcome: Outcome, objective: Quadratic, first: Outcome | None) -> Played:
    return Played(
        weights=outcome.weights,
        center=outcome.center,
        done=outcome.done.model_dump(),
        first=first.done.model_dump() if first else None,
        scores=[(score.samples, score.loss) for score in outcome.evaluations],
        stood=sum(score.seconds for score in outcome.evaluations[1:]),
        clocks=[score.clock for score in outcome.evaluations],
        picked=objective.picked,
        spent=objective.spent,
        torn=objective.torn,
        tests=objective.tests,
        served=objective.served,
        last_words=objective.last_words,
    )


def play_virtual(case: Case, folder: Path, written: bool = False) -> list[Played]:
    """Play all ranks of a case in the virtual world."""
    network = case.spec("virtual").virtual
    assert network is not None
    with watched():
        return run_virtual(
            case.ranks, network, lambda comm: play(comm, case, "virtual", folder, written), case.collective
        )
