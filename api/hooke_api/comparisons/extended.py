"""What a reader has to know of a comparison that was extended when a part of it had been measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hooke.comparison.wording import listed
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Experiment, Run

MOST_SHOWN = 3
"""Values of a fact that are named."""
Document = Mapping[str, Any]
"""A specification as it is stored."""


def extended(session: Session, experiment: Experiment) -> str | None:
    """Return it in sentences; None if there is nothing to know: it has one version, or only simulated variants more.

    Seeds that follow a look; variants that were measured when the others had been, not in turn with them; and runs
    that were made by other programs or processors.
    """
    if not experiment.earlier:
        return None
    versions = [*(each["spec"] for each in experiment.earlier), experiment.spec]
    told = [*_of_seeds(versions), *_of_variants(versions), *_of_machines(session, experiment)]
    return " ".join(told) or None


def _of_seeds(versions: Sequence[Document]) -> Iterator[str]:
    counts = [tuple(cluster["seeds"] for cluster in version["clusters"]) for version in versions]
    times = sum(before != after for before, after in pairwise(counts))
    if times == 0:
        return
    how = "" if times == 1 else f" {times} times"
    yield (
        f"Seeds were added{how} after {_number(counts[0])} had been compared (now {_number(counts[-1])}): intervals "
        "and claims assume a number of seeds that was fixed beforehand, and find differences where there are none "
        "more often than they say."
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
            f"On {listed(real)}, {listed(later)} {verb} measured after the others, not in turn with them: a machine "
            "that has become faster or slower meanwhile changes the ratio."
        )


def _of_machines(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield in what the programs and processors of reported runs differ, as the runs told."""
    query = select(Run.cluster, Run.simulated, Run.hardware, Run.versions)
    rows = session.execute(query.where(Run.experiment_id == experiment.id, Run.rung.is_(None)).order_by(Run.number))
    seen: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for cluster, simulated, hardware, versions in rows:
        facts = dict(versions or {})
        if not simulated and hardware:
            facts["processor"] = hardware.get("cpu")
        for name, value in facts.items():
            seen[name, cluster][str(value)] = None
    several = {place: list(values) for place, values in seen.items() if len(values) > 1}
    told = [f"{name} on {cluster} ({', '.join(values[:MOST_SHOWN])})" for (name, cluster), values in several.items()]
    if told:
        yield f"Its runs were not all made by the same: {'; '.join(told)}."
