"""The comparison of an experiment, from the figures computed at ingest; no points are read."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hooke.spec.specification import ExperimentSpec, Target
from hooke.spec.states import TERMINAL
from hooke.trace.phases import PHASES
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.base.intervals import Interval, interval
from hooke_api.comparisons import wording
from hooke_api.comparisons.cells import FAILED, FINISHED, Cell, throughput
from hooke_api.comparisons.effort import Effort
from hooke_api.comparisons.schemas import Comparison, ComparisonRow, Estimate, SpeedUp, TimeToTarget
from hooke_api.comparisons.verdict import Verdict, compare_all, compare_values, holm, paired_difference
from hooke_api.models import Experiment, RankTotals, Run


@dataclass(frozen=True)
class PhaseSums:
    """Totals over the ranks of one run."""

    shares: dict[str, float]
    """Share of wall time per phase, mean over workers; empty before the first step."""
    hidden: float
    """s, mean over workers."""
    wire: float
    """Bytes, all ranks."""


def answer_comparison(session: Session, experiment_id: str) -> Comparison:
    """Return the comparison of an experiment with its present runs. Raises NotFound."""
    experiment = session.get(Experiment, experiment_id)
    if experiment is None:
        raise ResourceNotFound(f"no experiment has the id {experiment_id!r}")
    spec = ExperimentSpec.model_validate(experiment.spec)
    target = spec.target
    of_all = select(Run).where(Run.experiment_id == experiment_id)
    runs = session.scalars(of_all.where(Run.rung.is_(None)).order_by(Run.number)).all()
    totals = _totals(session, experiment_id)
    groups: dict[tuple[str, int], dict[str, Cell]] = defaultdict(dict)
    for run in runs:
        group = groups[run.cluster, run.workers]
        group.setdefault(run.variant, Cell(run.variant, [])).runs.append(run)
    rows, sentences = [], []
    effort = Effort.of(session, experiment_id, spec, complete=not experiment.planning, measured=bool(runs))
    for cells in groups.values():
        verdicts = effort.judged(cells, experiment.baseline, _verdicts(cells, experiment.baseline, target))
        rows += [_row(cells, name, experiment.baseline, target, verdicts[name], totals) for name in cells]
        unchosen = effort.unchosen(cells)
        sentences.append(_sentence(cells, experiment.baseline, target, verdicts, unchosen))
    return Comparison(
        experiment=experiment.id,
        baseline=experiment.baseline,
        target=wording.describe_target(target) if target else None,
        tuning=effort.sentence,
        note=wording.describe_parts(target, _without_validation(target, runs)),
        complete=not experiment.planning and all(run.state in TERMINAL for run in runs),
        rows=rows,
        sentences=sentences,
    )


def _without_validation(target: Target | None, runs: Sequence[Run]) -> bool:
    """Return whether evaluations score the test part."""
    return (target is not None and target.part == "test") or any(run.evaluated_part == "test" for run in runs)


def _totals(session: Session, experiment_id: str) -> dict[str, PhaseSums]:
    """Return the totals of every run's newest attempt."""
    phases = [str(phase) for phase in PHASES]
    columns = [getattr(RankTotals, name) for name in ("run_id", "role", "wire", "hidden", *phases)]
    query = select(*columns).join(Run, (Run.id == RankTotals.run_id) & (Run.attempt == RankTotals.attempt))
    ranks: dict[str, list[tuple[str, float, float, list[float]]]] = defaultdict(list)
    for run, role, wire, hidden, *seconds in session.execute(query.where(Run.experiment_id == experiment_id)):
        ranks[run].append((role, wire, hidden, seconds))
    return {run: _add_up(phases, of_run) for run, of_run in ranks.items()}


def _add_up(phases: Sequence[str], ranks: Sequence[tuple[str, float, float, list[float]]]) -> PhaseSums:
    workers = [(hidden, np.array(seconds)) for role, _, hidden, seconds in ranks if role == "worker"]
    shares = [seconds / seconds.sum() for _, seconds in workers if seconds.sum() > 0]
    mean = np.mean(shares, axis=0).tolist() if shares else []
    return PhaseSums(
        shares=dict(zip(phases, mean, strict=False)),  # no shares before the first step
        hidden=float(np.mean([hidden for hidden, _ in workers])) if workers else 0.0,
        wire=float(sum(wire for _, wire, _, _ in ranks)),
    )


def _verdicts(cells: dict[str, Cell], baseline: str, target: Target | None) -> dict[str, Verdict]:
    """Return the verdict on each variant of one cluster and number of workers, corrected for their number."""
    found = {name: Verdict("baseline" if name == baseline else "no claim") for name in cells}
    if target is None or baseline not in cells:
        return found
    others = {name: cell.crossings() for name, cell in cells.items() if name != baseline}
    return found | compare_all(cells[baseline].crossings(), others)


def _row(  # noqa: PLR0913 - what a row is made of
    cells: dict[str, Cell],
    name: str,
    baseline: str,
    target: Target | None,
    verdict: Verdict,
    totals: dict[str, PhaseSums],
) -> ComparisonRow:
    cell, first = cells[name], cells[name].runs[0]
    seconds = "virtual s" if first.simulated else "s"

    def estimate(unit: str, figure: Callable[[Run], float | None]) -> Estimate:
        found = interval(list(cell.finished(figure).values()))
        # a t interval has no bounds, but no figure here is negative, and a share is at most 1
        low = None if found.low is None else max(0.0, found.low)
        high = min(1.0, found.high) if unit == "fraction" and found.high is not None else found.high
        return Estimate(mean=found.mean, low=low, high=high, n=found.n, unit=unit)

    def total(figure: Callable[[PhaseSums], float]) -> Callable[[Run], float | None]:
        return lambda run: figure(totals[run.id]) if run.id in totals else None

    shares = [t.shares for run in cell.runs if run.state not in FAILED and (t := totals.get(run.id)) and t.shares]
    return ComparisonRow(
        variant=name,
        algorithm=first.algorithm,
        cluster=first.cluster,
        simulated=first.simulated,
        workers=first.workers,
        servers=first.servers,
        oversubscribed=any(run.oversubscribed for run in cell.runs),
        runs=len(cell.runs),
        finished=sum(run.state in FINISHED for run in cell.runs),
        failed=sum(run.state in FAILED for run in cell.runs),
        time_to_target=_time_to_target(cell) if target else None,
        speed_up=SpeedUp(
            ratio=verdict.ratio,
            low=verdict.low,
            high=verdict.high,
            pairs=verdict.pairs,
            censored=verdict.censored,
            left_out=verdict.missed_by_both + verdict.met_at_start,
            comparisons=verdict.comparisons,
            p_adjusted=verdict.p_adjusted,
            claim=verdict.claim,
            sentence=_row_sentence(cells, name, baseline, target, verdict),
        ),
        accuracy=estimate("fraction", lambda run: run.accuracy),
        test_accuracy=estimate("fraction", lambda run: run.test_accuracy),
        communication_fraction=estimate("fraction", lambda run: run.communication_fraction),
        hidden=estimate(seconds, total(lambda t: t.hidden)),
        wire=estimate("bytes", total(lambda t: t.wire)),
        throughput=estimate(f"samples/{seconds}", throughput),
        staleness=estimate("updates", lambda run: run.staleness),
        lost_mass=estimate("fraction", lambda run: run.lost_mass),
        phases={str(p): statistics.fmean(s[str(p)] for s in shares) for p in PHASES} if shares else {},
    )


def _time_to_target(cell: Cell) -> TimeToTarget:
    crossings = list(cell.crossings().values())
    reached = sorted(c.seconds for c in crossings if c.met)
    known = 2 * len(reached) > len(crossings)  # the median is not among the seeds that missed it
    missed = [float("inf")] * (len(crossings) - len(reached))
    return TimeToTarget(
        median=statistics.median([*reached, *missed]) if known else None,
        low=reached[0] if reached else None,
        high=reached[-1] if reached else None,
        reached=len(reached),
        n=len(crossings),
        unit="virtual s" if cell.runs[0].simulated else "s",
    )


def _marks(cell: Cell) -> str:
    marks = ", simulated" if cell.runs[0].simulated else ""
    return marks + (", oversubscribed" if any(run.oversubscribed for run in cell.runs) else "")


def _row_sentence(
    cells: dict[str, Cell], name: str, baseline: str, target: Target | None, verdict: Verdict
) -> str:
    if name != baseline and baseline in cells and target is None:
        said = _without_target(cells, baseline, {name: verdict})[name]
        return f"No target was set, so there is no time to it. Against {baseline}{_marks(cells[name])}: {said}."
    unpaired = None
    if baseline not in cells:
        run = cells[name].runs[0]
        unpaired = f"{baseline} did not run on {run.cluster} with {wording.count(run.workers, 'worker')}"
    return wording.sentence(name, baseline, verdict, _marks(cells[name]), unpaired)


def _without_target(cells: dict[str, Cell], baseline: str, verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    """Return the conclusion on each of these variants for an experiment without a target, paired by seed."""
    base = cells[baseline]
    others = {name: cell for name, cell in cells.items() if name != baseline}
    compared = {n: compare_values(c.finished(throughput), base.finished(throughput)) for n, c in others.items()}
    speeds = holm(compared)

    def accuracy(cell: Cell) -> Interval:
        sides = [side.finished(lambda run: run.accuracy) for side in (base, cell)]
        return paired_difference(sides[0], sides[1])

    return {
        name: wording.without_target(name, accuracy(cell), speeds[name], verdicts[name].unequal)
        for name, cell in others.items()
        if name in verdicts
    }


def _sentence(
    cells: dict[str, Cell],
    baseline: str,
    target: Target | None,
    verdicts: dict[str, Verdict],
    unchosen: Sequence[str],
) -> str:
    runs = [run for cell in cells.values() for run in cell.runs]
    place = wording.ComparedPlace(
        cluster=runs[0].cluster,
        workers=runs[0].workers,
        simulated=runs[0].simulated,
        oversubscribed=any(run.oversubscribed for run in runs),
        ended=sum(run.state in TERMINAL for run in runs),
        runs=len(runs),
        failed=sum(run.state in FAILED for run in runs),
    )
    if baseline not in cells:
        return f"{place}: no claim: the baseline {baseline} did not run here."
    if target is None:
        said = _without_target(cells, baseline, verdicts).values()
        return f"{place}, no target was set; against {baseline}, 95% intervals: {'; '.join(said) or 'nothing'}."
    others = [(name, verdicts[name]) for name in cells if name != baseline]
    return wording.group_sentence(place, baseline, wording.describe_target(target), others, unchosen)
