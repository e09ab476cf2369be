"""The first batch of a comparison: what a user gives is tried before anything is measured or run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hooke.catalogue.workload import Place
from hooke.catalogue.workload import workload as find_workload
from hooke.errors import ArgumentError, HookeError
from hooke.objective.given_workload import GivenWorkload
from hooke.spec.specification import Part, RunSpec

HELD_OUT: tuple[Part, ...] = ("validation", "test")


def train_size(spec: RunSpec) -> int:
    """Return the number of training items, after model, data, loss and score have been tried on one batch.

    Raises ArgumentError or DataInvalid if they do not fit together.
    """
    from hooke.objective.flat import FlatObjective

    chosen = find_workload(spec.workload.name).model_validate(spec.workload_parameters)
    objective = chosen.build(Place(spec.compute, spec.seed, 0))
    with _failing("the first gradient failed, so that `model`, `train` and `loss` do not fit together"):
        objective.gradient(objective.pick(range(min(spec.batch, objective.train_size))))
    if isinstance(chosen, GivenWorkload) and isinstance(objective, FlatObjective):
        _check_accuracy(spec, chosen, str(objective.train.label_dtype).removeprefix("torch."))
        weights = objective.initial(spec.seed)  # makes a second model
        sizes = objective.validation_size, objective.test_size
        for part, size in zip(HELD_OUT, sizes, strict=True):
            with _failing(
                f"the first score of the {part} part failed: it, `model`, `loss` and `score` do not fit"
            ):
                objective.evaluate(weights, 0, min(spec.batch, size), part)
    return objective.train_size


def _check_accuracy(spec: RunSpec, workload: GivenWorkload, labels: str) -> None:
    """Raise ArgumentError for a target that no run can reach, since nothing counts as right."""
    wanted = spec.target is not None and spec.target.metric == "validation_accuracy"
    if wanted and workload.given.score is None and labels != "int64":
        raise ArgumentError(
            f"`score`: labels of type {labels} are not classes, so that no output counts as "
            'right: give `score`, or integer labels, or a `target` of the loss, metric="loss"'
        )


@contextmanager
def _failing(said: str) -> Iterator[None]:
    """Raise ArgumentError for an error of the user's functions, with what was done."""
    try:
        yield
    except HookeError:
        raise
    except Exception as error:
        raise ArgumentError(f"{said}: {type(error).__name__}: {error}") from error
