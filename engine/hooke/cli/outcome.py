"""The result of one run, as plain data and as a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from hooke.catalogue.algorithm import algorithm, ranks_of, servers_of
from hooke.catalogue.warnings import of_method, said_of_compute_time
from hooke.cli.text import columns, percent, seconds, size
from hooke.spec.events import Done, Evaluation, Start, StateReport
from hooke.spec.specification import RunSpec, canonical, fingerprint
from hooke.spec.states import DIVERGED
from hooke.trace.phases import PHASES, Phase, communication_fraction

MANY = 16
"""Maximum number of workers whose steps are listed individually; above, minimum and maximum."""
ENDED = {
    "target": "target reached",
    "budget": "budget used up",
    "cancelled": "cancelled",
    "timed_out": "wall limit",
}


def result(
    spec: RunSpec,
    report: StateReport,
    started: Mapping[int, Start],
    done: Mapping[int, Done],
    evaluations: Sequence[Evaluation],
) -> dict[str, Any]:
    """Return the result of a run that has ended, as JSON-compatible data (schema `hooke.result/1`).

    Seconds are train-clock seconds unless the name says otherwise; virtual ones if `simulated`. Phases are seconds
    per worker (mean); the communication fraction is exposed communication / (wall - evaluate), mean over workers.
    `returned`: samples that were handed out again after their worker was dropped, used once or more often.
    Accuracies are fractions: of the validation part at the last evaluation, of the test part at the end. Values
    that a run did not write because it ended early are null.
    """
    last = done.get(decides(spec))
    network = spec.virtual if spec.world == "virtual" else None
    workers = [done[rank] for rank in range(spec.workers) if rank in done]
    reached = next((evaluation for evaluation in evaluations if evaluation.reached), None)
    return {
        "schema": "hooke.result/1",
        "state": report.state,
        "why": report.why,
        "diverged": report.exit_code == DIVERGED,
        "reason": last.reason if last else None,
        "fingerprint": fingerprint(spec),
        "workload": spec.workload.name,
        "algorithm": spec.algorithm.name,
        "parameters": spec.algorithm.parameters,
        "workers": spec.workers,
        "servers": servers_of(spec),
        "seed": spec.seed,
        "simulated": spec.world == "virtual",
        "compute_seconds_per_sample": network.compute_seconds_per_sample if network else None,
        "compute_source": network.compute_source if network else None,
        "remarks": remarks(spec, last, evaluations),
        "steps": [done[rank].step if rank in done else None for rank in range(spec.workers)] if done else None,
        "oversubscribed": any(start.oversubscribed for start in started.values()),
        "validation_accuracy": evaluations[-1].accuracy if evaluations else None,
        "validation_loss": evaluations[-1].loss if evaluations else None,
        "test_accuracy": last.test_accuracy if last else None,
        "test_loss": last.test_loss if last else None,
        **({"test_further": last.test_further} if last and last.test_further else {}),
        "time_to_target": reached.clock if reached else None,
        "samples_to_target": reached.samples if reached else None,
        "samples": last.samples if last else None,
        "train_seconds": last.clock if last else None,
        "wall_seconds": last.wall if last else None,
        "samples_per_second": last.samples / last.clock if last and last.clock > 0 else None,
        "communication_fraction": fmean(map(fraction, workers)) if workers else None,
        "phases": _phases(workers),
        "server_phases": done[spec.workers].phases if servers_of(spec) and spec.workers in done else None,
        "hidden_seconds": fmean(d.hidden for d in workers) if workers else None,
        "payload_bytes": sum(d.payload for d in done.values()) if workers else None,
        "wire_bytes": sum(d.wire for d in done.values()) if workers else None,
        "messages": sum(d.messages for d in done.values()) if workers else None,
        "staleness": _histogram(done.values()),
        "lost_mass": done[0].lost_mass if 0 in done else None,
        **({"kinds": kinds} if (kinds := _kinds(spec)) else {}),
        **({"speeds": speeds} if (speeds := relative_speeds(spec, done)) else {}),
        "computing": [_computing(done.get(rank)) for rank in range(spec.workers)],
        "dropped": last.dropped if last else [],
        "returned": last.returned if last else 0,
        "evaluations": [
            {"samples": e.samples, "train_seconds": e.clock, "loss": e.loss, "accuracy": e.accuracy}
            | ({"further": e.further} if e.further else {})
            for e in evaluations
        ],
    }


def relative_speeds(spec: RunSpec, done: Mapping[int, Done]) -> list[float | None]:
    """Return the measured speed of every worker over that of the fastest, where the specification has groups.

    The speed is batches per second of computing, sleep of a slowed worker included; None for a worker that has not
    ended.
    """
    if spec.group(0) is None:
        return []
    method = algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)
    rates = {
        rank: ended.step * (ended.batches or method.batches_of(rank, spec.workers)) / ended.phases["compute"]
        for rank, ended in done.items()
        if rank < spec.workers and ended.phases["compute"] > 0
    }
    fastest = max(rates.values(), default=1.0)
    return [rates[rank] / fastest if rank in rates else None for rank in range(spec.workers)]


def _kinds(spec: RunSpec) -> list[str]:
    """Return the kind of every worker, as the form writes it; empty without kinds."""
    groups = [spec.group(rank) for rank in range(spec.workers)]
    return [group.notation for group in groups if group is not None]


def _computing(done: Done | None) -> float | None:
    """Return the share of a worker's time, evaluations excluded, in which it computed gradients."""
    train = done.wall - done.phases["evaluate"] if done is not None else 0.0
    return done.phases["compute"] / train if done is not None and train > 0 else None


def remarks(spec: RunSpec, last: Done | None, evaluations: Sequence[Evaluation]) -> list[str]:
    """Return remarks, in sentences, needed to interpret the result: the warnings that apply to it."""
    said = [warning.message for warning in of_method(spec)]
    if spec.world == "virtual" and spec.virtual is not None:
        said.append(said_of_compute_time(spec.virtual))
    if last is not None and evaluations and evaluations[0].reached and evaluations[0].samples == 0:
        said.append("the target was met before the first step: the time to it is 0")
    return said


def decides(spec: RunSpec) -> int:
    """Return the rank that evaluates, decides the end of the run, and journals both."""
    return spec.workers if algorithm(spec.algorithm.name).coordination == "parameter-server" else 0


def _histogram(done: Iterable[Done]) -> dict[int, int]:
    found: Counter[int] = Counter()
    for each in done:
        found.update(each.staleness)
    return dict(sorted(found.items()))


def fraction(done: Done) -> float:
    """Return a rank's communication fraction; 0 if it took no time."""
    return communication_fraction(done.phases["communicate"], done.wall, done.phases["evaluate"]) or 0.0


def _phases(workers: Sequence[Done]) -> dict[str, float] | None:
    return {str(p): fmean(d.phases[p] for d in workers) for p in PHASES} if workers else None


def table(found: Mapping[str, Any]) -> str:
    """Return the result as text; simulated durations are labelled."""
    simulated = " simulated" if found["simulated"] else ""
    lines = [_headline(found)]
    if found["validation_accuracy"] is not None:
        lines.append(("validation", _score(found, "validation")))
    if found["test_accuracy"] is not None:
        scored = "scored once, after the end; nothing was chosen by it"
        lines.append(("test", f"{_score(found, 'test')} ({scored})"))
    if found["time_to_target"] is not None:
        lines.append(("time to target", seconds(found["time_to_target"]) + simulated))
    if found["samples_per_second"]:
        lines.append(("steps", _steps(found["steps"])))
        lines.append(("samples", f"{found['samples']:,} in {seconds(found['train_seconds'])}{simulated}"))
        lines.append(("throughput", f"{found['samples_per_second']:,.0f} samples/s{simulated}"))
    if found["communication_fraction"] is not None:
        crowded = " (oversubscribed: more ranks than cores)" if found["oversubscribed"] else ""
        hidden = f", plus {seconds(found['hidden_seconds'])} hidden" if found["hidden_seconds"] else ""
        lines.append(("communication", percent(found["communication_fraction"]) + hidden + crowded))
        lines.append(("sent", f"{size(found['payload_bytes'])} in {found['messages']:,} messages"))
    lines += _odds(found) + [("note", said) for said in found["remarks"]]
    text = columns(lines)
    return f"{text}\n{_phase_table(found)}" if found["phases"] else text


def _score(found: Mapping[str, Any], part: str) -> str:
    return f"accuracy {percent(found[f'{part}_accuracy'])}, loss {found[f'{part}_loss']:.4f}"


def _steps(steps: Sequence[int | None]) -> str:
    """Return the steps of the workers: one number if equal, a range for many workers."""
    known = [each for each in steps if each is not None]
    if len(known) == len(steps) and len(set(known)) == 1:
        return f"{known[0]:,}" + (" by each worker" if len(known) > 1 else "")
    if len(steps) > MANY:
        return f"{min(known):,} to {max(known):,} per worker"
    return "worker 0, 1, ...: " + ", ".join("unknown" if each is None else f"{each:,}" for each in steps)


def _odds(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows that only some methods have."""
    lines = []
    if stale := found["staleness"]:
        mean = sum(value * count for value, count in stale.items()) / sum(stale.values())
        lines.append(("staleness", f"{mean:.2f} updates on average, at most {max(stale)}"))
    if found["lost_mass"] is not None:
        lines.append(("lost mass", f"{found['lost_mass']:.2e} of what was pushed (rounding alone: about 1e-7)"))
    if (speeds := found.get("speeds")) and len(speeds) <= MANY:
        lines.append(("kinds", f"worker 0, 1, ...: {', '.join(found['kinds'])}"))
        told = ", ".join("unknown" if each is None else f"{each:.3g}" for each in speeds)
        how = "simulated" if found["simulated"] else "measured"
        lines.append(("speeds", f"worker 0, 1, ...: {told} of the fastest, {how}"))
        told = ", ".join("unknown" if each is None else percent(each) for each in found["computing"])
        lines.append(("computing", f"worker 0, 1, ...: {told} of its time"))
    if found.get("energy_j") is not None:
        lines.append(("energy", f"{found['energy_j']:,.0f} J {found['energy_note']}"))
    if found["dropped"]:
        who = ", ".join(map(str, found["dropped"]))
        lines.append(("dropped", f"worker {who} (NaN or Inf, or its process has ended)"))
    if found["returned"]:
        told = f"{found['returned']:,} samples of dropped workers were handed out again"
        lines.append(("returned", f"{told}: used at least once, all others once per epoch"))
    return lines


def _headline(found: Mapping[str, Any]) -> tuple[str, str]:
    workers = f"{found['workers']} worker" + ("s" if found["workers"] != 1 else "")
    server = " and a server" if found["servers"] else ""
    title = algorithm(found["algorithm"]).title()
    ended = ENDED.get(found["reason"], "") if found["state"] == "succeeded" else found["state"]
    return (ended, f"{title} on {found['workload']}, {workers}{server}, seed {found['seed']}")


def _phase_table(found: Mapping[str, Any]) -> str:
    server = found["server_phases"]
    rows = [("phase", "worker", "share", *(["server", "share"] if server else []))]
    for phase in PHASES:
        if phase == Phase.REBUILD and not found["phases"].get(phase):
            continue  # few objectives have tables
        row = _cells(found["phases"], phase)
        rows.append((phase.value, *row, *(_cells(server, phase) if server else ())))
    return columns(rows, indent="  ")


def _cells(phases: Mapping[str, float], phase: str) -> tuple[str, str]:
    total = sum(phases.values())
    return seconds(phases[phase]), percent(phases[phase] / total if total > 0 else 0.0)


def save(path: Path, spec: RunSpec, folder: Path) -> None:
    """Write a run's final vectors: arrays `center`, `worker_0` ... `worker_<P-1>`, and `spec` as JSON text."""
    import numpy as np

    arrays = {}
    for rank in range(ranks_of(spec)):
        with np.load(folder / f"final.{rank}.npz") as final:
            if rank < spec.workers:
                arrays[f"worker_{rank}"] = final["weights"]
            if "center" in final:
                arrays["center"] = final["center"]
    with path.open("wb") as file:
        np.savez(file, **arrays, spec=np.array(canonical(spec)))


def as_json(found: Mapping[str, Any]) -> str:
    """Return the result as one JSON object on one line."""
    return json.dumps(found)
