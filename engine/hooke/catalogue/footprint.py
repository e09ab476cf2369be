"""Memory of a run before it starts, predicted from sizes that are known without building anything.

    process = PROGRAM + data + kept + 4 |W| vectors + 8 batch activations,   vectors = 4 + method + step + wire

of every rank in the real world. In virtual time all ranks share one process, with one program and one copy of the
data. The four vectors are weights, gradient, the gradient as automatic differentiation makes it, and one that the
communicator sends or receives. `method` is what `HELD` says, `step` what optimizer and momentum keep, `wire` what
a wire type keeps for error feedback (`kept`). Activations count twice: with their gradients.

It is an estimate of resident memory: what libraries share among processes counts in each, and what the allocator
keeps after a peak is left out. A test compares it with a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hooke.catalogue.discovery import built_in
from hooke.catalogue.kept import kept
from hooke.catalogue.workload import Sizes, Workload
from hooke.spec.specification import RunSpec

PROGRAM = 300 * 2**20
"""Resident memory of a rank with Python, PyTorch and MPI, before data and model, bytes."""
ELEMENT = 4
"""Bytes of an element of a vector, and of an activation."""
EVERY_RANK = 4
"""Vectors of a worker without those of its method: weights, gradient twice, and a message."""
EVERY_SERVER = 2
"""Those of a server: the center, and a message."""


class Held(NamedTuple):
    """Vectors that the ranks of a method hold beside weights and gradient, with its default parameters."""

    worker: int
    server: int = 0
    per_worker: int = 0
    """More on a server, for each worker."""


WINDOW = 5
"""Vectors of a rank for a shared center: its start and the sum of pushes, both in float64, and the window."""
UNKNOWN = Held(6, 2)
"""Assumed of a method that is not in the table: more than most hold."""
HELD: Mapping[str, Held] = {
    "adaptive-sgd": Held(1, 3, 1),
    "async-easgd": Held(1, 1),
    "async-measgd": Held(1, 1),
    "async-msgd": Held(1, 2),
    "async-sgd": Held(2, 1),
    "chip-easgd": Held(2),
    "co2": Held(4),
    "delayed-gradient-averaging": Held(5),
    "demo": Held(2),
    "diloco": Held(3),
    "downpour": Held(2, 1),
    "eamsgd": Held(1, 1),
    "easgd": Held(1, 1),
    "elastic-slowmo": Held(4),
    "heterogeneous-easgd": Held(1, 2),
    "hogbatch": Held(2, 2),
    "hogwild-easgd": Held(3),
    "hogwild-sgd": Held(2),
    "local-sgd": Held(1),
    "mdownpour": Held(0, 3),
    "noloco": Held(5),
    "onebit-adam": Held(5),
    "original-easgd": Held(1, 1),
    "overlap-local-sgd": Held(3),
    "pipe-sgd": Held(2),
    "post-local-sgd": Held(1),
    "powersgd": Held(3),
    "sgd": Held(0),
    "slowmo": Held(3),
    "sma": Held(4),
    "sparseloco": Held(3),
    "sparta": Held(2),
    "stochastic-gradient-push": Held(4),
    "streaming-diloco": Held(3),
    "sync-easgd": Held(2),
    "sync-easgd1": Held(2, 2),
    "sync-easgd2": Held(2),
    "sync-easgd3": Held(2),
    "sync-sgd": Held(0),
    "weighted-sync-sgd": Held(1),
}
"""Method -> its vectors, as a test counts them in a run."""
LATE = {"delayed-gradient-averaging": 2, "pipe-sgd": 1}
"""Method -> vectors that it holds more for each step of delay beyond the first."""


class Needs(NamedTuple):
    """Memory of one worker without program and data, bytes."""

    vectors: int
    kept: int
    """What it keeps beside vectors, such as hash tables."""
    sample: int
    """Activations of a sample and their gradients."""


@dataclass(frozen=True)
class Footprint:
    """Predicted memory of one run on all of its ranks together, bytes."""

    processes: int
    program: int
    data: int
    """Data sets, and what workers keep beside vectors."""
    vectors: int
    activations: int
    assumed: tuple[str, ...]
    """What the prediction assumes about data or method, beside its formula."""

    @property
    def total(self) -> int:
        """Return the sum."""
        return self.program + self.data + self.vectors + self.activations


def footprint(spec: RunSpec, servers: int) -> Footprint | None:
    """Return the predicted memory of a run; None: nobody knows the sizes of its workload before it is built."""
    sizes, worker = sizes_of(spec), of_worker(spec)
    if sizes is None or worker is None:
        return None
    known = _known(spec)
    held = HELD[spec.algorithm.name] if known else UNKNOWN
    processes = 1 if spec.world == "virtual" else spec.workers + servers
    server = EVERY_SERVER + held.server + held.per_worker * spec.workers + _of_wire(spec)[1]
    told = [sizes.assumed, "" if known else f"{spec.algorithm.name} holds {UNKNOWN.worker} vectors"]
    return Footprint(
        processes=processes,
        program=processes * PROGRAM,
        data=processes * sizes.data + spec.workers * worker.kept,
        vectors=spec.workers * worker.vectors + servers * server * sizes.weights * ELEMENT,
        activations=spec.workers * spec.batch * worker.sample,
        assumed=tuple(filter(None, told)),
    )


def of_worker(spec: RunSpec) -> Needs | None:
    """Return what a worker needs beside program and data; None: nobody knows before its workload is built."""
    sizes = sizes_of(spec)
    if sizes is None:
        return None
    held, parameters, more = UNKNOWN, spec.algorithm.parameters, 0
    if _known(spec):
        held, kind = HELD[spec.algorithm.name], built_in("algorithm")[spec.algorithm.name].cls
        parameters = kind.model_validate(parameters).model_dump()  # with its defaults
        more = WINDOW if kind.coordination == "lock-free" else 0
        more += LATE.get(spec.algorithm.name, 0) * (parameters.get("delay", 1) - 1)
    vectors = EVERY_RANK + held.worker + more + of_step(parameters) + _of_wire(spec)[0]
    return Needs(vectors * sizes.weights * ELEMENT, sizes.kept, 2 * ELEMENT * sizes.activations)


def _of_wire(spec: RunSpec) -> tuple[int, int]:
    """Return the vectors that the wire keeps on a worker and on a server; the delay is the given one, or 1."""
    name, parameters = spec.algorithm.name, spec.algorithm.parameters
    alone = spec.workers == 1 and not (_known(spec) and built_in("algorithm")[name].cls.servers)
    return (0, 0) if alone else kept(name, spec.communication, spec.workers, parameters.get("delay", 1))


def _known(spec: RunSpec) -> bool:
    return spec.algorithm.hash is None and spec.algorithm.name in HELD


def sizes_of(spec: RunSpec) -> Sizes | None:
    """Return the sizes of a built-in workload with the parameters of a run; None: of another one."""
    item = built_in("workload").get(spec.workload.name)
    if item is None or spec.workload.hash is not None:
        return None
    workload: Workload = item.cls.model_validate({**spec.workload.parameters, **spec.workload_settings})
    return workload.memory_sizes()


def of_step(parameters: Mapping[str, Any]) -> int:
    """Return the vectors that optimizer, momentum and accumulation keep; 0 for plain steps.

    A method without `optimizer` takes its step itself, and shrinks the weights in place.
    """
    optimizer = parameters.get("optimizer", "sgd")
    own = {"sgd": 0, "row-adagrad": 1, "lazy-adam": 2}.get(optimizer, 3)
    if optimizer == "sgd":
        momentum = bool(parameters.get("momentum"))
        looks = parameters.get("momentum_kind") == "nesterov" or parameters.get("predict") == "momentum"
        ahead = momentum and looks
        own = momentum + ahead + bool("optimizer" in parameters and parameters.get("weight_decay"))
    return int(own + (parameters.get("accumulation", 1) > 1))
