"""Claims: what a class declares of its `run` for the contract suite to verify.

A claim refers to the code of one `run`: a class that defines `run` inherits no claims (see `claimed`). The
contract suite skips a property without a claim, with a message, and docs/algorithms.md lists it as not verified.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import ValidationError

if TYPE_CHECKING:  # parameters of algorithms must be readable without NumPy
    from hooke.comm.base import Slice

Operation = Literal["all-reduce", "all-gather", "broadcast", "reduce", "message", "read", "add"]
Coordination = Literal["synchronous", "parameter-server", "lock-free"]
"""What lets a worker go on."""
Hiding = Literal["nothing", "gradient", "period"]
Behind = Hiding | int
"""What hides a transfer: nothing, the gradient of its step, all steps until the next exchange, or that many steps
after its own."""
Begins = Literal["before", "after"]


@dataclass(frozen=True)
class Step:
    """One local step, counted from 0: of all workers together (synchronous) or of one worker (otherwise)."""

    t: int
    workers: int
    layout: tuple[Slice, ...]
    seed: int
    """Seed of the run."""

    @property
    def elements(self) -> int:
        """Return |W|, the length of every vector."""
        return self.layout[-1].stop


@dataclass(frozen=True)
class Transfer:
    """One operation on vectors of `elements` float32 values among `ranks` ranks, in `groups` disjoint groups.

    In an all-gather they are those of each rank's block, in words of 4 bytes.

    Raises ValueError for an operation, or a value of `behind` or `begins`, that does not exist.
    """

    operation: Operation
    elements: int
    ranks: int = 2
    groups: int = 1
    behind: Behind = "nothing"
    begins: Begins = "before"
    """Whether it begins before the gradient of its step or after the update of its step."""

    def __post_init__(self) -> None:
        for name, choices in (("operation", Operation), ("behind", Hiding), ("begins", Begins)):
            value, known = getattr(self, name), ", ".join(get_args(choices))
            steps = name == "behind" and isinstance(value, int) and not isinstance(value, bool) and value > 0
            if not steps and value not in get_args(choices):
                raise ValueError(f"a transfer has no `{name}` {value!r}; there are: {known}")


Transfers = Sequence[Transfer]
Exchange = Callable[[Any, Step], Transfers]
"""Function of a method and a step that returns the transfers of this step."""


def nothing(step: Step) -> Transfers:
    """Return no transfers."""
    del step
    return ()


def all_reduce(step: Step) -> Transfers:
    """Return one all-reduce of |W| among all workers."""
    return (Transfer("all-reduce", step.elements, step.workers),)


def swap(step: Step) -> Transfers:
    """Return one message to the server, and one back."""
    return (Transfer("message", step.elements), Transfer("message", step.elements))


def read_and_add(step: Step) -> Transfers:
    """Return one read of the shared vector, and one addition to it."""
    return (Transfer("read", step.elements), Transfer("add", step.elements))


def before_steps(
    transfers: Callable[[Step], Transfers], behind: Callable[[Any], Behind] | Behind = "nothing"
) -> Exchange:
    """Return the exchange of a method with these transfers before its steps 0, tau, 2 tau, ..."""

    def exchange(method: Any, step: Step) -> Transfers:
        if step.t % method.exchange_period():
            return ()
        hidden = behind(method) if callable(behind) else behind
        return [replace(each, behind=hidden) for each in transfers(step)]

    return exchange


def after_steps(
    transfers: Callable[[Step], Transfers], behind: Callable[[Any], Behind] | Behind = "nothing"
) -> Exchange:
    """Return the exchange of a method with these transfers after every tau-th step."""

    def exchange(method: Any, step: Step) -> Transfers:
        if (step.t + 1) % method.exchange_period():
            return ()
        hidden = behind(method) if callable(behind) else behind
        return [replace(each, behind=hidden, begins="after") for each in transfers(step)]

    return exchange


ANY = (1, 2, 3, 5)
"""Numbers of workers used to test a limit that holds for any number."""


@dataclass(frozen=True)
class Limit:
    """With parameters `given` the evaluated weights equal those of method `of` with parameters `other`.

    Learning rate, momentum and moving rate, if given on neither side, have the same arbitrary value on both.
    """

    of: str
    given: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    workers: tuple[int, ...] = (2, 3, 5)
    exact: bool = False
    """Bit by bit; otherwise up to the rounding of float32."""
    shows: Literal["P1", "P3", "P5", "P7", "P17"] = "P17"
    """The property that it verifies."""
    every_option: bool = False
    """It holds with any other options of the method, too."""
    equal_batches: bool = False
    """All workers draw the same batches, and `of` runs on one worker."""
    of_workers: bool = False
    """It refers to the weights of the workers, not to the evaluated weights."""

    def at(self, **given: Any) -> Limit:
        """Return the same limit with these parameters in addition."""
        return replace(self, given={**self.given, **given})


def one_worker(**given: Any) -> Limit:
    """Return the claim that a method on one worker equals sequential SGD, bit by bit."""
    return Limit("sgd", given, workers=(1,), exact=True, shows="P1")


def identical_workers(of: str) -> Limit:
    """Return the claim that several workers of a method with equal batches equal one worker of it."""
    return Limit(of, workers=(2, 4), shows="P5", equal_batches=True)


LENET = ((20, 1, 5, 5), (20,), (50, 20, 5, 5), (50,), (500, 800), (500,), (10, 500), (10,))
"""Shapes of the weights for `payload_per_step`: those of LeNet on MNIST."""
STEPS = 1000


@functools.cache
def payload_per_step(cls: Any, workers: int = 4) -> float | None:
    """Return the payload of a worker per local step, in vectors of all weights; None if no exchange is claimed.

    With the method's defaults (None if they cannot run), on LeNet, averaged over the first 1,000 steps.
    """
    exchange = claimed(cls, "exchange")
    workers = workers if cls.max_workers is None else cls.max_workers
    if exchange is None or (method := _with_defaults(cls)) is None or method.faults(workers):
        return None
    step = Step(0, workers, _layout(LENET), 0)
    asked = sum(_asked(each) for t in range(STEPS) for each in exchange(method, replace(step, t=t)))
    sharing = workers if cls.coordination == "synchronous" else 1
    return asked / step.elements / STEPS / sharing


def _with_defaults(cls: Any) -> Any:
    try:
        return cls()
    except ValidationError:  # a parameter without a default, or defaults that do not go together
        return None


def _asked(transfer: Transfer) -> int:
    """Return the payload of all its ranks together, in elements: see `hooke.comm.wrappers.timed`."""
    asking = {"all-reduce": transfer.ranks, "all-gather": transfer.ranks, "reduce": transfer.ranks - 1}
    alone = transfer.ranks == 1
    return 0 if alone else transfer.groups * transfer.elements * asking.get(transfer.operation, 1)


def _layout(shapes: Sequence[tuple[int, ...]]) -> tuple[Slice, ...]:
    from hooke.comm.base import Slice

    stops = list(itertools.accumulate(math.prod(shape) for shape in shapes))
    return tuple(
        Slice(str(k), stop - math.prod(shape), stop, shape)
        for k, (shape, stop) in enumerate(zip(shapes, stops, strict=True))
    )


def claimed(cls: type[Any], name: str) -> Any:
    """Return the claim with this name on the `run` that a class has, or None if there is no such claim."""
    for each in cls.__mro__:
        if name in vars(each):
            return vars(each)[name]
        if "run" in vars(each):
            return None
    return None
