"""The entries: methods of the catalogue and peers, each with the space in which its settings are searched.

Every entry gets the same number of trials. A peer's space covers what its library offers (`peer_spaces`):
accumulation of DDP (less where batches are searched), which is an entry for each of its communication hooks;
period and warm-up of post-local SGD. Some methods of the catalogue are entered again, with DDP's accumulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from hooke.catalogue.algorithm import Algorithm, algorithm
from hooke.catalogue.discovery import built_in
from hooke.catalogue.offers import AlgorithmOffer, ClassAlgorithmOffer, here
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant
from hooke.tuning.settings import free_spaces, settings
from pydantic import Field

from benchmarks.tuned.conditions import AT, BATCH, Place, Task
from benchmarks.tuned.peer_spaces import ACCUMULATION, ADAMW, ADAMW_SPACES, PEERS

NARROW = {"wire": "bf16"}
"""Wire type of all methods of the catalogue, with error feedback."""


@dataclass(frozen=True)
class Entry:
    """What takes part: a method of the catalogue, or a peer."""

    name: str
    method: str
    """Name in the catalogue, or of the peer."""
    peer: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are not searched."""
    batches: tuple[int, ...] = (BATCH,)
    """Batches per worker; several are searched, as a parameter `batch`."""
    spaces: Mapping[str, Space | None] = field(default_factory=dict)
    """Spaces instead of the declared ones; None: not searched."""

    def on(self, task: Task) -> Entry:
        """Return it with the batches and the optimizer of a task."""
        spaces = self.spaces
        if task.searches_batch and spaces.get("accumulation") == ACCUMULATION["accumulation"]:
            spaces = {**spaces, **FEWER}
        if task.optimizer == "sgd":
            return replace(self, batches=task.batches, spaces=spaces)
        spaces = {**spaces, **ADAMW_SPACES}
        return replace(self, batches=task.batches, given={**self.given, **ADAMW}, spaces=spaces)

    @property
    def offer(self) -> AlgorithmOffer:
        """Return its parameters and spaces."""
        kind = PEERS[self.method] if self.peer else algorithm(self.method)
        return ClassAlgorithmOffer(kind if len(self.batches) == 1 else _with_batches(kind, self.batches))

    def settings(self, trials: int, workers: int) -> list[dict[str, Any]]:
        """Return the parameters of its trials."""
        return settings(trials, self.variant, self.offer, workers)

    @property
    def variant(self) -> Variant:
        """Return it as a variant of an experiment."""
        return Variant(
            name=self.name, algorithm=self.method, parameters=dict(self.given), search=dict(self.spaces)
        )

    @property
    def named(self) -> set[str]:
        """Return the parameters that are searched or given; the others have their defaults."""
        return {*free_spaces(self.variant, self.offer), *self.given}

    def document(
        self, task: Task, place: Place, parameters: Mapping[str, Any], samples: int, seed: int
    ) -> dict[str, Any]:
        """Return the run with these parameters: `hooke.run/1`, or `hooke.peer/1`.

        In virtual time a peer is represented by the method of the catalogue with the same equations.
        """
        batch = parameters.get("batch", self.batches[0])
        parameters = {name: value for name, value in parameters.items() if name != "batch"}
        common = {"workload": task.workload, "seed": seed, "workers": place.hosts, "batch": batch}
        virtual = _constants(task, place, batch) if place.world == "virtual" else None
        if self.peer and not virtual:
            ends = {"samples": samples, "every": task.every, "target": task.target}
            ends |= {"precision": task.precision} if task.precision != "fp32" else {}
            ends |= {"model": dict(task.model)} if task.model else {}
            one = {"buckets": "one"} if parameters.get("wire") == "powersgd" else {}
            settings = {"method": self.method, **common, **parameters, **one, **ends}
            return {"schema": "hooke.peer/1", "settings": settings}
        method, parameters, sent = self._in_catalogue(parameters)
        sent = sent | {"collective": task.collective}
        return (
            common
            | {
                "schema": "hooke.run/1",
                "workload": {"name": task.workload} | ({"parameters": dict(task.model)} if task.model else {}),
                "algorithm": {"name": method, "parameters": parameters},
                "communication": sent,
                "world": "virtual" if virtual else "mpi",
                "virtual": virtual,
                "budget": {"samples": samples},
                "target": {"metric": "validation_accuracy", "value": task.target},
                "evaluation": {"every": task.every},
                "checkpoint": "never",
            }
            | ({"compute": {"precision": task.precision}} if task.precision != "fp32" else {})
        )

    def _in_catalogue(self, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, str]]:
        """Return method, parameters and communication of its run in the catalogue's terms."""
        if not self.peer:
            return self.method, dict(parameters), NARROW
        method, names = TWINS[self.method]
        found = {names.get(name, name): value for name, value in parameters.items() if name != "wire"}
        kind = {} if found.get("optimizer") == "adamw" else {"momentum_kind": "nesterov"}
        return method, found | kind, {"wire": parameters.get("wire", "fp32")}


FEWER = {"accumulation": Space(choices=[1, 2])}
"""Accumulation where the batch is searched, too: more would make steps of thousands of samples."""


def _with_batches(kind: type[Algorithm], batches: Sequence[int]) -> type[Algorithm]:
    """Return a method with the batch of its runs as one more parameter, which is searched."""
    own = {
        "__module__": __name__,
        "__doc__": kind.__doc__,
        "__annotations__": {"batch": int},
        "batch": Field(BATCH, ge=1, description="Samples per worker and step."),
        "search": {"batch": Space(choices=list(batches))} | (FEWER if "accumulation" in kind.search else {}),
    }
    return type(kind)(kind.__name__, (kind,), own)


def _constants(task: Task, place: Place, batch: int) -> dict[str, Any]:
    usual = place.constants
    per_sample = task.seconds_per_sample(batch, usual["compute_seconds_per_sample"])
    return usual | {"compute_seconds_per_sample": per_sample}


ACCUMULATED = {"accumulation": Space(choices=[2, 4, 8])}
DDP, DDP_BF16, DDP_POWERSGD, POST_LOCAL, HIERARCHICAL, MPI4PY = (
    Entry("PyTorch DDP", "ddp", peer=True, given={"wire": "fp32"}),
    Entry("PyTorch DDP, bf16 hook", "ddp", peer=True, given={"wire": "bf16"}),
    Entry("PyTorch DDP, PowerSGD hook", "ddp", peer=True, given={"wire": "powersgd"}),
    Entry("PyTorch post-local SGD", "post-local", peer=True),
    Entry("PyTorch hierarchical averaging", "hierarchical", peer=True),
    Entry("mpi4py loop", "mpi4py", peer=True),
)
DDP_APART = (
    Entry("PyTorch DDP, no accumulation", "ddp", peer=True, given={"wire": "fp32", "accumulation": 1}),
    Entry("PyTorch DDP, accumulation", "ddp", peer=True, given={"wire": "fp32"}, spaces=ACCUMULATED),
)
"""DDP that never accumulates, and DDP that always does: each with all trials, of which DDP gives both a part."""
TWINS: dict[str, tuple[str, dict[str, str]]] = {
    "ddp": ("sync-sgd", {}),
    "mpi4py": ("sync-sgd", {}),
    "post-local": ("post-local-sgd", {"warmup": "switch"}),
    "torchft-local": ("local-sgd", {}),
    "torchft-diloco": ("diloco", {}),
}
"""Peer -> the method of the catalogue with its equations, and other names of its parameters there."""
TORCHFT = (
    Entry("torchft LocalSGD", "torchft-local", peer=True),
    Entry("torchft DiLoCo", "torchft-diloco", peer=True, given=ADAMW),
)
"""Entries where torchft is installed."""
OF_PYTORCH = (DDP, DDP_BF16, DDP_POWERSGD, POST_LOCAL, HIERARCHICAL, MPI4PY, *DDP_APART)
"""Peers that need PyTorch and MPI alone."""
PEER_NAMES = tuple(each.name for each in (*OF_PYTORCH, *TORCHFT))
SYNC = "sync-sgd"
"""The baseline in virtual time: what DDP does, without overlap."""
FIRST = (
    "slowmo",
    "elastic-slowmo",
    "local-sgd",
    "sync-easgd",
    "overlap-local-sgd",
    "streaming-diloco",
    "co2",
    "easgd",
)
"""Methods that are measured first; the others follow in alphabetical order."""
HIDDEN: Mapping[str, Mapping[str, Any]] = {"sync-easgd": {"overlap": True, "pipelined": True}}
"""Not searched: settings that hide communication and change no bit of the result, as DDP does by default."""
ACCUMULATING = tuple(
    Entry(f"{name}, accumulation", name, given=HIDDEN.get(name, {}), spaces=ACCUMULATION)
    for name in ("sync-easgd", "slowmo", "sync-sgd")
)
"""Methods with DDP's choices of accumulation, which their own entries leave at 1 (decision 126)."""
LATER: Mapping[str, Mapping[str, Space | None]] = {"co2": {"clip": None}}
"""Not searched: parameters whose spaces were declared after tables had been measured without them."""
EARLIER: Mapping[str, Mapping[str, Any]] = {"adaptive-sgd": {"at_once": 0.0}}
"""Not searched: values that were defaults when tables were measured with them, and are not any more."""
SECOND_TO_NONE = {"sgd": "of one worker", "chip-easgd": "of parts of a chip"}
"""Left out -> why."""
TWO_LEVELS = 4
"""Largest number of hosts at which groups of hosts are not compared: one of its groups would hold all."""


def entry_of(name: str) -> Entry:
    """Return an entry by its name."""
    return next(entry for entry in (*entries(AT["8-hosts"]), *TORCHFT) if entry.name == name)


def entries(place: Place) -> list[Entry]:
    """Return all entries that can run at a place, the most important first: in virtual time there are no peers."""
    names = [*FIRST, *(name for name in here().algorithms if name not in (*FIRST, *SECOND_TO_NONE))]
    given = {**HIDDEN, **EARLIER}
    ours = [Entry(name, name, given=given.get(name, {}), spaces=LATER.get(name, {})) for name in names]
    if place.world == "virtual":
        return [*ours, *ACCUMULATING]
    peers = [DDP, DDP_BF16, DDP_POWERSGD, POST_LOCAL]
    levels = [HIERARCHICAL] if place.hosts > TWO_LEVELS else []
    replicas = TORCHFT if find_spec("torchft") else ()
    first, others = ours[: len(FIRST)], ours[len(FIRST) :]
    return [*peers, *first, *levels, *replicas, MPI4PY, *DDP_APART, *others, *ACCUMULATING]


def method_of(name: str) -> str:
    """Return the method of the catalogue of an entry that is no peer."""
    return next((each.method for each in ACCUMULATING if each.name == name), name)


def elastic(name: str) -> bool:
    """Return whether an entry is a method of elastic averaging."""
    return name not in PEER_NAMES and built_in("algorithm")[method_of(name)].cls.family == "Elastic averaging"


def baseline_at(place: Place) -> str:
    """Return the entry with which the others are compared."""
    return SYNC if place.world == "virtual" else DDP.name
