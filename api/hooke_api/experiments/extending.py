"""Extensions of experiments that have ended: more seeds or further variants, compared with what was measured.

The experiment stays one, with its runs; its specification is replaced by one with more seeds or variants, and the
earlier one is kept. What a variant runs with never changes, so that old and new seeds of it count as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from hooke.catalogue.expand import PlannedRun
from hooke.comparison.wording import listed
from hooke.errors import Fault, SpecError
from hooke.spec.specification import ExperimentSpec, fingerprint
from hooke.spec.states import TERMINAL
from hooke.spec.sweeps import expanded
from hooke.tuning.plan import Plan, Step
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base.documents import Submitted
from hooke_api.base.errors import Conflict, Invalid
from hooke_api.experiments.creating import planned_view
from hooke_api.experiments.faults import missing_data
from hooke_api.experiments.fitting import check_fit
from hooke_api.experiments.inherited import (
    told_of_collectives,
    told_of_kept,
    told_of_present,
    with_collective,
)
from hooke_api.experiments.memory import memory
from hooke_api.experiments.schemas import DryRun, ExperimentVersion, ExperimentView, Extension, VersionList
from hooke_api.experiments.service import view
from hooke_api.experiments.warnings import warnings
from hooke_api.models import Experiment, Run, database_time
from hooke_api.planning.rows import add_runs
from hooke_api.planning.steps import further, plan_of, reported_cells
from hooke_api.planning.undecided import cancelled_trials, first_variants, locked, try_again
from hooke_api.storage.colors import colors_of, shown
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce, wake_scheduler
from hooke_api.storage.present import present_experiment
from hooke_api.storage.reach import names_of, open_project
from hooke_api.storage.trail import tell
from hooke_api.waiting.durations import durations, if_submitted
from hooke_api.waiting.limits import check_limits

MOST_VERSIONS = 20
"""Of one experiment: each is kept whole."""
_OF_VARIANT = re.compile(r"/variants/(\d+)(.*)")


@dataclass(frozen=True)
class _Prepared:
    """What is validated and planned before the transaction that stores it."""

    before: str
    """Fingerprint of the specification that is extended."""
    spec: ExperimentSpec
    step: Step
    plan: Plan
    warnings: list[dict[str, Any]]
    """Those of the extended experiment."""
    told: list[Fault]
    """Those about what is added, with pointers into the request."""
    again: list[str]
    """Ids of cancelled trials that are tried again, because the search that they belong to goes on."""


def extend(
    database: Database, experiment_id: str, asked: Extension, who: str, silence: timedelta
) -> ExperimentView:
    """Add seeds or variants to an experiment that has ended, and queue their runs.

    Raises ResourceNotFound, Conflict with the way out where it cannot be extended, Invalid if nothing is asked
    for, and SpecError as for a new experiment, with pointers into the request.
    """
    with database.read() as session:
        prepared = _checked(session, experiment_id, asked)[1]
    with database.write() as session:
        trials = locked(session, prepared.again)
        experiment = present_experiment(session, experiment_id)
        session.refresh(experiment, with_for_update={"key_share": True})
        present_experiment(session, experiment_id)  # it may have been deleted or moved meanwhile
        _check_extensible(session, experiment, asked, counted=False)
        if experiment.fingerprint != prepared.before:
            raise Conflict(f"experiment {experiment.number} was extended meanwhile: read it again")
        _store(session, experiment, prepared, trials, asked, who)
        try_again(session, trials, who, len(experiment.earlier) + 1)
        return view(session, experiment, silence)


def dry_run(session: Session, experiment_id: str, asked: Extension, silence: timedelta) -> DryRun:
    """Return what an extension would add; nothing is stored. Raises as `extend`.

    `silence`: after which a cluster counts as offline.
    """
    experiment, prepared = _checked(session, experiment_id, asked)
    spec, plan, planned = prepared.spec, prepared.plan, prepared.step.runs
    added = {variant.name for variant in spec.variants} - set(experiment.variants)
    reported = plan.reported_runs - len(reported_cells(session, experiment.id)) if spec.tuning else len(planned)
    return DryRun(
        runs=[planned_view(run) for run in planned],
        trial_runs=plan.trial_runs_of(added) + len(prepared.again),
        reported_runs=reported,
        warnings=prepared.told,
        durations=durations(session, spec, planned),
        memory=memory(session, spec, planned),
        waiting=if_submitted(session, spec, planned, experiment.created_by, silence),
    )


def _checked(session: Session, experiment_id: str, asked: Extension) -> tuple[Experiment, _Prepared]:
    """Return the experiment, and what is asked for, validated and planned."""
    experiment = present_experiment(session, experiment_id)
    if not asked.seeds and not asked.variants:
        raise Invalid("nothing to add", [Fault("", "give `seeds`, `variants`, or both")])
    _check_extensible(session, experiment, asked)
    return experiment, _prepare(session, experiment, asked)


def _check_extensible(session: Session, experiment: Experiment, asked: Extension, *, counted: bool = True) -> None:
    number, version = experiment.number, len(experiment.earlier) + 1
    if asked.version is not None and asked.version != version:
        raise Conflict(f"experiment {number} was extended meanwhile: it is version {version}, not {asked.version}")
    if experiment.imported_at is not None:
        raise Conflict(
            f"experiment {number} was imported: its runs were made on another server's clusters, so new ones "
            "would not be comparable; clone it to run it here"
        )
    name = names_of(session, [experiment.project_id])[experiment.project_id]
    open_project(session, name, counted=counted)
    open_runs = select(func.count()).where(Run.experiment_id == experiment.id, Run.state.not_in(TERMINAL))
    if experiment.finished_at is None or experiment.planning or session.execute(open_runs).scalar_one():
        raise Conflict(f"experiment {number} has not ended: wait for its runs or cancel them first")
    if experiment.archived:
        raise Conflict(f"experiment {number} is archived: unarchive it first")
    if version >= MOST_VERSIONS:
        raise Conflict(f"experiment {number} has {version} versions, the maximum: clone it instead")


def _prepare(session: Session, experiment: Experiment, asked: Extension) -> _Prepared:
    """Validate and plan an extension. Raises SpecError with pointers into the request."""
    before = ExperimentSpec.model_validate(experiment.spec)
    try:
        plain = expanded(Submitted(_document(experiment, asked)).spec())
        with plain.telling() as spec:
            if lacking := missing_data(session, spec):
                raise SpecError(lacking)
            cancelled = cancelled_trials(session, experiment, before)
            plan = plan_of(session, spec, experiment, {run.id for run in cancelled})
            if changed := plan.changed_sources():
                raise SpecError(changed)
            step = further(session, plan, experiment.id)
            check_fit(session, spec, step.runs)
            again = [run.id for run in cancelled]
            _check_limits(session, experiment, spec, step.runs, cancelled)
            told = warnings(session, spec, step.runs)
            told += told_of_present(plan.begun, experiment.variants, plan.defaults)
            sent = plain.as_sent(told)
    except SpecError as error:
        raise SpecError(list(_as_asked(error.faults, before))) from None
    _check_trials(session, experiment, before, step)
    if not step.runs and not again:
        raise Invalid("the extension adds no run", [Fault("", "all of its runs exist already")])
    about = [fault for fault in _as_asked(sent, before) if fault.pointer]  # not those of present variants
    about += [*told_of_collectives(experiment.spec, asked.variants), *_goes_on(cancelled)]
    about += told_of_kept(spec, plan.defaults, seeds=asked.seeds > 0)
    return _Prepared(experiment.fingerprint, plan.begun, step, plan, _merged(experiment, told), about, again)


def _goes_on(cancelled: Sequence[Run]) -> Iterator[Fault]:
    """Yield that cancelled trials are tried again."""
    if cancelled:
        names = listed(list(dict.fromkeys(run.variant for run in cancelled)))
        said = "1 cancelled trial" if len(cancelled) == 1 else f"{len(cancelled)} cancelled trials"
        yield Fault("", f"the search of {names} goes on: {said} will run again")


def _document(experiment: Experiment, asked: Extension) -> dict[str, Any]:
    """Return the specification with what is asked for, as it would be submitted."""
    spec = experiment.spec
    clusters = [each | {"seeds": each["seeds"] + asked.seeds} for each in spec["clusters"]]
    added = [variant.model_dump(mode="json", by_alias=True) for variant in with_collective(spec, asked.variants)]
    return spec | {"clusters": clusters, "variants": [*spec["variants"], *added]}


def _check_trials(session: Session, experiment: Experiment, before: ExperimentSpec, step: Step) -> None:
    """Raise Conflict where the searches of the present variants have not ended: it was cancelled, or stopped."""
    if before.tuning is None:
        return
    present = first_variants(experiment)
    ends = {cluster.name: before.first_seed + cluster.seeds for cluster in before.clusters}
    lacking = [
        run
        for run in step.runs
        if run.variant in present and (run.rung is not None or run.seed < ends[run.cluster])
    ]
    if lacking or not reported_cells(session, experiment.id):
        names = list(dict.fromkeys(run.variant for run in lacking)) or sorted(present)
        raise Conflict(
            f"in experiment {experiment.number} the tuning of {listed(names)} did not end, so no settings are "
            "chosen: submit it again, perhaps as one that continues it"
        )


def _as_asked(faults: Iterable[Fault], before: ExperimentSpec) -> Iterator[Fault]:
    """Yield faults of the extended specification with pointers into the request."""
    own = before.variants
    for fault in faults:
        of_variant = _OF_VARIANT.fullmatch(fault.pointer)
        if of_variant is None:
            place = "/seeds" if re.fullmatch(r"/clusters/\d+/seeds", fault.pointer) else fault.pointer
            yield Fault(place, fault.message)
        elif (index := int(of_variant[1])) >= len(own):
            yield Fault(f"/variants/{index - len(own)}{of_variant[2]}", fault.message)
        else:  # not a place in the request
            yield Fault("", f"variant {own[index].name}: {fault.message}")


def _merged(experiment: Experiment, told: list[Fault]) -> list[dict[str, Any]]:
    """Return the warnings of the experiment that still hold, with those about the extension."""
    anew = re.compile(r"/variants|/target|/clusters(/\d+/seeds)?")
    kept = [each for each in experiment.warnings if not anew.fullmatch(each["pointer"])]
    found = [asdict(each) for each in told]
    return kept + [each for each in found if each not in kept]


def _check_limits(
    session: Session,
    experiment: Experiment,
    spec: ExperimentSpec,
    planned: Sequence[PlannedRun],
    again: Sequence[Run],
    *,
    lock: bool = False,
) -> None:
    """Raise SpecError if the owner would have too many waiting runs; `again`: those that are tried again."""
    added = Counter(run.host for run in planned) + Counter(run.host for run in again)
    check_limits(session, experiment.created_by, [each.host for each in spec.clusters], added, lock=lock)


def _store(
    session: Session,
    experiment: Experiment,
    prepared: _Prepared,
    trials: Sequence[Run],
    asked: Extension,
    who: str,
) -> None:
    spec, step, at = prepared.spec, prepared.step, database_time(session)
    _check_limits(session, experiment, spec, step.runs, trials, lock=True)
    version = len(experiment.earlier) + 2
    kept = {"spec": experiment.spec, "fingerprint": experiment.fingerprint, "at": at.isoformat(), "by": who}
    experiment.earlier = [*experiment.earlier, kept]
    added = [variant.name for variant in spec.variants[len(experiment.variants) :]]
    names = [variant.name for variant in spec.variants]
    colors = colors_of(session, names, shown(experiment.variants, experiment.colors))
    experiment.variants, experiment.colors = names, colors  # together: a query in between would store one alone
    experiment.spec = spec.model_dump(mode="json", by_alias=True)
    experiment.fingerprint = fingerprint(spec)
    experiment.warnings = prepared.warnings
    experiment.planning = not step.complete
    experiment.finished_at = None
    session.flush()
    add_runs(session, experiment, step.runs, who, f"added by version {version}")
    about = {"version": version, "seeds": asked.seeds, "variants": added}
    about["runs"] = len(step.runs) + len(trials)
    tell(session, before={"version": version - 1}, after=about)
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    wake_scheduler(session)
    session.flush()


def versions(session: Session, experiment_id: str) -> VersionList:
    """Return every version of an experiment, the first one first. Raises ResourceNotFound."""
    experiment = present_experiment(session, experiment_id)
    kept = experiment.earlier
    specs = [*((each["spec"], each["fingerprint"]) for each in kept), (experiment.spec, experiment.fingerprint)]
    made = [(experiment.created_at, experiment.created_by)]
    made += [(datetime.fromisoformat(each["at"]), each["by"]) for each in kept]
    return VersionList(
        items=[
            ExperimentVersion(version=number, spec=spec, fingerprint=print_, created_at=at, user=by)
            for number, ((spec, print_), (at, by)) in enumerate(zip(specs, made, strict=True), 1)
        ]
    )
