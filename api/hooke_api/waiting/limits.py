"""Limits of the waiting runs of a user, which an experiment must not exceed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hooke.errors import Fault, SpecError
from hooke.spec.states import RunState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.models import Cluster, Experiment, Run
from hooke_api.queue.outlook import plural
from hooke_api.scheduling.waiting import policy_of


def check_limits(
    session: Session, user: str, clusters: Sequence[str], added: Counter[str], *, lock: bool = False
) -> None:
    """Raise SpecError if the runs that an experiment adds exceed the user's limit on a cluster.

    `clusters` are the hosts of the experiment's clusters in order, for the pointers; `added` the runs per host.
    `lock` makes submissions at the same moment count one another; they wait for the end of this transaction.
    """
    faults = []
    for host, count in sorted(added.items()):
        cluster = session.get(Cluster, host)
        limit = None if cluster is None else policy_of(cluster).max_waiting_runs
        if limit is None:
            continue
        if lock:
            session.get(Cluster, host, with_for_update=True)
        waits = _waiting_runs(session, user, host)
        if waits + count > limit:
            message = (
                f"{user} has {plural(waits, 'waiting run')} on {host} and may have {limit}; this experiment adds "
                f"{count}: wait until some have started, cancel some, or submit fewer"
            )
            faults.append(Fault(f"/clusters/{clusters.index(host)}", message))
    if faults:
        raise SpecError(faults)


def _waiting_runs(session: Session, user: str, host: str) -> int:
    query = (
        select(func.count())
        .select_from(Run)
        .join(Experiment, Experiment.id == Run.experiment_id)
        .where(Run.host == host, Run.state == RunState.QUEUED, Experiment.created_by == user)
    )
    return session.execute(query).scalar_one()
