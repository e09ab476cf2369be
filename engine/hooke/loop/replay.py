"""Record and replay: an asynchronous run again, bit for bit, in virtual time.

What makes such a run differ from the next one is only in which order its server answered. The server's journal
has that order, a row per exchange. A replay runs the same specification (`twin`) in the virtual world with the
server serving in that order (`read_order`); center and weights of every worker must come out with the same bits
(`compare`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.catalogue.algorithm import algorithm, ranks_of
from hooke.errors import JournalError, LaunchError
from hooke.spec.events import Done, Evaluation, Start, Steps
from hooke.spec.journal import records, unpack
from hooke.spec.specification import RunSpec, VirtualCluster, canonical


@dataclass(frozen=True)
class ExchangeOrder:
    """The exchanges of a run that has ended, as its server's journal tells them."""

    workers: tuple[int, ...]
    """With whom, one after the other."""
    target_after: int | None = None
    """After so many the target was reached; None: the budget was used up."""


def recorded(folder: Path) -> RunSpec:
    """Return the specification of the run in a folder; raises LaunchError where there is none."""
    try:
        return RunSpec.model_validate(json.loads((folder / "spec.json").read_text()))
    except (OSError, ValueError) as error:
        raise LaunchError(f"{folder} holds no run to replay: {error}") from error


def twin(spec: RunSpec) -> RunSpec:
    """Return the run as it is replayed: in virtual time, with nothing but the log and the budget to end it."""
    return spec.model_copy(
        update={
            "world": "virtual",
            "virtual": spec.virtual or VirtualCluster(),
            "budget": spec.budget.model_copy(update={"max_seconds": None, "max_stall_seconds": None}),
            "target": None,
            "checkpoint": "never",
            "checkpoint_every": None,
        }
    )


def same_run(one: RunSpec, other: RunSpec) -> bool:
    """Return whether a log of the one run can be replayed as the other."""
    first, second = (twin(spec).model_copy(update={"virtual": None}) for spec in (one, other))
    return canonical(first) == canonical(second)


def read_order(folder: Path) -> ExchangeOrder:
    """Return in which order the server of the run in `folder` answered.

    Raises LaunchError for a method or a run that cannot be replayed, JournalError for an incomplete journal.
    """
    spec = recorded(folder)
    _refuse(spec)
    path = folder / f"journal.{spec.workers}.jsonl"
    order: list[int] = []
    done, reached = None, None
    for record in records(path):
        if isinstance(record, Start) and record.restored_step is not None:
            raise LaunchError(f"the run in {folder} went on from a checkpoint: its earlier exchanges are not here")
        if isinstance(record, Steps):
            order += _workers_of(record, len(order), path)
        elif isinstance(record, Evaluation) and record.reached and reached is None:
            reached = record.step
        elif isinstance(record, Done):
            done = record
    if done is None or done.step != len(order):
        raise JournalError(f"{path} is incomplete: it has {len(order)} exchanges, and no record of that end")
    if done.reason in ("cancelled", "timed_out"):
        raise LaunchError(f"the run in {folder} ended early ({done.reason}); no log says when")
    if done.test_loss is None:
        raise LaunchError(
            f"the run in {folder} was made without a validation part, by an older version: here it would train on "
            "other items"
        )
    if done.dropped:
        raise LaunchError(f"the run in {folder} went on without worker {done.dropped[0]}: it cannot be replayed")
    return ExchangeOrder(tuple(order), reached if done.reason == "target" else None)


def _refuse(spec: RunSpec) -> None:
    kind = algorithm(spec.algorithm.name)
    if kind.coordination == "lock-free":
        raise LaunchError(
            f"{kind.title()} cannot be replayed: its workers change the center by plain loads and stores or by "
            "unordered additions, so there is no order to log"
        )
    if kind.coordination == "synchronous":
        raise LaunchError(f"{kind.title()} needs no replay: all its ranks step alike; run it again")


def _workers_of(record: Steps, before: int, path: Path) -> list[int]:
    if "worker" not in record.columns:
        raise JournalError(f"{path} does not say with whom its exchanges were: an older version wrote it")
    if unpack("step", record.columns["step"]) != list(range(before + 1, before + record.n + 1)):
        raise JournalError(f"{path} is incomplete: exchanges are missing behind number {before}")
    return [int(worker) for worker in unpack("worker", record.columns["worker"])]


def differences(spec: RunSpec, folder: Path, center: Any, weights: list[Any]) -> list[str]:
    """Return what differs, bit for bit, from the final vectors that the run in `folder` left."""
    import numpy as np

    found = []
    for name, theirs, ours in zip(_names(spec), _finals(spec, folder), [*weights, center], strict=True):
        if theirs.tobytes() != ours.tobytes():
            unequal = int((theirs.view(np.uint32) != ours.view(np.uint32)).sum())
            found.append(f"{name}: {unequal} of {ours.size} elements differ")
    return found


def compare(spec: RunSpec, folder: Path, other: Path) -> list[str]:
    """Return what differs between the final vectors in two folders, as `differences` does."""
    *weights, center = _finals(spec, folder)
    return differences(spec, other, center, weights)


def _names(spec: RunSpec) -> list[str]:
    return [f"weights of worker {rank}" for rank in range(spec.workers)] + ["center"]


def _finals(spec: RunSpec, folder: Path) -> list[Any]:
    """Return the weights of every worker, then the center, which the server has."""
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
