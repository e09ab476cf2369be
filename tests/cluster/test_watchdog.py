"""When ranks that write nothing any more are ended, and what is said of them."""

import contextlib
import math
import os
import signal
import subprocess
import sys

import pytest
from hooke.cluster import watchdog
from hooke.cluster.places import AttemptFolder
from hooke.cluster.watchdog import Watchdog
from hooke.cluster.witness import Witness
from hooke.spec.events import Done, Evaluation, Start
from hooke.spec.journal import JournalWriter
from hooke.spec.specification import RunSpec
from hooke.trace.phases import PHASES

from tests.cluster.bench import spec

RANKS = 3


class Run:
    """Three ranks that write journals when told to, and a clock that moves when told to."""

    def __init__(self, folder, monkeypatch, **budget):
        self.now = 1000.0
        monkeypatch.setattr(watchdog.time, "monotonic", lambda: self.now)
        self.writers = [JournalWriter(folder / f"journal.{rank}.jsonl", lambda: 0.0) for rank in range(RANKS)]
        document = spec(workers=RANKS) | {"budget": {"samples": 1000, **budget}}
        self.witness = Witness(AttemptFolder(folder, "run", 1), RANKS)
        self.watchdog = Watchdog(RunSpec.model_validate(document), self.witness)

    def start(self, pids=(1, 1, 1), host="elsewhere"):
        for writer, pid in zip(self.writers, pids, strict=True):
            mine = {"role": "worker", "host": host, "pid": pid, "unix": 0, "monotonic": 0, "oversubscribed": False}
            writer.record(lambda seq, mine=mine: Start(seq=seq, world="mpi", ranks=RANKS, **mine))

    def step(self, rank, number):
        self.writers[rank].step((number, number, 0, 0, 1, *[0.0] * len(PHASES), 0.0, 0, 0, 0, math.nan, -1, -1))
        self.writers[rank].flush()

    def score(self, samples=0):
        numbers = dict.fromkeys(("clock", "wall", "loss", "accuracy", "seconds"), 0.5)
        self.writers[0].record(lambda seq: Evaluation(seq=seq, step=0, samples=samples, reached=False, **numbers))

    def done(self, rank):
        numbers = dict.fromkeys(("step", "samples", "clock", "wall", "hidden", "payload", "wire", "messages"), 0)
        phases = dict.fromkeys(PHASES, 0.0)
        self.writers[rank].record(lambda seq: Done(seq=seq, reason="budget", phases=phases, **numbers))

    def after(self, seconds):
        """Let time pass with a look every second; return the first cause, and how long it took."""
        for passed in range(1, int(seconds) + 1):
            self.now += 1
            self.witness.look()
            if why := self.watchdog.look():
                return why, passed
        return "", seconds

    def begin(self):
        """Start, be scored and make the first steps, within a second."""
        self.start()
        self.score()
        assert self.after(1) == ("", 1)
        for rank in range(RANKS):
            self.step(rank, 1)
        assert self.after(1) == ("", 1)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function that makes a run; its journals are closed behind the test."""
    with contextlib.ExitStack() as open_files:

        def make(**budget):
            run = Run(tmp_path, monkeypatch, **budget)
            for writer in run.writers:
                open_files.callback(writer.close)
            return run

        yield make


@pytest.fixture
def run(make):
    return make()


def test_ranks_that_write_nothing_for_a_minute_are_ended_and_the_last_one_is_named(run):
    run.begin()
    run.step(0, 7)
    run.step(1, 5)
    run.step(2, 7)
    why, passed = run.after(100)
    assert passed == 62
    assert why.startswith("no step and no evaluation for 61 s (the longest pause before took 1.0 s): ")
    assert "rank 1 at step 5; ranks 0, 2 at step 7" in why
    assert "Set budget.max_stall_seconds to allow pauses of more than 60 s" in why


def test_a_run_may_pause_twenty_times_as_long_as_it_did(run):
    run.begin()
    assert run.after(10)[0] == ""
    run.step(0, 2)
    why, passed = run.after(500)
    assert passed == 20 * 11 + 2, why  # the pause ended at the eleventh look


def test_an_evaluation_is_a_sign_of_life(run):
    run.begin()
    for _ in range(5):
        run.score()
        assert run.after(50)[0] == ""


def test_where_nobody_knows_how_long_an_evaluation_takes_it_is_an_hour(run):
    run.start()
    run.step(0, 1)
    why, passed = run.after(5000)
    assert passed == 60 * 60 + 2, why


def test_a_deadlock_before_the_first_step_is_found(run):
    run.start()
    run.score()
    why, passed = run.after(5000)
    assert passed == 60 * 60 + 2, why
    assert "no step and no evaluation for" in why
    assert "no rank has written a step" in why


def test_the_last_part_of_a_run_may_take_an_hour(run):
    """The test part is scored, which may be many times as large as the validation part."""
    run.begin()
    run.score(samples=1000)
    assert run.after(3600)[0] == ""
    assert run.after(10)[0] != ""


def test_ranks_that_are_done_and_do_not_end_are_ended(run):
    run.begin()
    for rank in range(RANKS):
        run.done(rank)
    why, passed = run.after(100)
    assert passed == 62, why
    assert why.startswith("all ranks were done 61 s ago and have not ended")


def test_a_checkpoint_that_is_being_written_is_a_sign_of_life(run, tmp_path):
    run.begin()
    part = tmp_path / "checkpoints" / "32" / "rank.0.tmp"
    part.parent.mkdir(parents=True)
    part.touch()
    assert run.after(100)[0] == ""
    os.utime(part, (0, 0))
    assert run.after(100)[0] != ""


def test_a_checkpoint_of_before_the_clock_was_set_back_is_no_sign_of_life(run, tmp_path):
    """It is newer than now for as long as the jump: a rank that hangs was waited for until then."""
    run.begin()
    file = tmp_path / "checkpoints" / "32" / "rank.0.npz"
    file.parent.mkdir(parents=True)
    file.touch()
    tomorrow = file.stat().st_mtime + 86_400
    for part in range(4):  # each later by that clock: it is being written
        os.utime(file, (tomorrow + part, tomorrow + part))
        assert run.after(50)[0] == ""
    assert run.after(200)[0] != ""


def test_the_budget_says_another_number(make):
    run = make(max_stall_seconds=600)
    run.begin()
    why, passed = run.after(1000)
    assert passed == 601, why


def test_time_in_which_nobody_looked_does_not_count(run):
    """Whoever stopped this process, or put the machine to sleep, has stopped the ranks as well."""
    run.begin()
    for _ in range(10):
        run.now += 3600
        assert run.after(5)[0] == ""


def test_the_wall_limit_is_watched_from_outside(make):
    run = make(max_seconds=100)
    run.begin()
    why, passed = run.after(1000)
    assert why.startswith("no step and no evaluation for 61 s"), "the run has not reached its limit"
    assert passed == 61


@pytest.mark.parametrize(("every", "ended"), [(50, 700), (1000, 162)])
def test_whoever_still_writes_has_longer_behind_the_wall_limit(make, every, ended):
    """The last evaluation and a checkpoint come behind the limit."""
    run = make(max_seconds=100, max_stall_seconds=10**6)
    run.begin()
    why, number = "", 0
    while not why:
        number += 1
        run.step(0, number)
        why, _ = run.after(every)
    assert why.startswith("still running 60 s after its wall limit of 100 s: a rank hangs: ")
    assert run.now - 1000 == pytest.approx(ended, abs=3)


def test_a_stopped_process_is_called_so(run):
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        sleeper.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)
        run.start((os.getpid(), os.getpid(), sleeper.pid), os.uname().nodename)
        run.score()
        for rank in range(RANKS):
            run.step(rank, 3)
        why, _ = run.after(100)
        assert "rank 2 is stopped by a signal at step 3; ranks 0, 1 at step 3." in why
    finally:
        sleeper.kill()
        sleeper.wait()


def test_where_most_ranks_write_nothing_a_period_lies_between_two_signs(tmp_path, monkeypatch):
    """Whatever the method calls its period, and whether or not the specification gives it."""
    from hooke.algorithms.local_sgd import LocalSGD

    class Strides(LocalSGD):
        period_field = "stride"
        stride: int = 7

    monkeypatch.setattr("hooke.catalogue.algorithm.catalogue", lambda: {"strides": Strides, "local-sgd": LocalSGD})
    for workers, name, factor in ((33, "strides", 7), (32, "strides", 1), (33, "local-sgd", 4), (33, "gone", 1)):
        document = spec(name, workers) | {"budget": {"samples": 1000, "max_stall_seconds": 1.0}}
        witness = Witness(AttemptFolder(tmp_path, "run", 1), workers)
        found = Watchdog(RunSpec.model_validate(document), witness)
        found._longest = 1.0
        assert found.allowed == watchdog.USUAL * factor * watchdog.UNKNOWN
