"""Calibrates a place, then measures and predicts every method there."""

from __future__ import annotations

import contextlib
import os
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
from benchmarks.prediction.conditions import METHODS, PLACES, RATE, Method, Place, document

LAB = "prediction"
SHARED_LOAD = 0.5
"""From which a calibration says that other processes were running."""
LEAST_STEPS, MOST_STEPS = 40, 4000
PREDICTED_STEPS = 120
"""Steps of a prediction: a multiple of every period, and enough blocks of slow jitter."""


def measure(
    place: Place, workload: str, seconds: float, calibration_seconds: float, rounds: int
) -> dict[str, Any]:
    """Return calibration, measurements and predictions of a place; `seconds`: of each real run."""
    with _lab(place) as lab:
        launcher = NetlabLauncher(lab) if lab else None
        _settle()
        found = calibrate(place.workers, [WorkloadRequest(name=workload)], calibration_seconds, launcher, say=_say)
        rows = [_row(method, workload, place, found, seconds) for method in METHODS]
        for seed in range(rounds):  # in turn, as the machine changes in the course of minutes
            for method, row in zip(METHODS, rows, strict=True):
                run = document(method, workload, place.workers, row["steps"], seed)
                row["measured"].append(_measured(run, lab))
        for row in rows:
            _say(f"{workload}, {place.name}: {row['method']}: {_told(row)}")
    return {
        "place": place.name,
        "workload": workload,
        "at": time.time(),
        "calibration": found.model_dump(mode="json", by_alias=True),
        "methods": rows,
    }


def again(found: dict[str, Any]) -> dict[str, Any]:
    """Return stored results with the predictions that the calibration gives now."""
    place, calibration = PLACES[found["place"]], Calibration.model_validate(found["calibration"])
    rows = []
    for method, row in zip(METHODS, found["methods"], strict=True):
        rows.append(row | {"predicted": _predicted(method, found["workload"], place, calibration)})
        _say(f"{found['workload']}, {place.name}: {method.label}: {_told(rows[-1])}")
    return found | {"methods": rows}


def _row(method: Method, workload: str, place: Place, found: Calibration, seconds: float) -> dict[str, Any]:
    """Return the prediction of a method, and how many steps a real run takes."""
    predicted = _predicted(method, workload, place, found)
    steps = max(LEAST_STEPS, min(MOST_STEPS, int(seconds / predicted["step"])))
    steps += -steps % 60  # a multiple of every period
    return {"method": method.label, "steps": steps, "predicted": predicted, "measured": []}


def _settle(most: float = 240.0) -> None:
    """Wait until the runs of the place before no longer count in the load of the machine."""
    until = time.monotonic() + most
    while os.getloadavg()[0] >= SHARED_LOAD and time.monotonic() < until:
        time.sleep(5)


@contextlib.contextmanager
def _lab(place: Place) -> Iterator[labs.Lab | None]:
    if not place.hosts:
        yield None
        return
    with labs.held(place.hosts, RATE, LAB) as lab:
        yield lab


def _predicted(method: Method, workload: str, place: Place, found: Calibration) -> dict[str, float]:
    """Return step time and exposed share in virtual time, with the constants of the calibration."""
    plain = document(method, workload, place.workers, PREDICTED_STEPS) | {"world": "virtual", "virtual": {}}
    spec = validate_run(plain)
    virtual = constants(found, place.name, spec.workload, spec.compute)
    spec = validate_run(plain | {"virtual": virtual})
    done = [outcome.done for outcome in run_spec_virtual(spec)]
    steps = statistics.fmean(each.step for each in done)
    exposed = [communication_fraction(d.phases["communicate"], d.wall, d.phases["evaluate"]) or 0.0 for d in done]
    return {"step": max(each.clock for each in done) / steps, "exposed": statistics.fmean(exposed)}


def _measured(plain: dict[str, Any], lab: labs.Lab | None) -> dict[str, float]:
    spec: RunSpec = validate_run(plain)
    with tempfile.TemporaryDirectory(prefix="prediction-") as name:
        report, found = hooke(lab, spec, Path(name)) if lab else execute(spec, Path(name))
        if report.state != "succeeded":
            raise labs.LabError(f"{spec.algorithm.name} with {spec.workers} ranks {report.state}: {report.why}")
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
