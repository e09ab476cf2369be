"""All faults of an experiment together: of its form, of what clusters offer, and of the data that they lack."""

from __future__ import annotations

from hooke.calibration.constants import resolve_experiment
from hooke.catalogue.expand import unknown_clusters
from hooke.catalogue.offers import ClassWorkloadOffer, brought_along
from hooke.catalogue.partial import further
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec
from hooke.spec.sweeps import expanded
from hooke.tuning.plan import Plan
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.documents import Submitted
from hooke_api.calibration.service import latest
from hooke_api.models import Cluster
from hooke_api.planning.steps import plan_of, registered_cores
from hooke_api.storage.database import Database


def understood(database: Database, sent: Submitted) -> ExperimentSpec:
    """Return the experiment that was sent. Raises SpecError with the faults of its form, and with all others."""
    try:
        return sent.spec()
    except SpecError as error:
        with database.read() as session:
            others = further(sent.document, error.faults, lambda spec: _planned(session, spec))
        raise SpecError([*error.faults, *others]) from None


def _planned(session: Session, asked: ExperimentSpec) -> None:
    plain = expanded(asked)
    with plain.telling() as spec:
        checked_plan(session, resolve_experiment(spec, latest(session)))


def checked_plan(session: Session, spec: ExperimentSpec) -> Plan:
    """Return the plan of a new experiment. Raises SpecError as `plan_of`, and where clusters lack its data."""
    lacking = missing_data(session, spec)
    try:
        plan = plan_of(session, spec)
    except SpecError as error:
        unknown = unknown_clusters(spec, registered_cores(session))
        raise SpecError(list(dict.fromkeys([*error.faults, *unknown, *lacking]))) from None
    if lacking:
        raise SpecError(lacking)
    return plan


def missing_data(session: Session, spec: ExperimentSpec, *, elsewhere: bool = False) -> list[Fault]:
    """Return a fault for each cluster whose agent has not found the data of a built-in workload.

    `elsewhere`: only clusters whose ranks are not on the agent's host, and may have the data nevertheless;
    otherwise only the others. Agents look for the files that default parameters select; nothing is known of
    other files.
    """
    offer = brought_along().workloads.get(spec.workload.name)
    if not isinstance(offer, ClassWorkloadOffer):
        return []
    fields = offer.kind.model_fields
    given = spec.workload.parameters
    if any(given.get(name, fields[name].default) != fields[name].default for name in offer.kind.data_fields):
        return []
    hosts = select(Cluster).where(Cluster.name.in_({each.host for each in spec.clusters}))
    hosts = hosts.where((Cluster.launcher != "local") == elsewhere).order_by(Cluster.name)
    return [
        Fault(pointer("workload", "name"), f"On the cluster {cluster.name}: {why}")
        for cluster in session.scalars(hosts)
        if (why := cluster.missing_data.get(spec.workload.name))
    ]
