"""What the ranks of an attempt used: samples of its supervisor (`hooke.cluster.sampling`) as rates."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from hooke.spec.files import SYSTEM
from hooke.spec.states import TERMINAL
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import RankTotals
from hooke_api.storage import files
from hooke_api.storage.energy import sample_of, summed
from hooke_api.timeline.schemas import EnergyView, HostSamples, ProcessSamples, SystemView
from hooke_api.timeline.service import attempt_of, run_of

Sample = dict[str, Any]
NOTHING = SystemView(
    attempt=1, simulated=False, at=[], began=None, processes=[], host=None, elsewhere=[], energy=None
)
"""Of an attempt without samples."""


def samples(session: Session, run_id: str, attempt: int | None, points: int) -> SystemView:
    """Return the samples of an attempt, thinned to about `points`. Raises ResourceNotFound."""
    run = run_of(session, run_id)
    number = attempt_of(run, attempt)
    content = files.read(session, run.id, number, SYSTEM)
    found = thinned(list(_read(content)), points)
    if not found:
        return NOTHING.model_copy(update={"attempt": number, "simulated": run.simulated})
    key = (RankTotals.run_id == run.id, RankTotals.attempt == number)
    hosts = session.execute(select(RankTotals.rank, RankTotals.host).where(*key).order_by(RankTotals.rank))
    elsewhere = [rank for rank, host in hosts if host is not None and host != found[0]["host"]]
    told: dict[str, Any] = {"attempt": number, "simulated": run.simulated, "elsewhere": elsewhere}
    if run.simulated:  # its messages are not sent by the host, whose network says nothing of it
        told["host"] = None
    else:
        over = run.state in TERMINAL or number < run.attempt
        energy = summed([sample_of(content)], ended=over, overlap=run.overlap if number == run.attempt else None)
        told["energy"] = EnergyView(joules=energy.joules, seconds=energy.seconds, note=energy.note)
    return view(found).model_copy(update=told)


def _read(content: bytes) -> Iterator[Sample]:
    """Yield the samples of a file; lines that are none are left out, as a last one that is cut."""
    for line in content.splitlines():
        try:
            sample = json.loads(line)
            ranks = {int(rank): (float(cpu), float(memory)) for rank, (cpu, memory) in sample["ranks"].items()}
            read: Sample = {"unix": float(sample["unix"]), "host": str(sample["host"]), "ranks": ranks}
            network = sample.get("network")
            read["network"] = None if network is None else (float(network[0]), float(network[1]))
            for name in ("joules", "gpu", "gpu_memory", "gpu_joules"):
                read[name] = None if sample.get(name) is None else float(sample[name])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
            continue
        if math.isfinite(read["unix"]):
            yield read


def thinned(found: Sequence[Sample], points: int) -> list[Sample]:
    """Return at most `points` samples, evenly spaced in number, the first and the last among them.

    Counters lose nothing by this: rates become means over longer times.
    """
    if len(found) <= points:
        return list(found)
    return [found[round(i * (len(found) - 1) / (points - 1))] for i in range(points)]


def view(found: Sequence[Sample]) -> SystemView:
    """Return samples as columns; a rate is the mean since the sample before, so the first one is null."""
    times = [sample["unix"] for sample in found]
    ranks = sorted({rank for sample in found for rank in sample["ranks"]})
    networks = [sample["network"] or (None, None) for sample in found]
    return SystemView(
        attempt=1,
        simulated=False,
        elsewhere=[],
        energy=None,
        began=times[0],
        at=[round(time - times[0], 3) for time in times],
        processes=[
            ProcessSamples(
                rank=rank,
                cpu=rates(times, [sample["ranks"].get(rank, (None, None))[0] for sample in found]),
                memory=[_finite(sample["ranks"].get(rank, (None, None))[1]) for sample in found],
            )
            for rank in ranks
        ],
        host=HostSamples(
            host=found[0]["host"],
            received=rates(times, [received for received, _ in networks]),
            sent=rates(times, [sent for _, sent in networks]),
            power=rates(times, [sample["joules"] for sample in found]),
            gpu=[_finite(sample["gpu"]) for sample in found],
            gpu_memory=[_finite(sample["gpu_memory"]) for sample in found],
            gpu_power=rates(times, [sample["gpu_joules"] for sample in found]),
        ),
    )


def rates(times: Sequence[float], counter: Sequence[float | None]) -> list[float | None]:
    """Return the increase per second since the sample before; None where a counter is missing or began anew."""
    found: list[float | None] = [None]
    for i in range(1, len(times)):
        before, now, passed = counter[i - 1], counter[i], times[i] - times[i - 1]
        if before is None or now is None or passed <= 0 or now < before:
            found.append(None)
        else:
            found.append(_finite((now - before) / passed))
    return found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
