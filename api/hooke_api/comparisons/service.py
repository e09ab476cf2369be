"""The comparison of an experiment, as the engine's rule concludes it (`hooke.comparison.report`)."""

from __future__ import annotations

from dataclasses import dataclass

from hooke.comparison import across as engine
from hooke.comparison import wording
from hooke.comparison.by_hand import by_hand, dimensions
from hooke.comparison.effort import Effort, trained
from hooke.comparison.figures import RunFigures
from hooke.comparison.intervals import Interval
from hooke.comparison.report import Report, Row, report
from hooke.comparison.spreads import spreads, why_no_axis
from hooke.comparison.trials import trials_made
from hooke.comparison.verdict import Verdict
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL
from sqlalchemy.orm import Session

from hooke_api.comparisons.extended import extended
from hooke_api.comparisons.figures import reported_runs
from hooke_api.comparisons.schemas import (
    Across,
    AcrossRatio,
    AcrossRow,
    Comparison,
    ComparisonRow,
    Estimate,
    Fastest,
    PooledRatio,
    SpeedUp,
    TimeToTarget,
)
from hooke_api.models import Experiment
from hooke_api.planning.trials import continued, outcomes, trial_runs, trials_of
from hooke_api.storage.present import present_experiment


@dataclass(frozen=True)
class Reported:
    """The reported runs of an experiment, and what the engine says of them."""

    spec: ExperimentSpec
    runs: list[RunFigures]
    effort: Effort
    report: Report


def reported(session: Session, experiment: Experiment) -> Reported:
    """Return the engine's report on an experiment with its present runs. Raises SpecError, ValidationError."""
    spec = ExperimentSpec.model_validate(experiment.spec)
    runs = reported_runs(session, experiment.id)
    effort = effort_of(session, experiment, spec, measured=bool(runs))
    return Reported(spec, runs, effort, report(runs, experiment.baseline, spec.target, effort))


def answer_comparison(session: Session, experiment_id: str) -> Comparison:
    """Return the comparison of an experiment with its present runs. Raises NotFound."""
    experiment = present_experiment(session, experiment_id)
    made = reported(session, experiment)
    spec, runs, effort, found = made.spec, made.runs, made.effort, made.report
    untold = effort.outcomes if not runs and effort.complete else ()
    return Comparison(
        experiment=experiment.id,
        baseline=experiment.baseline,
        target=wording.describe_target(spec.target) if spec.target else None,
        tuning=found.tuning,
        note=found.note,
        extended=extended(session, experiment),
        complete=not experiment.planning and all(run.state in TERMINAL for run in runs),
        rows=[row_view(row) for row in found.rows],
        fastest=_fastest(found),
        across=[_across(each, found.rows, spec) for each in found.across],
        sentences=[*found.sentences, *untold],
    )


def effort_of(session: Session, experiment: Experiment, spec: ExperimentSpec, measured: bool) -> Effort:
    """Return the tuning behind an experiment; `measured`: whether any chosen setting has runs."""
    if spec.tuning is None:
        return Effort(trained=trained(spec))
    runs = trial_runs(session, spec, experiment.id)
    return Effort(
        spec.tuning,
        tuple(variant.name for variant in spec.variants),
        complete=not experiment.planning,
        measured=measured,
        made=trials_made(runs),
        earlier=sum(trials_of(each) for each in continued(session, spec)),
        outcomes=tuple(outcomes(runs)),
        trained=trained(spec),
        by_hand=by_hand(spec) + dimensions(spec),
    )


def _fastest(found: Report) -> list[Fastest]:
    places = dict.fromkeys((row.first.cluster, row.first.workers) for row in found.rows)
    return [
        Fastest(
            cluster=cluster,
            workers=workers,
            variant=best.variant,
            unseparated=list(best.unseparated),
            among=best.among,
            low=best.low,
            high=best.high,
        )
        for (cluster, workers), best in zip(places, found.fastest, strict=True)
        if best is not None
    ]


def _across(found: engine.Across, rows: list[Row], spec: ExperimentSpec) -> Across:
    places = {cluster.name: cluster for cluster in spec.clusters}
    mine = [row for row in rows if row.first.workers == found.workers]
    own = [places[each.cluster] for each in found.clusters]
    without = why_no_axis(own, found.workers, spec.compute.device)
    variants = list(dict.fromkeys(row.first.variant for row in mine))
    return Across(
        workers=found.workers,
        clusters=[each.cluster for each in found.clusters],
        pool=list(found.pool),
        spreads=spreads(own, found.workers, spec.compute.device),
        rows=[
            AcrossRow(
                variant=variant,
                clusters=[
                    AcrossRatio(cluster=row.first.cluster, simulated=row.first.simulated, speed_up=_speed_up(row))
                    for row in mine
                    if row.first.variant == variant
                ],
                pooled=PooledRatio.model_validate(found.pooled[variant]) if variant in found.pooled else None,
            )
            for variant in variants
        ],
        sentences=[*found.sentences, *([without] if without else [])],
    )


def row_view(row: Row) -> ComparisonRow:
    """Return the response about one row."""
    run = row.first
    seconds = "virtual s" if run.simulated else "s"
    return ComparisonRow(
        variant=run.variant,
        algorithm=run.algorithm,
        cluster=run.cluster,
        simulated=run.simulated,
        workers=run.workers,
        servers=run.servers,
        oversubscribed=row.oversubscribed,
        overlapped=row.overlapped,
        runs=row.runs,
        finished=row.finished,
        failed=row.failed,
        time_to_target=_time_to_target(row),
        speed_up=_speed_up(row),
        accuracy=_estimate(row.accuracy, "fraction"),
        target_accuracy=_estimate(row.target_accuracy, "fraction"),
        best_accuracy=_estimate(row.best_accuracy, "fraction"),
        test_accuracy=_estimate(row.test_accuracy, "fraction"),
        communication_fraction=_estimate(row.communication_fraction, "fraction"),
        hidden=_estimate(row.hidden, seconds),
        wire=_estimate(row.wire, "bytes"),
        throughput=_estimate(row.throughput, f"samples/{seconds}"),
        samples=_estimate(row.samples, "samples"),
        energy=_estimate(row.energy, "J"),
        energy_shared=row.energy_shared,
        staleness=_estimate(row.staleness, "updates"),
        lost_mass=_estimate(row.lost_mass, "fraction"),
        phases=dict(row.phases),
    )


def _time_to_target(row: Row) -> TimeToTarget | None:
    found = row.time_to_target
    if found is None:
        return None
    return TimeToTarget(
        mean=found.mean,
        median=found.median,
        low=found.low,
        high=found.high,
        reached=found.reached,
        n=found.n,
        unit="virtual s" if row.first.simulated else "s",
    )


def _speed_up(row: Row) -> SpeedUp:
    return speed_up_view(row.verdict, row.sentence)


def speed_up_view(verdict: Verdict, sentence: str) -> SpeedUp:
    """Return the response about one verdict; `sentence` says it in words."""
    return SpeedUp(
        ratio=verdict.ratio,
        low=verdict.low,
        high=verdict.high,
        pairs=verdict.pairs,
        censored=verdict.censored,
        left_out=verdict.missed_by_both + verdict.met_at_start,
        comparisons=verdict.comparisons,
        p_adjusted=verdict.p_adjusted,
        claim=verdict.claim,
        seeds_needed=verdict.seeds_needed if wording.may_show_more(verdict) else None,
        sentence=sentence,
    )


def _estimate(found: Interval, unit: str) -> Estimate:
    return Estimate(mean=found.mean, low=found.low, high=found.high, n=found.n, unit=unit)
