"""Reads the output of a run: journals, final vectors, and the notes of the audit's own workload.

A journal is JSON Lines. A record of kind `steps` holds columns of n values each: base64 of little-endian numbers.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.problem import SIZE, Array
from audit.simulate import Seen

TYPES = {"step": "<i8", "samples": "<i8", "payload": "<i8", "wire": "<i8", "messages": "<i4", "worker": "<i4"} | {
    name: "<f8" for name in ("clock", "wall")
}
"""Types of columns; all others are float32."""
PHASES = ("data", "compute", "rebuild", "communicate", "update", "evaluate", "idle")
"""Rows have no column `rebuild` where nothing was rebuilt."""


@dataclass
class Journal:
    """The journal of one rank: first and last record, rows by column, evaluations, checkpoints."""

    start: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, Array] = field(default_factory=dict)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: list[dict[str, Any]] = field(default_factory=list)

    @property
    def works(self) -> bool:
        """Return whether this rank computes gradients."""
        return bool(self.start["role"] == "worker")


def read(path: Path) -> Journal:
    """Return a journal. Raises ValueError without a first or a last record."""
    found, blocks = Journal(), []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        match record["kind"]:
            case "start":
                found.start = record
            case "done":
                found.done = record
            case "steps":
                blocks.append(record["columns"])
            case "evaluation":
                found.evaluations.append(record)
            case "checkpoint":
                found.checkpoints.append(record)
    if not found.start or not found.done:
        raise ValueError(f"{path} does not tell a whole run")
    for name in {name for block in blocks for name in block}:
        parts = [_column(name, block[name]) for block in blocks if name in block]
        found.rows[name] = np.concatenate(parts)
    return found


def _column(name: str, text: str) -> Array:
    return np.frombuffer(base64.b64decode(text), TYPES.get(name, "<f4")).astype(np.float64)


def read_all(folder: Path) -> list[Journal]:
    """Return the journals of all ranks, in the order of ranks."""
    return [read(folder / f"journal.{rank}.jsonl") for rank in range(len(list(folder.glob("journal.*.jsonl"))))]


def finals(path: Path) -> dict[str, Any]:
    """Return the vectors written by `--save`: float32 vectors `center`, `worker_0`..."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files if name != "spec"}


def finals_of_ranks(folder: Path) -> dict[str, Any]:
    """Return the vectors in the files of the ranks as those of `--save`. Raises ValueError if there are none."""
    found: dict[str, Any] = {}
    for rank, each in enumerate(read_all(folder)):
        with np.load(folder / f"final.{rank}.npz") as file:
            if each.works:
                found[f"worker_{rank}"] = file["weights"]
            if "center" in file.files:
                found["center"] = file["center"]
    if "center" not in found:
        raise ValueError(f"{folder} holds no center")
    return found


def _fits(noted: Array, losses: NDArray[np.float32]) -> bool:
    """Return whether the losses of all gradients are those of the steps, each the mean of as many gradients."""
    each, more = divmod(len(noted), len(losses)) if len(losses) else (0, 1)
    if more or not each:
        return False
    if each == 1:
        return np.array_equal(noted.astype(np.float32), losses)
    return np.allclose(noted.reshape(-1, each).mean(1), losses, rtol=1e-6, atol=0)


def seen(journals: list[Journal], notes: Path, batch: int, seed: int) -> Seen:
    """Return the notes of the workers, assigned to workers by the losses in their journals.

    A step may have several gradients; its loss is their mean. Raises ValueError if no notes, or those of several
    workers, match a journal.
    """
    width = 1 + batch + SIZE
    found = [np.fromfile(path).reshape(-1, width) for path in sorted(notes.glob("*.f64"))]
    items, points = [], []
    for rank, journal in enumerate(journals):
        if not journal.works:
            continue
        losses = journal.rows["loss"].astype(np.float32)
        fitting = [n for n in found if _fits(n[:, 0], losses)]
        if len(fitting) != 1:
            raise ValueError(f"the losses of rank {rank} are those of {len(fitting)} notes, not of one")
        items.append(fitting[0][:, 1 : 1 + batch].astype(np.int64))
        points.append(fitting[0][:, 1 + batch :])
    server = [journal.rows["worker"] for journal in journals if "worker" in journal.rows and not journal.works]
    order = [int(worker) for rows in server for worker in rows]
    return Seen(items, points, order, seed)
