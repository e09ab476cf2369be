"""Energy of runs, from the last sample that the supervisor of each attempt has sent (`hooke.cluster.sampling`).

It is that of the whole machine while the ranks ran: of its processors, its memory and the GPUs that ranks used. A
sample says all that there is to say, so the last part of each file is enough, and nothing is stored anew.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooke.spec.files import SYSTEM
from hooke.spec.states import TERMINAL
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.models import Attempt, Run, StoredFilePart
from hooke_api.storage import files

ALONE = 0.9
"""Share of the processor time used meanwhile from which a run counts as alone on its machine."""
MOST_NOTE = 300


@dataclass(frozen=True)
class Energy:
    """What is known of one run, over the attempts that its result stands on."""

    joules: float | None
    """Of the processors, the memory and the used GPUs of the machine; None: `note` says why."""
    seconds: float | None
    """For which it was counted, wall clock."""
    note: str
    """What has to be known of it; empty: nothing."""
    shared: bool
    """Whether other processes used much of the machine meanwhile."""
    complete: bool
    """Whether it was counted to the end."""

    @property
    def final(self) -> float | None:
        """Return the joules of a run that has ended; None if they are not known."""
        return self.joules if self.complete else None


def energy_of(session: Session, mine: ColumnElement[bool]) -> dict[str, Energy]:
    """Return the energy of the runs that a condition chooses; those without samples are left out.

    Of simulated runs there is none: it would be that of the simulation.
    """
    chosen = and_(mine, Run.simulated.is_(False))
    samples = {
        (run, attempt): _last(session, run, attempt, data) for run, attempt, data in _parts(session, chosen)
    }
    facts = session.execute(select(Run.id, Run.attempt, Run.state, Run.overlap).where(chosen)).all()
    continued = _continued(session, chosen)
    found = {}
    for run, attempt, state, overlap in facts:
        numbers = [attempt]
        while (run, numbers[-1]) in continued and numbers[-1] > 1:
            numbers.append(numbers[-1] - 1)
        of_run = [samples.get((run, number)) for number in reversed(numbers)]
        if any(of_run):
            found[run] = summed(of_run, ended=state in TERMINAL, overlap=overlap)
    return found


def summed(samples: Sequence[Mapping[str, Any] | None], *, ended: bool, overlap: str | None = None) -> Energy:
    """Return the energy over attempts, oldest first, from the last sample of each; None: it has none."""
    lacking = next((_lacking(each) for each in samples if _lacking(each)), None)
    gpus, told = _gpus(samples)
    if lacking is not None or told and gpus is None:
        return Energy(None, None, "; ".join(filter(None, [lacking, told])), shared=False, complete=False)
    known = [each for each in samples if each is not None]
    joules, seconds = sum(each["joules"] for each in known), sum(each["since"] for each in known)
    own = min((each["own"] for each in known if each["own"] is not None), default=None)
    whole = bool(known[-1]["last"])
    notes = [f"{told} of it"] if told else []
    joules += gpus or 0.0
    if overlap is not None:
        notes.append(f"shared with a run on {overlap}")
    if own is not None and own < ALONE:
        notes.append(f"shared: of the processor time used meanwhile, its ranks used {own:.0%}")
    if len(known) > 1:
        notes.append(f"of {len(known)} attempts")
    if not whole:
        notes.append("not to its end: its supervisor was ended" if ended else "so far")
    shared = overlap is not None or (own is not None and own < ALONE)
    return Energy(joules, seconds, "; ".join(notes), shared=shared, complete=whole)


def _lacking(sample: Mapping[str, Any] | None) -> str:
    if sample is None:
        return "not known: one of its attempts has no samples"
    return str(sample["lacking"])


def _gpus(samples: Sequence[Mapping[str, Any] | None]) -> tuple[float | None, str]:
    """Return the joules of the GPUs that ranks used, and what is said of them; no words: they used none."""
    found = [each["gpus"] for each in samples if each is not None and each.get("gpus")]
    if why := next((lacking for _, lacking in found if lacking), None):
        return None, f"GPUs: {why}"
    joules = sum(each for each, _ in found)
    return joules, f"its GPUs used {joules:,.0f} J" if found else ""


def _parts(session: Session, chosen: ColumnElement[bool]) -> Sequence[Any]:
    """Return run, attempt and content of the last part of each file of samples."""
    part = StoredFilePart
    latest = (
        select(part.run_id, part.attempt, func.max(part.first).label("first"))
        .join(Run, and_(Run.id == part.run_id, part.attempt <= Run.attempt))
        .where(chosen, part.name == SYSTEM)
        .group_by(part.run_id, part.attempt)
        .subquery()
    )
    same = and_(
        part.run_id == latest.c.run_id,
        part.attempt == latest.c.attempt,
        part.name == SYSTEM,
        part.first == latest.c.first,
    )
    return session.execute(select(part.run_id, part.attempt, part.data).join(latest, same)).all()


def _continued(session: Session, chosen: ColumnElement[bool]) -> set[tuple[str, int]]:
    """Return the attempts that went on from a checkpoint."""
    query = select(Attempt.run_id, Attempt.number).join(Run, Run.id == Attempt.run_id)
    rows = session.execute(query.where(chosen, Run.attempt > 1, Attempt.restored_step.is_not(None)))
    return {(run, number) for run, number in rows}


def _last(session: Session, run: str, attempt: int, data: bytes) -> dict[str, Any] | None:
    """Return the last sample of a file, whose last part may begin within it."""
    found = sample_of(zlib.decompress(data)) if data else None
    return found or sample_of(files.read(session, run, attempt, SYSTEM))


def sample_of(content: bytes) -> dict[str, Any] | None:
    """Return what the last whole line of a file says of energy; None: there is no such line."""
    for line in reversed(content.splitlines()[-2:]):  # the last one may be cut
        try:
            sample = json.loads(line)
            if not isinstance(sample["ranks"], dict):
                continue
            own = None if sample.get("own") is None else float(sample["own"])
            joules, since = float(sample.get("joules", 0)), float(sample.get("since", math.nan))
            lacking = storable_text(str(sample.get("no_joules", "")))[:MOST_NOTE]
            gpus = _gpus_of(sample)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
        if not lacking and not (0 <= joules < math.inf and 0 <= since < math.inf):
            lacking = "not known: sampled by an agent from before it was counted"
        if own is not None and not 0 <= own <= 1:
            own = None
        last = sample.get("last") is True
        return {"joules": joules, "since": since, "own": own, "lacking": lacking, "last": last, "gpus": gpus}
    return None


def _gpus_of(sample: Mapping[str, Any]) -> tuple[float, str] | None:
    """Return the joules of the GPUs that ranks used, or why they are not known; None: they used none."""
    if not {"gpu_joules", "no_gpu_joules"} & set(sample):
        return None
    joules = float(sample.get("gpu_joules", 0))
    lacking = storable_text(str(sample.get("no_gpu_joules", "")))[:MOST_NOTE]
    if not lacking and not 0 <= joules < math.inf:
        lacking = "not known: what was sampled is not a number"
    return joules, lacking
