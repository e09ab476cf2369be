"""The result of `hooke.compare`: verdict, table, figure, and what becomes of it."""

from __future__ import annotations

import functools
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooke.catalogue.groups import groups_of
from hooke.catalogue.warnings import said_of_compute_time, said_of_devices
from hooke.comparison.by_hand import by_hand, dimensions
from hooke.comparison.effort import Effort, trained
from hooke.comparison.report import Report, Row, report
from hooke.comparison.trials import trials_made
from hooke.comparison.wording import count, power_hint
from hooke.notebook.needed import needed
from hooke.notebook.running import ComparedRun
from hooke.notebook.searches import MethodSearch, edge_sentence
from hooke.spec.specification import ClusterChoice, ExperimentSpec, VirtualCluster
from hooke.spec.states import TERMINAL, RunState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST_FAILURES = 5
"""Failures that a verdict lists."""
COLUMNS = (
    *("method", "runs", "reached", "time_to_target", "speed_up", "speed_up_low", "speed_up_high", "claim"),
    *("validation_accuracy", "test_accuracy", "communication", "bytes_sent", "samples_per_second"),
)
MEASURED = [each for each in COLUMNS if each not in ("method", "runs", "reached", "claim")]
"""Columns of figures that may be unknown: NaN in the table, None in the rows."""
UNKNOWN = ("reached", "median_time", "core_hours")
"""The same of `searches`."""
INTERRUPTED = "Interrupted: these are the runs that had ended before."


class Text(str):
    """A text of several lines that a notebook shows as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class RunFolders:
    """A temporary folder with journals and weights, removed with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="hooke-compare-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """All runs of a comparison, and what follows from them by the rule of `hooke.comparison`."""

    specification: ExperimentSpec
    """The experiment: the same in a file or on a server gives the same runs."""
    runs: tuple[ComparedRun, ...]
    """Every run, trials first, in the order in which they ran."""
    planned: bool
    """Whether all settings have been chosen, so that all runs are among `runs`."""
    interrupted: bool
    """Whether Ctrl-C ended it."""
    warnings: tuple[str, ...]
    """Settings that are allowed but probably not intended, each with its argument."""
    _folder: RunFolders | None
    """Keeps the folders of the runs as long as it exists; None: they are kept anyway."""
    _searches: tuple[MethodSearch, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether all settings have been chosen and every run has ended by itself."""
        return self.planned and all(run.figures.state in TERMINAL - {RunState.CANCELLED} for run in self.runs)

    @functools.cached_property
    def report(self) -> Report:
        """Return rows and sentences of the reported runs, as the API computes them."""
        spec, figures = self.specification, [run.figures for run in self.runs]
        reported = [run for run in figures if run.rung is None]
        effort = Effort(
            spec.tuning,
            tuple(variant.name for variant in spec.variants),
            complete=self.planned,
            measured=bool(reported),
            made=trials_made(run for run in figures if run.rung is not None) if spec.tuning else {},
            trained=trained(spec),
            by_hand=by_hand(spec) + dimensions(spec),
        )
        return report(reported, spec.baseline, spec.target, effort)

    @functools.cached_property
    def verdict(self) -> str:
        """Return the conclusion with intervals, how settings were chosen, and what the figures rest on."""
        found = self.report
        hint = power_hint([(row.first.variant, row.verdict) for row in found.rows])
        more = filter(None, [hint, found.tuning, edge_sentence(self._searches), found.note])
        said = [*found.sentences, *more]
        clusters = self.specification.clusters
        said += [f"The workers: {kinds}." for cluster in clusters if (kinds := _kinds(cluster))]
        said += [_compute_time(cluster.virtual) for cluster in clusters if cluster.virtual]
        said += [*self._failures(), *(f"Warning: {warning}." for warning in self.warnings)]
        return Text("\n".join([*said, *([INTERRUPTED] if self.interrupted else [])]))

    def _failures(self) -> list[str]:
        """Return why runs have failed; a trial may diverge."""
        told = [
            run for run in self.runs if run.why and not (run.figures.rung is not None and run.figures.diverged)
        ]
        said = [
            f"{run.figures.variant}, seed {run.figures.seed}, failed: {run.why}" for run in told[:MOST_FAILURES]
        ]
        more = len(told) - len(said)
        return said + ([f"{count(more, 'more run')} {'has' if more == 1 else 'have'} failed."] if more else [])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return one row per method: the columns of `table`."""
        return [_row(row) for row in self.report.rows]

    @property
    def table(self) -> DataFrame:
        """Return the rows as a table, by method.

        `time_to_target` (median), `speed_up` (baseline's time / own, geometric mean; none if only a bound is
        known, as where a run missed the target) with the ends of its 95% interval, `claim`; accuracies,
        `communication` (share of the time blocked in communication), `bytes_sent` per run, `samples_per_second`.
        Times are train-clock seconds, virtual ones if simulated. Needs pandas.
        """
        pandas = needed("pandas", "the table", "`rows` has the same as plain data")
        found: DataFrame = pandas.DataFrame(self.rows, columns=COLUMNS).set_index("method")
        return found.assign(**{each: pandas.to_numeric(found[each]).astype(float) for each in MEASURED})

    @property
    def trials(self) -> DataFrame:
        """Return one row per run of a trial, with its setting and what it has shown. Needs pandas."""
        pandas = needed("pandas", "the table of trials", "`runs` has them")
        found: DataFrame = pandas.DataFrame([_trial(run) for run in self.runs if run.figures.rung is not None])
        return found

    @property
    def searches(self) -> DataFrame:
        """Return one row per method that was tuned: the columns are the fields of `MethodSearch`. Needs pandas.

        How much depends on the setting (share of the trials that met the target, time of the median trial), the
        cost in samples and core hours, the chosen values, those at an edge of their space, and wider spaces.
        """
        pandas = needed("pandas", "the table of searches", "`runs` has their trials")
        names = [field.name for field in fields(MethodSearch)]
        rows = [[getattr(each, name) for name in names] for each in self._searches]
        found: DataFrame = pandas.DataFrame(rows, columns=names).set_index("method")
        return found.assign(**{each: pandas.to_numeric(found[each]).astype(float) for each in UNKNOWN})

    @property
    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the parameters of the reported runs, by method, defaults included."""
        return {
            run.figures.variant: run.spec.algorithm.parameters for run in self.runs if run.figures.rung is None
        }

    def plot(self, ax: Axes | None = None) -> Figure:
        """Draw validation accuracy (or loss, if it is the target) over train time. Needs matplotlib.

        `ax`: axes to draw in; None: those of a new figure.
        """
        pyplot = needed("matplotlib.pyplot", "the figure", "`runs` has the evaluations")
        from hooke.notebook.plotting import draw

        if ax is not None:
            draw(ax, self.specification, self.runs)
            return ax.get_figure(root=True) or pyplot.gcf()
        figure: Figure
        figure, ax = pyplot.subplots(figsize=(7, 4), layout="constrained")
        draw(ax, self.specification, self.runs)
        pyplot.close(figure)  # otherwise a notebook would show it twice
        return figure

    def save(self, folder: str | Path) -> Path:
        """Write experiment.json, verdict.txt, table.csv, and `runs/` with specification, journals and weights.

        `hooke.load` reads it again. Raises ArgumentError if the folder exists and is not empty.
        """
        from hooke.notebook.saving import save

        more = {
            "planned": self.planned,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
            "searches": [asdict(each) for each in self._searches],
        }
        return save(Path(folder), self.specification, str(self.verdict), self.rows, self.runs, more)

    def submit(self, url: str, token: str, cluster: str = "local") -> str:
        """Send the experiment to a Hooke server, which runs it on one of its clusters; return its address.

        `url`: of the dashboard, such as http://127.0.0.1:7450; `token`: printed by `hooke up`. A model and data of
        this program must be there as a user's file with the name of the workload (docs/workloads.md). Raises
        ArgumentError with what the server refuses.
        """
        from hooke.notebook.submitting import submit

        return submit(self.specification, url, token, cluster)

    def __repr__(self) -> str:
        return str(self.verdict)


def _kinds(cluster: ClusterChoice) -> str:
    """Return the kinds of a cluster's workers, where they have any: `3 cpu, cpu@0.25`."""
    groups = groups_of(cluster)
    return ", ".join(f"{group.count} {group.notation}" if group.count > 1 else group.notation for group in groups)


def _compute_time(network: VirtualCluster) -> str:
    if network.compute_source:
        return f"T{said_of_compute_time(network)[1:]}."
    time = f"{network.compute_seconds_per_sample * 1e6:.4g} us per sample"
    given = f"The simulated compute time, {time}, is as given (`seconds_per_sample`), not measured"
    return f"{given}; {devices}." if (devices := said_of_devices(network)) else f"{given}."


def _row(row: Row) -> dict[str, Any]:
    verdict, time = row.verdict, row.time_to_target
    bound = verdict.censored or (verdict.low is None) != (verdict.high is None)
    speed_up = None if bound else verdict.ratio
    known = (
        *(row.first.variant, row.finished, time.reached if time else None, time.median if time else None),
        *(speed_up, verdict.low, verdict.high, verdict.claim, row.accuracy.mean, row.test_accuracy.mean),
        *(row.communication_fraction.mean, row.wire.mean, row.throughput.mean),
    )
    return dict(zip(COLUMNS, known, strict=True))


def _trial(run: ComparedRun) -> dict[str, Any]:
    found = run.figures
    return {
        "method": found.variant,
        "trial": found.trial,
        "rung": found.rung,
        "seed": found.seed,
        "time_to_target": found.time_to_target,
        "validation_accuracy": found.accuracy,
        "diverged": found.diverged,
        "samples": found.samples,
        "setting": dict(run.spec.algorithm.parameters),
    }
