"""Checkpoints: the state that outlives a step, on disk. A restarted run is bitwise equal to an uninterrupted one.

Each rank writes one file in `checkpoints/<samples>/`, under a temporary name, and renames it. When every rank has
written its file, the deciding rank writes `complete.json`; a folder without this file is never restored. Older
checkpoints are deleted afterwards: the newest KEPT complete ones stay. Clocks and phase totals continue from their
values in the checkpoint. All ranks write together, when no message is in flight; the clock stands meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from hooke.comm.elements import host, tensor
from hooke.errors import CheckpointError
from hooke.loop.clock import restart_clock
from hooke.loop.evaluate import aside, stop_together
from hooke.loop.recorder import RecordedRank
from hooke.spec.resuming import identity
from hooke.trace.phases import Phase

KEPT = 2
"""Number of complete checkpoints of a run that stay on disk."""
LOCAL, RESIDUAL = "local.", "residual."
"""Prefixes of the names of an objective's own state and of a wire type's residuals."""


def save(r: RecordedRank, followed: bool = False) -> None:
    """Write this rank's part, if the run keeps checkpoints; collective.

    If the latest checkpoint has the same number of samples, nothing is written. `followed`: this rank will take
    another step, so its latest row may be written before the checkpoint is complete.
    """
    folder = r.keep
    if folder is None:
        return
    mine = (float(r.samples), float(r.samples == r.schedule.saved > 0)) if r.deciding else (0.0, 0.0)
    samples, present = map(int, stop_together(r, mine))
    if not present:
        with aside(r.comm, Phase.EVALUATE):
            r.recorder.secure(followed)
            _save(r, folder / "checkpoints" / str(samples), r.ledger.since)
    r.schedule.saved = samples


def _save(r: RecordedRank, place: Path, stopped: float) -> None:
    place.mkdir(parents=True, exist_ok=True)
    meta = {
        "identity": identity(r.spec),
        "t": r.t,
        "samples": r.samples,
        "train_size": r.objective.train_size,
        "evaluated": r.schedule.evaluated,
        "turn": r.turn,
        "batches": r.batches.cursor(),
        **r.compute_time.state(r.comm.traffic.payload),
        **({} if r.dispatch is None else {"dispatch": r.dispatch.state()}),
        **({} if r.measured is None else {"sizes": r.measured}),
        "seconds": {str(phase): seconds for phase, seconds in r.ledger.seconds.items()},
        "counted": r.recorder.counted(r),
        "staleness": dict(r.recorder.staleness),
    }
    path = place / f"rank.{r.rank}.npz"
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.savez(file, meta=np.array(json.dumps(meta)), **_arrays(r))
    temporary.rename(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    r.comm.barrier()
    if r.deciding:
        temporary = place / "complete.tmp"
        temporary.write_text(json.dumps({"ranks": r.comm.size, "identity": meta["identity"]}))
        temporary.rename(place / "complete.json")
        _sweep(place)
    r.comm.barrier()
    r.recorder.checkpointed(r, path, path.stat().st_size, digest, restart_clock(r, stopped))


def _arrays(r: RecordedRank) -> dict[str, Any]:
    arrays = {name: host(vector) for name, vector in r.states.items()}
    arrays |= {LOCAL + name: array for name, array in r.objective.local_state().items()}
    return arrays | {RESIDUAL + name: array for name, array in r.comm.residuals.items()}


def _sweep(newest: Path) -> None:
    """Delete all but the newest complete checkpoints: older ones, and incomplete ones of an attempt that died."""
    found = sorted((p for p in newest.parent.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
    kept = [place for place in found if (place / "complete.json").exists()][-KEPT:]
    for place in found:
        if place not in kept:
            (place / "complete.json").unlink(missing_ok=True)  # first: without it the folder is never restored
            shutil.rmtree(place)


def latest(folder: Path) -> Path | None:
    """Return the complete checkpoint with the most samples, or None."""
    found = [p.parent for p in folder.glob("checkpoints/*/complete.json")]
    return max(found, key=lambda p: int(p.name), default=None)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
        return json.loads(str(arrays.pop("meta"))), arrays
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} is damaged or not a checkpoint: {error}") from error


def sizes(place: Path, rank: int) -> list[int] | None:
    """Return the measured batches of each worker's step in a checkpoint; None if none were measured."""
    found: list[int] | None = _read(place / f"rank.{rank}.npz")[0].get("sizes")
    return found


def restore(r: RecordedRank, place: Path) -> None:
    """Restore this rank to the state that `save` wrote; raises CheckpointError for a file of another run."""
    path = place / f"rank.{r.rank}.npz"
    meta, arrays = _read(path)
    if meta["identity"] != identity(r.spec):
        raise CheckpointError(f"{path} belongs to another run: only budget, target and checkpoints may differ")
    if (items := meta.get("train_size", "other")) != r.objective.train_size:
        raise CheckpointError(
            f"{path} was written by a run on {items} training items, but this run has {r.objective.train_size}: "
            "it cannot continue (older versions trained without a validation part); start it again"
        )
    local = {name.removeprefix(LOCAL): arrays.pop(name) for name in list(arrays) if name.startswith(LOCAL)}
    if local:
        r.objective.restore_local(local)
    for name in [name for name in arrays if name.startswith(RESIDUAL)]:
        r.comm.residuals[name.removeprefix(RESIDUAL)] = arrays.pop(name)
    for name, array in arrays.items():
        vector = r.objective.allocate()
        vector.copy_(tensor(array))
        r.restored[name] = vector
    r.params.copy_(r.restored["params"])
    r.t = r.first = int(meta["t"])
    r.samples = r.schedule.saved = int(meta["samples"])
    r.schedule.evaluated = int(meta["evaluated"])
    r.turn = int(meta["turn"])
    r.batches.restore(meta["batches"])
    if r.dispatch is not None:
        r.dispatch.restore(meta["dispatch"])
    r.compute_time.restore(meta, r.comm.traffic.payload)
    r.restored_seconds = {phase: meta["seconds"].get(phase, 0.0) for phase in Phase}  # old ones lack `rebuild`
    r.recorder.restore(meta.get("counted", {}), meta.get("staleness", {}))
