"""A rank may be killed as soon as a checkpoint is complete: its journal has every row that it counts."""

import json

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.loop import checkpoint
from hooke.loop.train import run_spec_virtual
from hooke.spec.journal import records, unpack

WORKERS, BATCH, STEPS = 2, 8, 24
SPEC = {
    "schema": "hooke.run/1",
    "workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
    "batch": BATCH,
    "workers": WORKERS,
    "world": "virtual",
    "virtual": {},
    "budget": {"samples": WORKERS * BATCH * STEPS},
    "evaluation": {"every": WORKERS * BATCH * STEPS},
    "checkpoint_every": WORKERS * BATCH * 5,
}


def written(path) -> list[int]:
    blocks = (record for record in records(path) if record.kind == "steps")
    return [int(step) for block in blocks for step in unpack("step", block.columns["step"])]


@pytest.mark.parametrize("method", ["sync-sgd", "async-easgd"])
def test_every_step_before_a_checkpoint_is_in_the_journal_when_it_is_complete(tmp_path, monkeypatch, method):
    seen = []
    sweep = checkpoint._sweep

    def looking(place):
        """Every rank has written its part, and nobody goes on yet."""
        for rank in range(WORKERS):
            with np.load(place / f"rank.{rank}.npz") as file:
                restored = json.loads(str(file["meta"]))["t"]
            seen.append((written(tmp_path / f"journal.{rank}.jsonl"), restored))
        sweep(place)

    monkeypatch.setattr(checkpoint, "_sweep", looking)
    run_spec_virtual(validate_run(SPEC | {"algorithm": {"name": method, "parameters": {}}}), tmp_path)
    assert len(seen) >= 3 * WORKERS
    for steps, restored in seen:
        assert steps == list(range(1, restored + 1))
    total = [written(tmp_path / f"journal.{rank}.jsonl") for rank in range(WORKERS)]
    assert sum(map(len, total)) == WORKERS * STEPS
    for rank, steps in enumerate(total):
        assert steps == list(range(1, len(steps) + 1))
        (done,) = [record for record in records(tmp_path / f"journal.{rank}.jsonl") if record.kind == "done"]
        blocks = [record for record in records(tmp_path / f"journal.{rank}.jsonl") if record.kind == "steps"]
        for phase, seconds in done.phases.items():
            rows = sum(sum(unpack(phase, block.columns[phase])) for block in blocks if phase in block.columns)
            assert rows == pytest.approx(seconds, rel=1e-5, abs=1e-7), phase
