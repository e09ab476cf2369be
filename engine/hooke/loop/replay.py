"""Record and replay: repeat an asynchronous run in virtual time, bit for bit.

Two such runs differ only in the order in which the server replied. The server's journal contains this order, one
row per exchange. A replay runs the same specification (`twin`) in the virtual world, where the server replies in
that order (`read_order`). The center and the weights of every worker must be bitwise equal (`compare`).
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.catalogue.algorithm import algorithm, ranks_of
from hooke.errors import JournalError, LaunchError
from hooke.spec.devices import DeviceGroup
from hooke.spec.events import Done, Evaluation, Start, Steps
from hooke.spec.journal import records, unpack
from hooke.spec.specification import RunSpec, VirtualCluster, canonical


@dataclass(frozen=True)
class ExchangeOrder:
    """The exchanges of a finished run, from its server's journal."""

    workers: tuple[int, ...]
    """The worker of each exchange, in order."""
    target_after: int | None = None
    """Number of exchanges after which the target was reached; None: the budget was used up."""


def recorded(folder: Path) -> RunSpec:
    """Return the specification of the run in a folder; raises LaunchError if there is none."""
    try:
        return RunSpec.model_validate(json.loads((folder / "spec.json").read_text()))
    except OSError as error:
        raise LaunchError(f"{folder} holds no run: spec.json: {error.strerror}") from error
    except ValueError as error:
        raise LaunchError(f"{folder} holds no run: spec.json is damaged: {error}") from error


def with_collective(spec: RunSpec, folder: Path) -> RunSpec:
    """Return a run that names no collective with the one of the run in a folder.

    The default was another one in earlier versions (decision 112). Raises LaunchError if the folder holds no run.
    """
    if "collective" in spec.communication.model_fields_set:
        return spec
    chosen = {"collective": recorded(folder).communication.collective}
    return spec.model_copy(update={"communication": spec.communication.model_copy(update=chosen)})


def twin(spec: RunSpec) -> RunSpec:
    """Return the specification for the replay: in virtual time, ended only by the log and the budget."""
    return spec.model_copy(
        update={
            "world": "virtual",
            "virtual": spec.virtual or VirtualCluster(devices=_simulated(spec.groups)),
            "budget": spec.budget.model_copy(update={"max_seconds": None, "max_stall_seconds": None}),
            "target": None,
            "checkpoint": "never",
            "checkpoint_every": None,
        }
    )


def _simulated(groups: tuple[DeviceGroup, ...]) -> tuple[DeviceGroup, ...]:
    """Return the groups of a replay: what changes bits, but not how fast a worker was."""
    return tuple(DeviceGroup(kind="cpu", count=group.count, precision=group.precision) for group in groups)


def same_run(one: RunSpec, other: RunSpec) -> bool:
    """Return whether the log of one run can be replayed as the other: the speeds of workers may differ."""
    first, second = (twin(spec).model_copy(update={"virtual": None, "groups": ()}) for spec in (one, other))
    return canonical(first) == canonical(second) and _computed(one) == _computed(other)


def _computed(spec: RunSpec) -> list[tuple[str, int]]:
    """Return what of the kind of each worker changes bits: precision, and the parts of a batch."""
    groups = [spec.group(worker) for worker in range(spec.workers)]
    usual = (spec.compute.precision, 1)
    return [usual if each is None else (each.precision or usual[0], each.parts) for each in groups]


def read_order(folder: Path) -> ExchangeOrder:
    """Return the order in which the server of the run in `folder` replied.

    Raises LaunchError for a method or a run that cannot be replayed, JournalError for an incomplete journal.
    """
    spec = recorded(folder)
    _refuse(spec)
    path = folder / f"journal.{spec.workers}.jsonl"
    order: list[int] = []
    done, reached = None, None
    for record in records(path):
        if isinstance(record, Start) and record.restored_step is not None:
            raise LaunchError(f"the run in {folder} began at a checkpoint: its earlier exchanges are missing")
        if isinstance(record, Steps):
            order += _workers_of(record, len(order), path)
        elif isinstance(record, Evaluation) and record.reached and reached is None:
            reached = record.step
        elif isinstance(record, Done):
            done = record
    if done is None or done.step != len(order):
        raise JournalError(f"{path} is incomplete: it has {len(order)} exchanges, but no record of their end")
    if done.reason in ("cancelled", "timed_out"):
        raise LaunchError(f"the run in {folder} ended early ({done.reason}); its end is not in the log")
    if done.test_loss is None:
        raise LaunchError(
            f"the run in {folder} was made by an older version, without a validation part: this version would "
            "train on other items"
        )
    if done.dropped:
        raise LaunchError(f"the run in {folder} continued without worker {done.dropped[0]}: it cannot be replayed")
    return ExchangeOrder(tuple(order), reached if done.reason == "target" else None)


def _refuse(spec: RunSpec) -> None:
    kind = algorithm(spec.algorithm.name)
    if spec.shares_weights:
        raise LaunchError(
            "threads of a worker shared its weights without locks: there is no order of their updates to replay"
        )
    if kind.coordination == "lock-free":
        raise LaunchError(
            f"{kind.title()} cannot be replayed: its workers change the center by plain loads and stores or by "
            "unordered additions, so there is no order to log"
        )
    if kind.coordination == "synchronous":
        raise LaunchError(f"{kind.title()} needs no replay: all its ranks take the same steps; run it again")


def _workers_of(record: Steps, before: int, path: Path) -> list[int]:
    if "worker" not in record.columns:
        raise JournalError(f"{path} does not contain the workers of its exchanges: an older version wrote it")
    if unpack("step", record.columns["step"]) != list(range(before + 1, before + record.n + 1)):
        raise JournalError(f"{path} is incomplete: exchanges are missing after number {before}")
    return [int(worker) for worker in unpack("worker", record.columns["worker"])]


def differences(spec: RunSpec, folder: Path, center: Any, weights: list[Any]) -> list[str]:
    """Return the differences, bit for bit, from the final vectors of the run in `folder`."""
    import numpy as np

    found = []
    for name, theirs, ours in zip(_names(spec), _finals(spec, folder), [*weights, center], strict=True):
        if theirs.tobytes() != ours.tobytes():
            unequal = int((theirs.view(np.uint32) != ours.view(np.uint32)).sum())
            found.append(f"{name}: {unequal} of {ours.size} elements differ")
    return found


def compare(spec: RunSpec, folder: Path, other: Path) -> list[str]:
    """Return the differences between the final vectors in two folders, as `differences` does."""
    *weights, center = _finals(spec, folder)
    return differences(spec, other, center, weights)


def _names(spec: RunSpec) -> list[str]:
    return [f"weights of worker {rank}" for rank in range(spec.workers)] + ["center"]


def _finals(spec: RunSpec, folder: Path) -> list[Any]:
    """Return the weights of every worker, followed by the server's center."""
    import numpy as np

    found = []
    for rank in range(ranks_of(spec)):
        path = folder / f"final.{rank}.npz"
        try:
            with np.load(path) as final:
                found.append(final["center" if rank == spec.workers else "weights"])
        except (OSError, KeyError, ValueError) as error:
            raise LaunchError(f"{path} is missing or damaged: nothing to compare with ({error})") from error
    return found


def follow(log: deque[int], worker: int, request: bool, last_words: bool) -> None:
    """Remove an exchange from the log; raise JournalError if the log has another one.

    `request`: it is one, not a farewell, which is an exchange only with `last_words`.
    """
    exchange = request or last_words
    if exchange and log and log[0] == worker:
        log.popleft()
    elif exchange or worker in log:
        raise JournalError(
            f"the logged order does not fit this run: worker {worker} "
            + ("sent another request" if request else "is done")
            + f", but {len(log)} logged exchanges remain"
        )
