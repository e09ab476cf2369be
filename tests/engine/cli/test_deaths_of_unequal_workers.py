"""Real unequal workers that die or stop within an epoch: which examples are used, told by the workload itself."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hooke.spec.events import Steps
from hooke.spec.journal import records

from tests.engine.cli.conftest import command, processes_of
from tests.waiting import LIMIT, wait_for

WORKLOAD = '''
"""Digits, whose workers note the items of every batch before they compute its gradient."""

import os
import time
from pathlib import Path
from typing import ClassVar

from hooke.catalogue.workload import ALONE
from hooke.workloads.digits_mlp import DigitsMLP


class Noting(DigitsMLP):
    """Digits, noted.

    Data, model and loss: those of digits-mlp. A gradient takes ten milliseconds more.
    """

    target: ClassVar[float] = 0.96

    def build(self, place=ALONE):
        """Build digits-mlp."""
        objective = super().build(place)
        pick, file = objective.pick, Path(os.environ["NOTES"]) / str(os.getpid())

        def noted(indices):
            with file.open("a") as lines:
                lines.write(" ".join(map(str, indices.tolist())) + "\\n")
            time.sleep(0.01)
            return pick(indices)

        objective.pick = noted
        return objective
'''
BATCH, EPOCHS = 8, 2
TRAIN = 1294
"""Training items of digits-mlp."""
RUN = {
    "workload": {"name": "noting", "parameters": {"hidden1": 4, "hidden2": 4}},
    "algorithm": {"name": "hogbatch", "parameters": {"lr": 0.02, "largest": 4}},
    "workers": 3,
    "groups": [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.5}, {"kind": "cpu", "speed": 0.25}],
    "batch": BATCH,
    "sharding": "dispatched",
    "budget": {"samples": EPOCHS * TRAIN // BATCH * BATCH - 3 * BATCH},
    "evaluation": {"every": 10**6},
    "checkpoint_every": 40 * BATCH,
}


MERGED = {
    "name": "adaptive-sgd",
    "parameters": {"lr": 0.02, "largest": 2, "mega_batch": 30, "at_once": 0.6},
}
"""A method that grants ranges of several updates, and whose workers wait for one another at merges."""


@pytest.fixture
def started(spec, tmp_path, monkeypatch, warm_ranks):
    """Return a function that starts the run, and its folder."""
    own, notes = tmp_path / "own", tmp_path / "notes"
    (own / "workloads").mkdir(parents=True)
    (own / "workloads" / "noting.py").write_text(WORKLOAD)
    notes.mkdir()
    monkeypatch.setenv("HOOKE_PATH", str(own))
    monkeypatch.setenv("NOTES", str(notes))
    folder, begun = tmp_path / "out", []

    def start(*more, program=None, **changes):
        options = ["run", spec(**RUN | changes), "--run-dir", folder, "--json", *more]
        arguments = [*program, *options] if program else command(*options)
        begun.append(subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return begun[-1], folder

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def picked(tmp_path, folder, worker):
    """Return the items of each batch that the worker of this attempt has taken; none before its first record."""
    journal = folder / f"journal.{worker}.jsonl"
    first = next(iter(records(journal)), None) if journal.exists() else None
    file = tmp_path / "notes" / str(first and first.pid)
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def dropped_by(server):
    """Return the workers that the server has dropped, by its journal."""
    return [each.worker for each in records(server) if each.kind == "dropped"] if server.exists() else []


def counted(batches):
    return Counter(item for batch in batches for item in batch)


def steps_in(place, worker):
    """Return the steps of a worker in a checkpoint."""
    with np.load(place / f"rank.{worker}.npz") as file:
        return json.loads(str(file["meta"]))["t"]


@pytest.mark.parametrize("algorithm", [RUN["algorithm"], MERGED])
def test_killed_in_mid_epoch_the_next_attempt_uses_every_example_as_often_as_there_are_epochs(
    started, tmp_path, algorithm
):
    process, folder = started(algorithm=algorithm)
    complete = wait_for(lambda: list(folder.glob("checkpoints/*/complete.json")), "a checkpoint")
    wait_for(lambda: len(picked(tmp_path, folder, 1)) > steps_in(complete[0].parent, 1) + 4, "work after it")
    os.kill(next(iter(records(folder / "journal.1.jsonl"))).pid, signal.SIGKILL)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1 and "SIGKILL" in err
    assert processes_of(folder) == []
    place = max((each.parent for each in folder.glob("checkpoints/*/complete.json")), key=lambda p: int(p.name))
    kept = [picked(tmp_path, folder, worker)[: steps_in(place, worker)] for worker in range(3)]
    assert sum(map(len, kept)) * BATCH == int(place.name)
    process, _ = started("--resume", algorithm=algorithm)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    again = [picked(tmp_path, folder, worker) for worker in range(3)]
    counts = counted(batch for batches in (*kept, *again) for batch in batches)
    assert sum(counts.values()) == RUN["budget"]["samples"] == json.loads(out)["samples"]
    assert max(counts.values()) == EPOCHS
    assert sum(EPOCHS - counts[str(item)] for item in range(TRAIN)) == EPOCHS * TRAIN - sum(counts.values())


def test_a_batch_that_never_comes_back_ends_the_attempt_and_names_its_worker(started, tmp_path):
    """The others use all else first; the end needs the worker that stopped. Of a merge this is not tried.

    One that was stopped, and is continued while the epoch goes on, takes part again, and nothing is used twice.
    """
    budget = RUN["budget"] | {"max_stall_seconds": 2}
    process, folder = started(budget=budget, checkpoint_every=None)
    wait_for(lambda: len(picked(tmp_path, folder, 2)) > 4, "work of the slowest")
    paused = next(iter(records(folder / "journal.1.jsonl"))).pid
    os.kill(paused, signal.SIGSTOP)
    before, own = (len(picked(tmp_path, folder, worker)) for worker in (0, 1))
    wait_for(lambda: len(picked(tmp_path, folder, 0)) > before + 10, "work of another one meanwhile")
    assert len(picked(tmp_path, folder, 1)) <= own + 1
    os.kill(paused, signal.SIGCONT)
    wait_for(lambda: len(picked(tmp_path, folder, 1)) > own + 4, "work of the one that goes on")
    journal = folder / "journal.2.jsonl"
    wait_for(lambda: any(isinstance(each, Steps) for each in records(journal)), "steps: then stalls are short")
    os.kill(next(iter(records(journal))).pid, signal.SIGSTOP)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "rank 2 is stopped by a signal" in err
    assert json.loads(out)["state"] == "failed_infra"
    assert processes_of(folder) == []
    others = [batch for worker in (0, 1) for batch in picked(tmp_path, folder, worker)]
    own = picked(tmp_path, folder, 2)
    assert max(counted([*others, *own]).values()) <= EPOCHS
    left = RUN["budget"]["samples"] - len(own) * BATCH
    assert len(others) * BATCH > 0.9 * left, "the others went on without it"


ELASTIC = {"name": "heterogeneous-easgd", "parameters": {"lr": 0.02, "period": 2, "longest": 4}}


@pytest.mark.parametrize(("algorithm", "dying"), [(RUN["algorithm"], [1, 2]), (ELASTIC, [1])])
def test_killed_in_mid_epoch_the_others_go_on_with_what_it_had_left(started, tmp_path, algorithm, dying):
    """With `on_bad_worker: drop`: what it had not finished is used by others, and the account says how much.

    Also if another one dies after it, which may have taken over a part of its range.
    """
    large = {"name": "noting", "parameters": {"hidden1": 256, "hidden2": 256}}  # long messages
    process, folder = started(algorithm=algorithm, workload=large, on_bad_worker="drop", checkpoint_every=None)
    server = folder / "journal.3.jsonl"
    for worker in dying:
        wait_for(lambda: len(picked(tmp_path, folder, worker)) > 8, "work of the worker")  # noqa: B023 - at once
        os.kill(next(iter(records(folder / f"journal.{worker}.jsonl"))).pid, signal.SIGKILL)
        wait_for(lambda: worker in dropped_by(server), "its end to be noticed")  # noqa: B023
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert (found["state"], found["dropped"]) == ("succeeded", dying)
    assert processes_of(folder) == []
    batches = [picked(tmp_path, folder, worker) for worker in range(3)]
    assert found["samples"] >= RUN["budget"]["samples"], "the others have done the rest"
    times = counted(batch for each in batches for batch in each)
    end = next(each for each in records(server) if each.kind == "done")
    said = [each.why for each in records(server) if each.kind == "dropped"]
    assert all("its process has ended" in why for why in said)
    told = [re.search(r"; (\d+) samples that it held are handed out again$", why) for why in said]
    assert sum(int(each[1]) for each in told if each) == found["returned"] == end.returned
    twice = sum(max(0, n - EPOCHS) for n in times.values())
    assert 0 < end.returned <= 8 * BATCH * len(dying)
    assert twice <= end.returned, "only what went back was used once more"
    assert end.samples == found["samples"]


DYING = '''
"""Async SGD, of which a worker dies after it has told of an update, and before it has sent it."""

import os
import signal

from hooke.algorithms.async_sgd import AsyncSGD


class Sends:
    """What a worker sends by, until it dies."""

    def __init__(self, rank):
        self._rank, self._real = rank, rank.pushing

    def __getattr__(self, name):
        if name == "isend" and self._rank.t >= 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return getattr(self._real, name)


class Dying(AsyncSGD):
    """Dying.

    That of async-sgd.
    """

    def run(self, r):
        """Run the server's or the worker's part."""
        if r.rank == 1:
            r.pushing = Sends(r)
        super().run(r)
'''


@pytest.mark.parametrize(("when", "every"), [("t >= 20", None), ("schedule.saved", 40 * BATCH)])
def test_an_update_that_did_not_arrive_is_not_in_the_samples(started, tmp_path, when, every):
    """Each batch is an update: all that were computed arrived but the last one of the worker that died.

    Also where the worker had told of that batch before: it had stood at a checkpoint.
    """
    (tmp_path / "own" / "algorithms").mkdir()
    (tmp_path / "own" / "algorithms" / "dying.py").write_text(DYING.replace("t >= 20", when))
    method = {"name": "dying", "parameters": {"lr": 0.02}}
    process, folder = started(algorithm=method, on_bad_worker="drop", checkpoint_every=every)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert (found["state"], found["dropped"]) == ("succeeded", [1])
    batches = [len(picked(tmp_path, folder, worker)) for worker in range(3)]
    assert every or batches[1] == 20
    assert found["samples"] == (sum(batches) - 1) * BATCH >= RUN["budget"]["samples"]
    end = next(each for each in records(folder / "journal.3.jsonl") if each.kind == "done")
    assert end.returned >= BATCH


def test_without_a_server_a_killed_worker_ends_the_attempt_at_once(started, tmp_path):
    """Nobody drops it: mpirun is told by its guard, and is not killed after a grace, which is endless here."""
    endless = "from hooke.cluster import runner; runner.FAULT_GRACE = 1e9; from hooke.__main__ import main; main()"
    method = {"name": "hogwild-sgd", "parameters": {"lr": 0.02}}
    more = {"sharding": "iid", "budget": {"samples": 10**7, "max_stall_seconds": 3600}}
    more |= {"program": (sys.executable, "-c", endless)}
    process, folder = started(algorithm=method, on_bad_worker="drop", checkpoint_every=None, **more)
    wait_for(lambda: len(picked(tmp_path, folder, 1)) > 8, "work of the worker")
    os.kill(next(iter(records(folder / "journal.1.jsonl"))).pid, signal.SIGKILL)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1 and "SIGKILL" in err
    assert processes_of(folder) == []


def test_cancelled_after_that_the_others_end_in_order(started, tmp_path):
    """Every other rank says how far it has come; the guard of the killed one does not take them with it.

    One is slower by a million: it would sleep for minutes after its first gradient.
    """
    kinds = [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.5}, {"kind": "cpu", "speed": 1e-6}]
    more = {"checkpoint_every": None, "budget": {"samples": 10**7}, "groups": kinds}
    process, folder = started(on_bad_worker="drop", **more)
    wait_for(lambda: len(picked(tmp_path, folder, 1)) > 8, "work of the worker")
    os.kill(next(iter(records(folder / "journal.1.jsonl"))).pid, signal.SIGKILL)
    wait_for(lambda: dropped_by(folder / "journal.3.jsonl"), "its end to be noticed")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert json.loads(out)["state"] == "cancelled", err
    assert processes_of(folder) == []
    assert [list(records(folder / f"journal.{rank}.jsonl"))[-1].kind for rank in (0, 2, 3)] == ["done"] * 3
