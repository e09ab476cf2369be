"""What it costs to hand out work: messages as a share of a step, processor time of a decision, a real wait."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.evidence import machine
from benchmarks.unequal import coordinating
from benchmarks.unequal.conditions import COMPUTE, LINK, OF_CPUS

WORKERS, BATCH = 32, 32
SIZES = (1, 8)
"""Batches of a step."""
ASKS, TURNS, RUNS = 20, 5, 5
TINY = {"hidden1": 2, "hidden2": 2}
"""Of the model: weights, which are sent at the end alone, shall not count."""
NEVER = 10**6
"""Batches between two merges of runs without any."""
LIMIT = 0.02
"""Largest share of a step, asked for."""
MERGES = 4
"""Of Adaptive SGD in a run, at least, with its default of batches between them."""
FEW, OF_FEW = (1, 2, 3, 4), 12
"""Updates of a worker between two merges where these are frequent, and merges of such a run."""

STEP = COMPUTE["compute_seconds_per_sample"] * BATCH + OF_CPUS["compute_seconds_per_step"]
"""Seconds of a step of one batch on a simulated CPU."""

WAITS = ("ask", "range")
"""What is measured of real processes, in turn."""
IDLE = 0.5
"""Processes that run on average on a machine that is left alone, at most."""

Costs = Mapping[str, Any]
"""`share-N`: of a worker's step of N batches, waiting for its range; `share-each`: of a step of one batch, if each
is asked for; `few-N`: of a step of one batch, with N updates of a worker between two merges, and the part of it
that is for requests at which a merge is due; `decision`: processor seconds of one; `request`, `replied`: those of
a request of one of WORKERS workers at the server, as a whole and until the reply is sent (`coordinating`); `ask`:
seconds for which a real worker waits in a step that is asked for, with another one and a server, the median of
RUNS runs, `ask-least` and `ask-most` of them; `range`, ...: those of a step with the default grants, in turn with
the former; `load`: processes that ran on the machine just before; `machine`: what it was. The last ones only if
they were measured."""


def document(size: int, workers: int, asks: int, each: bool = False, between: int | None = None) -> dict[str, Any]:
    """Return a run of Adaptive SGD in steps of `size` batches, `asks` of each worker, with the default grants.

    `each`: every step is asked for; `between`: batches between two merges, None: the default.
    """
    parameters: dict[str, Any] = {"largest": size, "smallest": size, "scaling": 0.0}
    parameters |= {"at_once": 0.0} if each else {}
    parameters |= {} if between is None else {"mega_batch": between}
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp", "parameters": TINY},
        "algorithm": {"name": "adaptive-sgd", "parameters": parameters},
        "batch": BATCH,
        "sharding": "dispatched",
        "workers": workers,
        "budget": {"samples": BATCH * workers * asks * size},
        "evaluation": {"every": 10**9},
        "checkpoint": "never",
    }


def share(size: int, each: bool = False) -> float:
    """Return the share of a worker's time in which it waits for messages with the next ranges of batches."""
    from hooke.algorithms.adaptive_sgd import AdaptiveSGD

    asks = ASKS if each else max(ASKS, MERGES * AdaptiveSGD().mega_batch // (WORKERS * size))
    asked, computed = counted(document(size, WORKERS, asks, each, NEVER if each else None))
    return _share(asked, asked, computed)


def of_few(updates: int) -> tuple[float, float]:
    """Return it with so many updates of a worker between two merges, and the part for requests at merges.

    The batches of the last merge end the run: workers deliver what they have, and ask for nothing.
    """
    asked, computed = counted(document(1, WORKERS, updates * OF_FEW, between=updates * WORKERS))
    return _share(asked, asked, computed), _share(WORKERS * (OF_FEW - 1), asked, computed)


def _share(some: int, asked: int, computed: float) -> float:
    """Return the share of the time of all workers that so many of the requests take."""
    return 2 * LINK["latency"] * some / (2 * LINK["latency"] * asked + computed)


def counted(asking: dict[str, Any]) -> tuple[int, float]:
    """Return the requests of a simulated run, and the seconds for which its workers compute.

    Messages are counted in a simulated run, and each takes the latency of the link, there and back: virtual time
    charges vectors, not words. Those at which a merge is due are counted, too. A server with several requests at
    once is not in it (see `decision`).
    """
    from hooke.catalogue.validation import validate_run
    from hooke.catalogue.workload import workload
    from hooke.loop.train import run_spec_virtual

    from benchmarks.core._objectives import Weightless

    constants = LINK | COMPUTE | OF_CPUS | {"compute_jitter": 0.0}
    spec = validate_run(asking | {"world": "virtual", "virtual": constants})
    outcomes = run_spec_virtual(spec, None, lambda: Weightless(workload("digits-mlp")(**TINY).build()))
    asked = outcomes[-1].done.step - WORKERS  # the last words of every worker ask for nothing
    return asked, sum(one.done.phases["compute"] for one in outcomes[:WORKERS])


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


def requests_of(share: float) -> float:
    """Return the requests of a worker for each step of one batch, of which messages are a share."""
    return share / (1 - share) * STEP / (2 * LINK["latency"])


def ask(each: bool, asks: int = 2000) -> float:
    """Return the seconds for which a worker waits in a step, with another worker and a server, for real.

    Without merges, at which workers wait for one another. `each`: every step is asked for.
    """
    from hooke.catalogue.validation import validate_run
    from hooke.comparison.journals import read as read_journals
    from hooke.spec.specification import canonical

    from benchmarks.unequal.real import launch

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        folder.mkdir()
        (folder / "spec.json").write_text(canonical(validate_run(document(1, 2, asks, each, NEVER))))
        launch([folder], 3, Path(place) / "launcher.log", time.monotonic() + 120)
        done = [rank.done for rank in read_journals(folder, 2) if rank.done is not None]
    work = ("data", "compute", "update")
    waits = sum(one.clock - sum(one.phases[name] for name in work) for one in done)
    return waits / sum(one.step for one in done)


def measure(path: Path, really: bool = False) -> Costs:
    """Measure, `really` also real processes, which need an idle machine; keep it in a file and return it.

    What was measured of real processes before stays, if they are not measured now.
    """
    load = os.getloadavg()[0]
    found = {f"share-{size}": round(share(size), 5) for size in SIZES} | {"decision": float(f"{decision():.3g}")}
    found["share-each"] = round(share(1, each=True), 5)
    found |= {f"few-{updates}": [round(part, 5) for part in of_few(updates)] for updates in FEW}
    server = coordinating.compared(None, WORKERS)["adaptive-sgd"]
    found |= {"request": round(1e-6 * server["whole"], 8), "replied": round(1e-6 * server["replied"], 8)}
    if really:
        found |= waited(load)
    elif path.exists():
        real = (*(name + which for name in WAITS for which in ("", "-least", "-most")), "load", "machine")
        found |= {name: value for name, value in read(path).items() if name in real}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found) + "\n")
    return found


def waited(load: float) -> dict[str, Any]:
    """Return what real workers wait for, and where that was measured; `load`: of the machine before."""
    runs = [(ask(True), ask(False)) for _ in range(RUNS)]
    found: dict[str, Any] = {"load": round(load, 1), "machine": machine.title_of(machine.hardware())}
    for name, seconds in zip(WAITS, zip(*runs, strict=True), strict=True):
        of = {"": statistics.median(seconds), "-least": min(seconds), "-most": max(seconds)}
        found |= {name + which: float(f"{value:.3g}") for which, value in of.items()}
    return found


def read(path: Path) -> Costs:
    """Return what `measure` has kept."""
    found: Costs = json.loads(path.read_text())
    return found
