"""A workload that is given as objects of this process: a function that makes the model, and the data themselves.

It trains as a user's file with the same functions would (`own_workload`): same split, same initial weights, same
loss.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hooke.catalogue.workload import ALONE, Place, Workload

if TYPE_CHECKING:
    from hooke.objective.flat import FlatObjective
    from hooke.objective.given import Parts


@dataclass(frozen=True, eq=False)
class Given:
    """What a user gives: `model()` returns a new nn.Module; parts as in `hooke.objective.given.source`."""

    model: Any
    """A function without arguments."""
    train: Any
    test: Any
    validation: Any = None
    """None: split off the training part by the rule of `hooke.objective.parts`."""
    loss: Callable[[Any, Any], Any] | None = None
    """`loss(output, labels)`, the mean over a batch; None: cross-entropy."""
    score: Callable[[Any, Any], float] | None = None
    """`score(output, labels)`, the share of a batch that is right; None: of integer labels, the largest output."""

    @functools.cached_property
    def parts(self) -> Parts:
        """Return the parts of the data set, shared by all ranks. Raises DataInvalid, which names the argument."""
        from hooke.objective.given import check_size, source

        train, test = source(_readable(self.train), "train"), source(_readable(self.test), "test")
        validation = None if self.validation is None else source(_readable(self.validation), "validation")
        check_size(train, validation, "train", "give `validation`, a part of its own")
        return train, validation, test


class GivenWorkload(Workload):
    """Base class of the workloads made by `workload_of`."""

    name: ClassVar[str] = ""
    given: ClassVar[Given]

    @classmethod
    def id(cls) -> str:
        """Return the name of the workload."""
        return cls.name

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Make the model for one rank. Raises DataInvalid if an argument is not of the required form."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.given import checked_model
        from hooke.objective.task import cross_entropy, custom

        given = self.given
        train, validation, test = given.parts
        return FlatObjective(
            lambda: checked_model(given.model(), "model()"),
            train,
            test,
            validation=validation,
            task=custom(given.loss or cross_entropy, given.score),
            initialise="own",
            place=place,
        )


def workload_of(given: Given, name: str) -> type[GivenWorkload]:
    """Return the workload called `name` of what a user gives."""

    class Made(GivenWorkload):
        """Model and data of a program."""

    Made.name, Made.given = name, given
    return Made


class _OneAtATime:
    """A map-style data set that all ranks of a process read, one item at a time."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._lock = dataset, threading.Lock()

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        with self._lock:
            return self._dataset[index]

    def __reduce__(self) -> tuple[Any, ...]:
        return _OneAtATime, (self._dataset,)


def _readable(part: Any) -> Any:
    """Return a data set as one that several threads may read, anything else unchanged."""
    kind = type(part)
    is_data_set = hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not hasattr(kind, "__array__")
    return _OneAtATime(part) if is_data_set and not isinstance(part, tuple | list | str | dict) else part
