"""Everything that outlives a step, on disk: a restart is bitwise equal to the straight run.

One file per rank in `checkpoints/<samples>/`, written under a temporary name and renamed; the deciding rank's
`complete.json` comes last, after every rank has reported its file, so a folder without it is never restored.
Clocks and phase totals go on where they stopped. Only collective stops write checkpoints, when nothing is
in flight between ranks.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hooke.errors import CheckpointError
from hooke.phases import Phase
from hooke.spec import Budget, RunSpec, fingerprint

if TYPE_CHECKING:
    from hooke.rank import Rank


def identity(spec: RunSpec) -> str:
    """Return the fingerprint of what a checkpoint belongs to: the run, whatever its budget and target."""
    return fingerprint(
        spec.model_copy(update={"budget": Budget(samples=1), "target": None, "checkpoint": "never"})
    )


def save(r: Rank, folder: Path) -> Path:
    """Write this rank's part; collective, returns the checkpoint's folder once it is complete."""
    place = folder / "checkpoints" / str(_agreed_samples(r))
    place.mkdir(parents=True, exist_ok=True)
    meta = {
        "identity": identity(r.spec),
        "t": r.t,
        "samples": r.samples,
        "evaluated": r.course.evaluated,
        "turn": r.serving.turn,
        "batches": r.batches.cursor(),
        "jitter": r.jitter.bit_generator.state,
        "seconds": {str(phase): seconds for phase, seconds in r.ledger.seconds.items()},
    }
    path = place / f"rank.{r.rank}.npz"
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.savez(file, meta=np.array(json.dumps(meta)), **{k: v.numpy() for k, v in r.states.items()})
    temporary.rename(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    r.comm.barrier()
    if r.deciding:
        (place / "complete.json").write_text(json.dumps({"ranks": r.comm.size, "identity": meta["identity"]}))
    r.recorder.checkpointed(r, path, path.stat().st_size, digest)
    return place


def _agreed_samples(r: Rank) -> int:
    mine = float(r.samples) if r.deciding else 0.0
    return int(r.comm.control.allreduce((mine,))[0])


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
        raise CheckpointError(f"{path} is damaged, or no checkpoint: {error}") from error


def restore(r: Rank, place: Path) -> None:
    """Put this rank back to where `save` took it; raises CheckpointError for another run's file."""
    path = place / f"rank.{r.rank}.npz"
    meta, arrays = _read(path)
    if meta["identity"] != identity(r.spec):
        raise CheckpointError(f"{path} belongs to another run: only budget and target may differ")
    for name, array in arrays.items():
        vector = r.problem.allocate()
        vector.numpy()[:] = array
        r.restored[name] = vector
    r.params.copy_(r.restored["params"])
    r.t = r.first = int(meta["t"])
    r.samples = int(meta["samples"])
    r.course.evaluated = int(meta["evaluated"])
    r.serving.turn = int(meta["turn"])
    r.batches.restore(meta["batches"])
    r.jitter.bit_generator.state = meta["jitter"]
    r.restored_seconds = {Phase(name): seconds for name, seconds in meta["seconds"].items()}
