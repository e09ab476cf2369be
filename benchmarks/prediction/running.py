"""Calibrates a place, then measures and predicts every method there."""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hooke.calibration.constants import constants
from hooke.calibration.documents import Calibration
from hooke.calibration.request import WorkloadRequest
from hooke.calibration.starting import calibrate
from hooke.catalogue.validation import validate_run
from hooke.cli.run import execute
from hooke.loop.train import run_spec_virtual
from hooke.spec.specification import RunSpec
from hooke.trace.phases import communication_fraction

from benchmarks.netlab import lab as labs
from benchmarks.netlab.running import hooke
from benchmarks.netlab.starting import NetlabLauncher
from benchmarks.prediction.conditions import METHODS, RATE, WORKLOAD, Method, Place, document

LAB = "prediction"
LEAST_STEPS, MOST_STEPS = 40, 4000
PREDICTED_STEPS = 240
"""Steps of a prediction: a multiple of every period, and enough blocks of slow jitter."""


def measure(place: Place, seconds: float, calibration_seconds: float, rounds: int) -> dict[str, Any]:
    """Return calibration, measurements and predictions of a place; `seconds`: of each real run."""
    with _lab(place) as lab:
        launcher = NetlabLauncher(lab) if lab else None
        found = calibrate(place.workers, [WorkloadRequest(name=WORKLOAD)], calibration_seconds, launcher, say=_say)
        rows = []
        for method in METHODS:
            predicted = _predicted(method, place, found)
            steps = max(LEAST_STEPS, min(MOST_STEPS, int(seconds / predicted["step"])))
            steps += -steps % 60  # a multiple of every period
            measured = [_measured(method, place, steps, seed, lab) for seed in range(rounds)]
            rows.append({"method": method.label, "steps": steps, "predicted": predicted, "measured": measured})
            _say(f"{place.name}: {method.label}: {_told(rows[-1])}")
    return {
        "place": place.name,
        "at": time.time(),
        "calibration": found.model_dump(mode="json", by_alias=True),
        "methods": rows,
    }


@contextlib.contextmanager
def _lab(place: Place) -> Iterator[labs.Lab | None]:
    if not place.hosts:
        yield None
        return
    with labs.held(place.hosts, RATE, LAB) as lab:
        yield lab


def _predicted(method: Method, place: Place, found: Calibration) -> dict[str, float]:
    """Return step time and exposed share in virtual time, with the constants of the calibration."""
    plain = document(method, place.workers, PREDICTED_STEPS) | {"world": "virtual", "virtual": {}}
    spec = validate_run(plain)
    virtual = constants(found, place.name, spec.workload, spec.compute)
    spec = validate_run(plain | {"virtual": virtual})
    done = [outcome.done for outcome in run_spec_virtual(spec)]
    steps = statistics.fmean(each.step for each in done)
    exposed = [communication_fraction(d.phases["communicate"], d.wall, d.phases["evaluate"]) or 0.0 for d in done]
    return {"step": max(each.clock for each in done) / steps, "exposed": statistics.fmean(exposed)}


def _measured(method: Method, place: Place, steps: int, seed: int, lab: labs.Lab | None) -> dict[str, float]:
    spec: RunSpec = validate_run(document(method, place.workers, steps, seed))
    with tempfile.TemporaryDirectory(prefix="prediction-") as name:
        report, found = hooke(lab, spec, Path(name)) if lab else execute(spec, Path(name))
        if report.state != "succeeded":
            raise labs.LabError(f"{method.label} on {place.name} {report.state}: {report.why}")
    taken = found["samples"] / (spec.batch * spec.workers)
    return {"step": found["train_seconds"] / taken, "exposed": found["communication_fraction"]}


def errors(row: dict[str, Any]) -> dict[str, float]:
    """Return the errors of a prediction: of the step time, relative; of the exposed share, in shares of a step."""
    step = statistics.median(each["step"] for each in row["measured"])
    exposed = statistics.median(each["exposed"] for each in row["measured"])
    return {
        "step": row["predicted"]["step"] / step - 1,
        "exposed": row["predicted"]["exposed"] - exposed,
        "measured_step": step,
        "measured_exposed": exposed,
    }


def _told(row: dict[str, Any]) -> str:
    found, predicted = errors(row), row["predicted"]
    return (
        f"step {1e3 * predicted['step']:.3g} ms predicted, {1e3 * found['measured_step']:.3g} ms measured "
        f"({100 * found['step']:+.0f} %); exposed {100 * predicted['exposed']:.0f} %, "
        f"{100 * found['measured_exposed']:.0f} %"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
