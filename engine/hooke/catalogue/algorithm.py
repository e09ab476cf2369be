"""What an algorithm is, and the catalogue of all of them.

An algorithm is a frozen value (its hyper-parameters, validated) with one method, `run(rank)`, that every
rank of a run executes. One published method is one file in `hooke/algorithms/`; the catalogue finds it by
walking that package, so there is nothing to register. The module and the package are torch-free and
MPI-free when imported: vectors reach an algorithm through its `Rank`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from hooke.catalogue.claims import Coordination, Exchange, Limit
from hooke.catalogue.parametrized import Parametrized
from hooke.catalogue.rank import Rank
from hooke.errors import NotFound
from hooke.spec.specification import RunSpec


class Algorithm(Parametrized):
    """One method with its hyper-parameters; subclasses add fields and `run`.

    The class docstring is the documentation that users read: title line, equations, who sends what when,
    cost in the alpha-beta model, reference. Every field carries `title` and `description`: they are the form.
    """

    servers: ClassVar[int] = 0
    """Ranks that hold the center and compute no gradient: 0 or 1."""
    coordination: ClassVar[Coordination] = "synchronous"
    """Who tells a worker to go on: all ranks step alike, a server grants steps, or each takes its next steps
    from a common counter and meets the others only for evaluations (Hogwild)."""
    may_drop: ClassVar[bool] = False
    """The method goes on without a worker whose numbers went bad (`on_bad_worker: drop`)."""
    max_workers: ClassVar[int | None] = None
    """A sequential method runs on one worker, whatever the experiment asks."""
    accesses: ClassVar[int] = 3
    """Vector reads and writes of a worker's step, each operation on whole vectors in memory: prices its arithmetic
    in virtual time."""
    server_accesses: ClassVar[int] = 3
    """The same for one request on a server."""
    deterministic: ClassVar[bool] = True
    """Same seed, workers and collective give bitwise equal weights."""

    family: ClassVar[str] = "Other"
    """The heading under which the method is listed."""
    period_field: ClassVar[str | None] = None
    """The parameter that says how many local steps lie between two exchanges of a worker; None: one step."""

    # Claims about `run`: see `hooke.catalogue.claims`.
    reference: ClassVar[str | None] = None
    """Where its equations are, in float64 NumPy and apart from this code: `module.function` in
    `tests/engine/reference/methods`."""
    exchange: ClassVar[Exchange | None] = None
    """What it moves at each step."""
    limits: ClassVar[Sequence[Limit]] = ()
    """Where it equals another method."""
    conserves: ClassVar[Literal["weights", "weights and center"] | None] = None
    """The sum that exchanges keep, without momentum: of all workers' weights, or of these and the center."""
    tested_with: ClassVar[Mapping[str, Any]] = {}
    """Parameters for runs of a dozen steps, where the defaults do not suit."""
    tested_together: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Options that mean something only together; any other option is tested alone."""

    def faults(self, workers: int) -> list[str]:
        """Return why these parameters cannot run on that many workers; empty: they can."""
        del workers
        return []

    def warnings(self, workers: int) -> list[str]:
        """Return what a user should know before running this on that many workers: a stability bound, say."""
        del workers
        return []

    def exchange_period(self) -> int:
        """Return the number of local steps from one exchange of a worker to the next, at most."""
        return 1 if self.period_field is None else max(1, int(getattr(self, self.period_field)))

    def notes(self, workers: int) -> dict[str, str]:
        """Return what the journal's first record should say of these parameters: a moving rate, say."""
        del workers
        return {}

    def remarks(self, workers: int) -> list[str]:
        """Return what the page of all methods says of these parameters on that many workers: a bound, say."""
        del workers
        return []

    def vector_accesses(self, server: bool) -> int:
        """Return the vector reads and writes of one step (or of one request, on a server)."""
        return self.server_accesses if server else self.accesses

    def run(self, r: Rank) -> None:
        """Train on this rank until `r.steps()` (or `r.requests()` on the server) ends."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it runs")


@functools.cache
def catalogue() -> dict[str, type[Algorithm]]:
    """Return every algorithm that can be run here, by id, in alphabetical order: see `discovery.py`."""
    from hooke.catalogue.discovery import found

    return {name: item.cls for name, item in found("algorithm").items.items()}


def algorithm(name: str) -> type[Algorithm]:
    """Return the algorithm called `name`, or raise NotFound that lists the known ones."""
    known = catalogue()
    if name not in known:
        raise NotFound(f"no algorithm is called {name!r}; there are: {', '.join(known)}")
    return known[name]


def servers_of(spec: RunSpec) -> int:
    """Return how many ranks of a run only hold the center; raises NotFound as `algorithm` does."""
    return algorithm(spec.algorithm.name).servers


def ranks_of(spec: RunSpec) -> int:
    """Return the number of MPI processes of a run: workers are ranks 0..P-1, the server is rank P."""
    return spec.workers + servers_of(spec)
