"""What it costs to hand out work to 32 workers: simulated share of a step, and processor time of a decision."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.unequal.conditions import COMPUTE, LINK, OF_CPUS

WORKERS, BATCH = 32, 32
SIZES = (1, 8)
"""Batches of a step."""
ASKS, TURNS = 20, 5
TINY = {"hidden1": 2, "hidden2": 2}
"""Of the model: weights, which are sent at the end alone, shall not count."""
LIMIT = 0.02
"""Largest share of a step, asked for."""

Costs = Mapping[str, float]
"""`share-N`: of a worker's step of N batches, waiting for its range; `decision`: processor seconds of one."""


def share(size: int) -> float:
    """Return the simulated share of a worker's time in which it waits for the next range of batches.

    Adaptive SGD without a merge, with equal speeds and without jitter, so that all ask at the same time.
    """
    from hooke.catalogue.validation import validate_run
    from hooke.catalogue.workload import workload
    from hooke.loop.train import run_spec_virtual

    from benchmarks.core._objectives import Weightless

    parameters = {"largest": size, "smallest": size, "scaling": 0.0, "mega_batch": 10**6}
    outcomes = run_spec_virtual(
        validate_run(
            {
                "schema": "hooke.run/1",
                "workload": {"name": "digits-mlp", "parameters": TINY},
                "algorithm": {"name": "adaptive-sgd", "parameters": parameters},
                "batch": BATCH,
                "sharding": "dispatched",
                "workers": WORKERS,
                "world": "virtual",
                "virtual": LINK | COMPUTE | OF_CPUS | {"compute_jitter": 0.0},
                "budget": {"samples": BATCH * WORKERS * ASKS * size},
                "evaluation": {"every": 10**9},
            }
        ),
        None,
        lambda: Weightless(workload("digits-mlp")(**TINY).build()),
    )
    done = [each.done for each in outcomes[:WORKERS]]
    return 1 - sum(each.phases["compute"] for each in done) / sum(each.clock for each in done)


def decision() -> float:
    """Return the processor seconds of a decision: size and range of the next step, the account of the former."""
    from hooke.loop.dispatch import Dispatch
    from hooke.methods.sizes import Bounds, Sizes

    best = float("inf")
    for _ in range(TURNS):
        sizes, account = Sizes(Bounds((1,), 1, 16, 2.0), WORKERS), Dispatch(WORKERS, 1)
        began, count = time.process_time(), 0
        for _ in range(200):
            for worker in range(WORKERS):
                sizes.updated(worker)
                account.words(worker, 1)
                account.done(worker, 1)
                count += 1
        best = min(best, (time.process_time() - began) / count)
    return best


def measure(path: Path) -> Costs:
    """Measure both, keep them in a file and return them."""
    found = {f"share-{size}": round(share(size), 5) for size in SIZES} | {"decision": float(f"{decision():.3g}")}
    path.write_text(json.dumps(found) + "\n")
    return found


def read(path: Path) -> Costs:
    """Return what `measure` has kept."""
    found: Costs = json.loads(path.read_text())
    return found
