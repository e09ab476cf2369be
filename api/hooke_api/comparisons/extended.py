"""What a reader has to know of a comparison in which something was measured when other things were known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hooke.comparison.contrasts import PROCESSOR
from hooke.comparison.wording import count, listed
from hooke.spec.states import RunState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.models import Experiment, Run, Transition

SHOWN = (RunState.FAILED_USER, RunState.TIMED_OUT)
"""Ends of a run that tell something of its method, after which it can be tried again."""
MOST_SHOWN = 3
"""Values of a fact that are named."""
Document = Mapping[str, Any]
"""A specification as it is stored."""


def extended(session: Session, experiment: Experiment) -> str | None:
    """Return it in sentences; None if there is nothing to know.

    Of extensions: seeds that follow a look, variants that were measured when the others had been, not in turn with
    them, and runs that were made by other programs or processors. Of any experiment: runs that showed something,
    and were tried again.
    """
    told = [*_of_retries(session, experiment)]
    if experiment.earlier:
        versions = [*(each["spec"] for each in experiment.earlier), experiment.spec]
        told += [*_of_seeds(versions), *_of_variants(versions), *_of_machines(session, experiment)]
    return " ".join(told) or None


def made_by(simulated: bool, hardware: Document | None, versions: Document | None) -> dict[str, str]:
    """Return by name what a run told of the programs that made it and, of a real one, of its processor."""
    facts = dict(versions or {})
    if not simulated and hardware:
        facts[PROCESSOR] = hardware.get("cpu")
    return {name: str(value) for name, value in facts.items() if value}


def _of_retries(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield how many reported runs a user has had tried again that had not been ended by a machine or a person."""
    again = (Transition.source.in_(SHOWN), Transition.state == RunState.QUEUED)
    query = select(func.count(Transition.run_id.distinct())).join(Run, Run.id == Transition.run_id)
    mine = (Run.experiment_id == experiment.id, Run.rung.is_(None))
    if number := session.execute(query.where(*mine, *again)).scalar_one():
        were = "was" if number == 1 else "were"
        yield (
            f"{count(number, 'run')} {were} retried by hand after a divergence, an error or the time limit: "
            "what was shown before that does not count."
        )


def _of_seeds(versions: Sequence[Document]) -> Iterator[str]:
    counts = [tuple(cluster["seeds"] for cluster in version["clusters"]) for version in versions]
    times = sum(before != after for before, after in pairwise(counts))
    if times == 0:
        return
    how = "" if times == 1 else f" {times} times"
    yield (
        f"Seeds were added{how} after {_number(counts[0])} had been compared (now {_number(counts[-1])}): "
        "intervals and claims assume a number of seeds that was fixed beforehand, and find differences where "
        "there are none more often than they say."
    )


def _number(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _of_variants(versions: Sequence[Document]) -> Iterator[str]:
    """Yield which variants were measured later; simulated time is the same at any time."""
    real = [cluster["name"] for cluster in versions[-1]["clusters"] if cluster.get("virtual") is None]
    first = {variant["name"] for variant in versions[0]["variants"]}
    later = [variant["name"] for variant in versions[-1]["variants"] if variant["name"] not in first]
    if real and later:
        verb = "was" if len(later) == 1 else "were"
        yield (
            f"On {listed(real)}, {listed(later)} {verb} measured after the others, not in turn with them: a "
            "machine that has become faster or slower meanwhile changes the ratio."
        )


def _of_machines(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield in what the programs and processors of reported runs differ, as the runs told."""
    query = select(Run.cluster, Run.simulated, Run.hardware, Run.versions)
    rows = session.execute(
        query.where(Run.experiment_id == experiment.id, Run.rung.is_(None)).order_by(Run.number)
    )
    seen: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for cluster, simulated, hardware, versions in rows:
        for name, value in made_by(simulated, hardware, versions).items():
            seen[name, cluster] |= {value: None}
    several = {place: list(values) for place, values in seen.items() if len(values) > 1}
    told = [
        f"{name} on {cluster} ({', '.join(values[:MOST_SHOWN])})" for (name, cluster), values in several.items()
    ]
    if told:
        yield f"Its runs were not all made by the same: {'; '.join(told)}."
