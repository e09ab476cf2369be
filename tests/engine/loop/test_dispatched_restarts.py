"""Batches that are handed out, over stops and restarts: each example once per epoch in what continues."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest
from hooke.loop import checkpoint
from hooke.loop.dispatch import Dispatch
from hooke.loop.flag import Flag
from hooke.loop.state import RankOptions
from hooke.loop.train import run_spec_virtual
from hooke.objective.dispatched import DispatchedBatches, Part

from tests.engine.loop.test_dispatched import BATCH, counted, spec, taken

__all__ = ["taken"]

STEPS = 120
METHODS = [
    ("hogbatch", {"sizes": [8], "largest": 8}),
    ("async-easgd", {"period": 7}),
    ("adaptive-sgd", {"mega_batch": 24}),
    ("adaptive-sgd", {"mega_batch": 36, "largest": 1, "at_once": 0.5}),
    ("heterogeneous-easgd", {"period": 6, "longest": 12}),
    ("downpour", {"period": 3}),
    ("weighted-sync-sgd", {"sizes": [3, 1, 2]}),
]


def account(folder, samples, server=3):
    """Return the server's account in a checkpoint."""
    with np.load(folder / "checkpoints" / str(samples) / f"rank.{server}.npz") as file:
        return json.loads(str(file["meta"]))["dispatch"]


@pytest.mark.parametrize(("name", "parameters"), METHODS[:5])
def test_a_stop_within_a_period_leaves_no_example_out(tmp_path, taken, monkeypatch, name, parameters):
    """What a worker had been granted beyond the stop is handed out first, instead of never."""
    cancel, plain = Flag(), DispatchedBatches.next

    def cancelling(batches):
        if sum(map(len, taken.values())) == 50:
            cancel.set()
        return plain(batches)

    monkeypatch.setattr(DispatchedBatches, "next", cancelling)
    chosen = spec(name, STEPS, parameters=parameters, checkpoint="always")
    first = run_spec_virtual(chosen, tmp_path, options=RankOptions(cancel, Flag()))
    assert {each.done.reason for each in first} == {"cancelled"}
    held = account(tmp_path, first[-1].done.samples)["held"]
    assert max(map(len, held)) > 1, "it was stopped within a period"
    cancel.clear()
    run_spec_virtual(chosen, tmp_path, resume=True)
    counts = counted(taken)
    assert max(counts.values()) == 1 and sum(counts.values()) == STEPS * BATCH
    left = account(tmp_path, STEPS * BATCH)
    assert [len(each) for each in left["held"]] == [1, 1, 1] and left["back"] == []
    assert left["next"] == STEPS + 3, "at the end each worker holds the batches of one step"


@pytest.mark.parametrize(("name", "parameters"), METHODS)
def test_an_attempt_that_goes_on_from_the_middle_uses_no_example_twice(
    tmp_path, taken, monkeypatch, name, parameters
):
    """The attempt died after its latest checkpoint: what it used since then is used again, nothing else is."""
    used, save = {}, checkpoint._save

    def noting(r, place, stopped):
        if not r.is_server:
            begin = r.batches._part.begin
            used.setdefault(int(place.name), {})[begin] = len(taken.get(begin, []))
        save(r, place, stopped)

    monkeypatch.setattr(checkpoint, "_save", noting)
    chosen = spec(name, STEPS, parameters=parameters, checkpoint="always", checkpoint_every=40 * BATCH)
    run_spec_virtual(chosen, tmp_path)
    whole = {worker: list(batches) for worker, batches in taken.items()}
    samples, *later = sorted(int(place.name) for place in (tmp_path / "checkpoints").iterdir())
    assert 0 < samples < STEPS * BATCH
    for each in later:
        shutil.rmtree(tmp_path / "checkpoints" / str(each))
    taken.clear()
    run_spec_virtual(chosen, tmp_path, resume=True)
    before = {worker: batches[: used[samples][worker]] for worker, batches in whole.items()}
    counts = counted(before) + counted(taken)
    assert sum(counted(before).values()) == samples
    assert max(counts.values()) == 1 and sum(counts.values()) == STEPS * BATCH


def test_both_sides_forget_the_same_batches_at_a_restart():
    account, batches = Dispatch(2, 2), DispatchedBatches(1000, 1, 0, Part(2, 0, 4), True)
    account.grant(1, 3)  # 4, 5, 6
    (first, count), _ = account.grant(0, 6)
    batches.grant(first, count)
    account.done(0, 3)
    for _ in range(3):
        batches.next()
    again, told = Dispatch(2, 2), DispatchedBatches(1000, 1, 0, Part(2, 0, 4), True)
    again.restore(account.state())
    told.restore(batches.cursor())
    assert again.state()["held"] == [[8, 9], [2, 3]]
    assert told.cursor()["granted"] == [8, 9]
    handed = [again.grant(0, 4), again.grant(1, 4)]
    assert handed == [((4, 3), 13), ((10, 3), 14)], "what was granted goes out before what was not"
    assert Counter(batch for each in again.state()["held"] for batch in each).most_common(1)[0][1] == 1
