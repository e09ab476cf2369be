"""Traced runs on a quadratic, the same in both worlds: together, with a server, without locks, in parts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Score
from hooke.comm.base import Comm
from hooke.loop.flag import Flag
from hooke.loop.state import RankOptions
from hooke.loop.train import trace_of, train_rank
from hooke.spec.specification import Part, RunSpec

from tests.engine.contract.objective import Behaviour, Quadratic, Quadratics

RANKS = 3
STEPS = 20
"""Of every worker."""
BATCH = 4
NETWORK = {"latency": 1e-4, "seconds_per_byte": 1e-6, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0.3}
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    # name -> algorithm, parameters, workers: three ranks in all
    "synchronous": ("sync-easgd", {"lr": 0.05, "rho": 1.0}, 3),
    "behind the gradient": ("sync-easgd3", {"lr": 0.05, "rho": 1.0}, 3),
    "behind steps": ("elastic-slowmo", {"period": 4, "delay": 3}, 3),
    "in parts": ("sync-easgd1", {"lr": 0.05, "rho": 1.0}, 2),
    "parameter server": ("async-easgd", {"lr": 0.05, "rho": 1.0}, 2),
    "in turn": ("original-easgd", {"lr": 0.05, "rho": 1.0}, 2),
    "lock-free": ("hogwild-easgd", {"lr": 0.05, "rho": 1.0, "updates": "atomic"}, 3),
}
FAMILY = Quadratics(spread=0.3)
EVALUATION = 0.003
"""Seconds, virtual or real."""


class Judged(Quadratic):
    """Its evaluation takes time, so that others wait for it."""

    def evaluate(self, weights: Any, start: int, stop: int, part: Part = "validation") -> Score:
        self.comm.charge(EVALUATION)
        if not self.virtual:
            time.sleep(EVALUATION)
        return super().evaluate(weights, start, stop, part)


def spec_of(name: str, world: str, **changes: Any) -> RunSpec:
    algorithm, parameters, workers = CASES[name]
    return validate_run(
        {
            "workload": {"name": "digits-mlp"},  # not used: every rank brings its problem
            "algorithm": {"name": algorithm, "parameters": parameters},
            "batch": BATCH,
            "workers": workers,
            "world": world,
            "virtual": NETWORK if world == "virtual" else None,
            "budget": {"samples": STEPS * BATCH * workers},
            "evaluation": {"every": 5 * BATCH * workers},
        }
        | changes
    )


def play(
    comm: Comm, name: str, folder: Path, world: str, behaviour: Behaviour | None = None, traced: bool = True
) -> None:
    """Run one case on this rank; its journal and trace are in the folder."""
    spec = spec_of(name, world)
    objective = Judged(FAMILY, comm, behaviour or Behaviour(sleeps=3), Flag(), world == "virtual")
    trace = trace_of(folder, spec, comm.rank) if traced else None
    train_rank(comm, spec, folder, objective, options=RankOptions(objective.cancel_requested), trace=trace)
