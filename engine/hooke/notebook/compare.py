"""`hooke.compare`: the runs of a comparison one after the other, in this process, with a verdict at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hooke.catalogue.expand import PlannedRun
from hooke.catalogue.offers import Catalogue, here
from hooke.catalogue.validation import validate_experiment
from hooke.catalogue.workload import Workload, offered
from hooke.comparison.figures import FAILED, FINISHED
from hooke.comparison.trials import known
from hooke.errors import ArgumentError, LaunchError
from hooke.hardware.description import usable_cores
from hooke.notebook import arguments
from hooke.notebook.first_batch import train_size
from hooke.notebook.needed import needed
from hooke.notebook.network import Network, network_of
from hooke.notebook.progress import Callback, Meter
from hooke.notebook.result import Comparison, RunFolders
from hooke.notebook.running import ComparedRun, execute, not_started
from hooke.notebook.searches import searches_of
from hooke.notebook.values import plain, real, whole
from hooke.objective.calibrate import calibrated
from hooke.objective.given_workload import Given, workload_of
from hooke.spec.specification import ExperimentSpec
from hooke.spec.tuning import Sampler
from hooke.tuning.plan import Plan

PASSES = 30
"""Default budget: passes over the training part."""
EVALUATIONS = 50
"""Default number of evaluations in the budget."""


def compare(  # noqa: PLR0913 - one parameter per choice of a user, all named
    methods: Mapping[str, Mapping[str, Any]] | Sequence[str],
    *,
    model: Callable[[], Any] | None = None,
    train: Any = None,
    test: Any = None,
    validation: Any = None,
    loss: Callable[[Any, Any], Any] | None = None,
    score: Callable[[Any, Any], float] | None = None,
    workload: str | Mapping[str, Any] | None = None,
    target: float | None = None,
    metric: Literal["accuracy", "loss"] = "accuracy",
    baseline: str | None = None,
    workers: int | Sequence[Mapping[str, Any]] = 4,
    seeds: int = 5,
    first_seed: int = 0,
    trials: int | None = None,
    tuning_seeds: int | None = None,
    trial_samples: int | None = None,
    search: Literal["quasi-random", "halving", "optuna"] | None = None,
    sampler: Sampler | None = None,
    network: Network | str | None = None,
    world: Literal["virtual", "mpi"] = "virtual",
    batch: int = 32,
    samples: int | None = None,
    evaluate_every: int | None = None,
    sharding: Literal["iid", "disjoint", "dispatched"] = "iid",
    seconds_per_sample: float | None = None,
    communication: Mapping[str, Any] | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    precision: Literal["fp32", "bf16"] = "fp32",
    name: str = "notebook",
    progress: bool | Callback = True,
) -> Comparison:
    """Train `model` by every method, and return which reaches the target first, with intervals.

    `methods`: name -> settings, or a list of names. The name is that of an algorithm, or any other with the
    setting `algorithm`; settings are the algorithm's parameters, and `communication`, `search`, `sweep` and
    `workload_settings` as in an experiment. `model()` returns a new nn.Module. `train`, `test`, `validation`:
    (inputs, labels) as arrays or tensors, or a map-style data set; without `validation` one training item in ten
    is held out. `loss(output, labels)`: mean over a batch; None: cross-entropy. `score(output, labels)`: share
    that is right; None: that of the largest output. `workload`: the name of one of the catalogue, or {"name": ...}
    with its parameters, instead of model and data.

    `target`: value of `metric` on the validation part at which a run ends. `baseline`: the method that the others
    are compared with; None: the first. `workers`: their number, or kinds of workers that differ, as in an
    experiment: [{"kind": "cpu", "count": 3}, {"kind": "cpu", "speed": 0.25}]. `seeds`: runs per method.
    `trials`: settings tried per method, each with `tuning_seeds` runs (1) that are not reported, of
    `trial_samples` (`samples`); None: settings as given. `sampler`: of the search "optuna"; None: "tpe".
    `network`: see `Network`; None: 10 Gb/s Ethernet. `world`: "virtual" time in this process, or "mpi", real
    processes. `samples`: budget of a run, gradients x batch over all workers; None: 30 passes. `evaluate_every`:
    samples between evaluations; None: a fiftieth of the budget. `seconds_per_sample`: simulated time of forward
    and backward; None: measured on this machine. `communication`: settings for all methods, such as
    {"wire": "bf16"}. `name`: of the workload in the specification. `progress`: True, False, or a function of
    `Progress`.

    Ctrl-C ends the present run and returns what is done so far; an error of `progress` has it as its attribute
    `comparison`. Raises ArgumentError, which names the argument, and LaunchError if a run fails otherwise than by
    divergence before any other has succeeded.
    """
    needed("scipy.stats", "hooke.compare")
    on, seeds = arguments.workers_of(workers), whole("seeds", seeds)
    first_seed, batch = whole("first_seed", first_seed), whole("batch", batch)
    variants = arguments.variants(methods, communication)
    if not isinstance(name, str):
        raise ArgumentError(f'`name` is a text, such as "my-net", not {name!r}')
    labels = [variant["name"] for variant in variants]
    given = _given(Given(model, train, test, validation, loss, score), workload, name)
    document: dict[str, Any] = {
        "name": name,
        "workload": {"name": name} if given else _named(workload),
        "batch": batch,
        "sharding": sharding,
        "variants": variants,
        "baseline": labels[0] if baseline is None else baseline,
        "first_seed": first_seed,
        "target": arguments.target_of(target, metric),
        "compute": {"device": device, "precision": precision},
    }
    meter = Meter(progress)
    document |= arguments.tuning(trials, tuning_seeds, search, trial_samples, sampler)
    if world == "mpi":
        simulated = {"network": network, "seconds_per_sample": seconds_per_sample}
        arguments.unused(simulated, 'with world="mpi", whose times are real')
    else:
        arguments.check_devices(on, seconds_per_sample)
    links = network_of(network)
    offering = offered(given) if given else nullcontext()
    with _same_threads(), arguments.named(labels, world, given is None), offering:
        budget = None if samples is None else whole("samples", samples)
        every = None if evaluate_every is None else whole("evaluate_every", evaluate_every)
        limits = _Limits(budget, every, real("seconds_per_sample", seconds_per_sample, "2e-5"))
        where = arguments.Where(world, links, on, seeds, given is None)
        spec = _completed(document, where, limits)
        with arguments.named(_methods(spec), world, given is None):
            return _played(Plan(spec, *_here()), given, meter)


@dataclass(frozen=True)
class _Limits:
    """Choices that have a default which depends on the data or on this machine."""

    samples: int | None
    evaluate_every: int | None
    seconds_per_sample: float | None


def _here() -> tuple[dict[str, int], dict[str, Catalogue]]:
    return {"local": usable_cores()}, {"local": here()}


def _methods(spec: ExperimentSpec) -> list[str]:
    """Return the names of the methods: of a sweep, one for each value."""
    return [variant.name for variant in spec.variants]


def _completed(document: dict[str, Any], where: arguments.Where, limits: _Limits) -> ExperimentSpec:
    """Return the experiment with all defaults; other faults are found before anything is measured."""
    samples, every = limits.samples, limits.evaluate_every
    given = limits.seconds_per_sample, None
    draft = document | {
        "clusters": [where.cluster(1e-6 if given[0] is None else given[0], None)],
        "budget": {"samples": 1 if samples is None else samples},
        "evaluation": {"every": every or samples or 1},
    }
    cores, offers = _here()
    spec = validate_experiment(draft, offers)
    with arguments.named(_methods(spec), where.world, where.workload):
        first = Plan(spec, cores, offers).first().runs[0].spec
    size = train_size(first)
    samples = PASSES * size if samples is None else samples
    if every is None:
        of_all = first.batch * where.count
        every = -(-samples // (EVALUATIONS * of_all)) * of_all
    final = draft | {"budget": {"samples": samples}, "evaluation": {"every": every}}
    if first.virtual is not None and limits.seconds_per_sample is None:
        measured = calibrated(first).virtual
        assert measured is not None  # noqa: S101 - for the type checker: it was there before
        final["clusters"] = [where.cluster(measured.compute_seconds_per_sample, measured.compute_source)]
    return validate_experiment(final, offers)


def _played(plan: Plan, given: type[Workload] | None, meter: Meter) -> Comparison:
    """Run all steps of a plan; after Ctrl-C, what was done before it. Another error has that as `comparison`."""
    folder = RunFolders()
    runs: list[ComparedRun] = []
    planned = interrupted = False
    notes: list[str] = []

    def done() -> Comparison:
        told, searches = tuple(dict.fromkeys(notes)), searches_of(plan, runs)
        return Comparison(plan.begun, tuple(runs), planned, interrupted, told, folder, searches)

    try:
        while not (planned or interrupted):
            trials = [run.figures for run in runs if run.figures.rung is not None]
            made = [run.figures for run in runs if run.figures.rung is None]
            reported = {(run.variant, run.cluster, run.workers, run.seed) for run in made}
            step = plan.following(known(plan.spec, trials), frozenset(reported))
            notes += arguments.warnings_of(plan.spec, step.runs)
            planned = step.complete
            interrupted = _play(step.runs, folder.path, given, meter, runs)
    except KeyboardInterrupt:  # while a step was planned
        if not runs:
            raise
        interrupted = True
    except Exception as error:
        if any(run.figures.state in FINISHED for run in runs):
            error.comparison = done()  # type: ignore[attr-defined]
            error.add_note("The runs that had ended before are in the attribute `comparison` of this error.")
        raise
    finally:
        meter.close()
    return done()


def _play(
    planned: Sequence[PlannedRun], root: Path, given: type[Workload] | None, meter: Meter, runs: list[ComparedRun]
) -> bool:
    """Run one step, and return whether it was interrupted; runs that have not ended are added as not started."""
    meter.planned(len(planned))
    before, interrupted = len(runs), False
    try:
        for each in planned:
            meter.begin(each)
            folder = root / f"{len(runs) + 1:03}-{re.sub('[^a-z0-9.]+', '-', each.variant.lower())}-{each.seed}"
            run, interrupted = execute(each, folder, given, meter.look)
            runs.append(run)
            meter.end(run)
            if interrupted:
                break
            shown = any(done.figures.state in FINISHED or done.figures.diverged for done in runs)
            if run.figures.state in FAILED and not shown:
                raise LaunchError(f"the first run failed ({each.variant}, seed {each.seed}): {run.why}")
    except KeyboardInterrupt:
        interrupted = True
    finally:
        runs += [not_started(later) for later in planned[len(runs) - before :]]
    return interrupted


def _given(given: Given, workload: object, name: str) -> type[Workload] | None:
    """Return the workload of model and data; None if one of the catalogue is named instead."""
    lacking = [each for each in ("model", "train", "test") if getattr(given, each) is None]
    if workload is not None:
        if len(lacking) < 3:
            raise ArgumentError("give `workload`, or `model`, `train` and `test`, not both")
        own = {each: getattr(given, each) for each in ("validation", "loss", "score")}
        arguments.unused(own, "with `workload`, which has its own")
        return None
    if lacking:
        names = ", ".join(f"`{each}`" for each in lacking)
        raise ArgumentError(
            f"{names} is missing: give `model`, `train` and `test`, or a `workload` of the catalogue"
        )
    from torch.nn import Module

    if isinstance(given.model, Module) or not callable(given.model):
        raise ArgumentError(
            "`model` is a function that returns a new nn.Module, since every worker needs one of its own: "
            f"write `model=lambda: Net(...)`, not {type(given.model).__name__}"
        )
    return workload_of(given, name)


def _named(workload: object) -> dict[str, Any]:
    if isinstance(workload, str):
        return {"name": workload}
    if not isinstance(workload, Mapping) or "name" not in workload:
        raise ArgumentError(
            f'`workload` is a name, or a mapping such as {{"name": "digits-mlp", "hidden1": 64}}, not {workload!r}'
        )
    given = {key: plain(value) for key, value in workload.items() if key != "name"}
    return {"name": workload["name"], "parameters": given}


@contextmanager
def _same_threads() -> Iterator[None]:
    """Restore PyTorch's number of threads, which objectives set, for the program of the caller."""
    import torch

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
