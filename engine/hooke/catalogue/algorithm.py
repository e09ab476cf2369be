"""The base class of algorithms, and the catalogue of all algorithms.

An algorithm is a frozen value (its validated hyper-parameters) with a method `run(rank)`, which every rank of a
run executes. Each published method is one file in `hooke/algorithms/`; the catalogue walks that package, so there
is no registration. Neither this module nor that package imports torch or MPI: an algorithm gets its vectors from
its `Rank`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from hooke.catalogue.claims import Coordination, Exchange, Limit
from hooke.catalogue.parametrized import Parametrized
from hooke.catalogue.rank import Rank
from hooke.comm.base import Content
from hooke.errors import NotFound
from hooke.spec.spaces import Space
from hooke.spec.specification import RunSpec


class Algorithm(Parametrized):
    """One method with its hyper-parameters; subclasses add fields and `run`.

    The class docstring is the documentation for users: title line, equations, the messages of a step, their cost
    in the alpha-beta model, reference. Every field has `title` and `description`, which the form shows.
    """

    servers: ClassVar[int] = 0
    """Ranks that hold the center and compute no gradient: 0 or 1."""
    coordination: ClassVar[Coordination] = "synchronous"
    """What lets a worker take its next step: all ranks step together (synchronous), a server grants steps, or each
    worker takes steps from a shared counter and waits for others only in meetings (lock-free)."""
    may_drop: ClassVar[bool] = False
    """Whether the method can continue without a worker that holds NaN or Inf (`on_bad_worker: drop`)."""
    grants_updates: ClassVar[bool] = False
    """Whether a reply may grant several updates of a worker, so that its rows say where each begins."""
    encodes_itself: ClassVar[bool] = False
    """Whether it encodes its messages, so that a wire type changes nothing."""
    compressible: ClassVar[bool] = True
    """Whether the wire types sign and top-k can be used: not if messages hold weights that continue no earlier
    message, such as other elements each time."""
    takes_threads: ClassVar[bool] = True
    """Whether a worker may have threads that step along their sub-batches at the rate `lr` (`hogwild-cpu`): not if
    `lr` is no rate of plain steps, because the change of the weights over `lr` is then no gradient."""
    takes_bf16_weights: ClassVar[bool] = False
    """Whether weights may be bfloat16, which only local steps round at random: not if it changes them in other
    ways, too."""
    max_workers: ClassVar[int | None] = None
    """Largest number of workers; 1 for a sequential method, even if the experiment asks for more."""
    accesses: ClassVar[int | tuple[int, int]] = 3
    """Vector reads and writes of a worker's step, or (of every step, of an exchange), if every operation works on
    whole vectors in memory. They determine the time of its arithmetic in virtual time."""
    server_accesses: ClassVar[int] = 3
    """Vector reads and writes of one request on a server."""
    deterministic: ClassVar[bool] = True
    """Whether the same seed, workers and collective give bitwise equal weights."""

    pushes: ClassVar[Content] = "weights"
    """What workers send to a server: weights, or updates, which it adds. For compressed wires."""

    family: ClassVar[str] = "Other"
    """The heading under which the method is listed."""
    period_field: ClassVar[str | None] = None
    """The parameter with the number of local steps per exchange of a worker; None: one step."""
    updates_field: ClassVar[str | None] = None
    """The parameter, of type `Updates`, with how workers add to a shared center; None: there is no such choice."""

    search: ClassVar[Mapping[str, Space | None]] = {}
    """Parameter -> the values that tuning tries; a class adds to those of its bases, and None removes one."""

    # Claims about `run`: see `hooke.catalogue.claims`.
    reference: ClassVar[str | None] = None
    """Independent implementation of its equations in float64 NumPy: `module.function` in
    `tests/engine/reference/methods`, or below a folder of HOOKE_PATH."""
    exchange: ClassVar[Exchange | None] = None
    """The transfers of each step."""
    limits: ClassVar[Sequence[Limit]] = ()
    """Parameters at which it equals another method."""
    conserves: ClassVar[Literal["weights", "weights and center"] | None] = None
    """The sum that exchanges conserve, without momentum: of all workers' weights, or of these and the center."""
    tested_with: ClassVar[Mapping[str, Any]] = {}
    """Parameters for test runs of a dozen steps, if the defaults are not suitable."""
    tested_together: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Combinations of options that have an effect only together; all other options are tested one at a time."""

    @classmethod
    def spaces(cls) -> dict[str, Space]:
        """Return the search space of each parameter that has one: those of this class and of its bases."""
        declared = [vars(each)["search"] for each in reversed(cls.__mro__) if "search" in vars(each)]
        merged = {name: space for each in declared for name, space in each.items()}
        return {name: space for name, space in merged.items() if space is not None}

    def faults(self, workers: int) -> list[str]:
        """Return the reasons why these parameters cannot run on that many workers; empty if they can."""
        del workers
        return []

    def warnings(self, workers: int) -> list[str]:
        """Return warnings for a run with these parameters on that many workers, such as a stability bound."""
        del workers
        return []

    def exchange_period(self) -> int:
        """Return the largest number of local steps from one exchange of a worker to the next."""
        return 1 if self.period_field is None else max(1, int(getattr(self, self.period_field)))

    def first_period(self) -> int:
        """Return the number of local steps before a worker's first exchange."""
        return self.exchange_period()

    def gradients_per_step(self) -> int:
        """Return the number of gradients, each of one batch, that a worker averages for one step."""
        return 1

    def batches_of(self, worker: int, workers: int) -> int:
        """Return a worker's batches of a step; their mean over all workers is `gradients_per_step`."""
        del worker, workers
        return self.gradients_per_step()

    def joined(self, worker: int, workers: int) -> tuple[int, int]:
        """Return the least and the most batches that a worker computes as a single one, in memory at once."""
        del worker, workers
        return 1, 1

    def fitting(self, most: Sequence[int]) -> Self:
        """Return the method with at most so many batches of each worker as a single one (`capacity.py`)."""
        del most
        return self

    def unmeasured(self) -> int:
        """Return the mean batches of a step of which the workers' parts are to be measured; 0: none are."""
        return 0

    def measured(self, sizes: Sequence[int]) -> Self:
        """Return the method with the batches of each worker's step, which were measured (`hooke.loop.split`)."""
        raise NotImplementedError(f"{type(self).__name__} has no sizes that are measured, such as {sizes}")

    def notes(self, workers: int) -> dict[str, str]:
        """Return notes on these parameters for the journal's first record, such as the moving rate."""
        del workers
        return {}

    def overwrites(self) -> bool:
        """Return whether a server may undo updates of others, of which it then gives an account: `report_lost`."""
        return False

    def remarks(self, workers: int) -> list[str]:
        """Return remarks on these parameters and that many workers for docs/algorithms.md, such as a bound."""
        del workers
        return []

    def vector_accesses(self, server: bool) -> float:
        """Return the vector reads and writes of one step, mean over a period (or of one request, on a server)."""
        if server:
            return self.server_accesses
        step, exchange = self.accesses if isinstance(self.accesses, tuple) else (self.accesses, 0)
        return step + exchange / self.exchange_period()

    def step_accesses(self) -> float:
        """Return those of `vector_accesses` that are of the rows of a gradient alone, where it has some."""
        return 0

    def run(self, r: Rank) -> None:
        """Train on this rank until `r.steps()` (or `r.requests()` on the server) ends."""
        raise NotImplementedError(f"{type(self).__name__} does not define `run`")


@functools.cache
def catalogue() -> dict[str, type[Algorithm]]:
    """Return all algorithms that can be run here, by id, in alphabetical order: see `discovery.py`."""
    from hooke.catalogue.discovery import found

    return {name: item.cls for name, item in found("algorithm").items.items()}


def algorithm(name: str) -> type[Algorithm]:
    """Return the algorithm called `name`. Raises NotFound, with the known names."""
    known = catalogue()
    if name not in known:
        raise NotFound(f"no algorithm is called {name!r}; there are: {', '.join(known)}")
    return known[name]


def servers_of(spec: RunSpec) -> int:
    """Return the number of servers of a run, 0 or 1. Raises NotFound as `algorithm` does."""
    return algorithm(spec.algorithm.name).servers


def slots_of(spec: RunSpec) -> int:
    """Return the cores that a run uses: one of each rank, or as many as its threads."""
    return spec.worker_slots + servers_of(spec)


def ranks_of(spec: RunSpec) -> int:
    """Return the number of MPI processes of a run: workers are ranks 0..P-1, the server is rank P."""
    return spec.workers + servers_of(spec)
