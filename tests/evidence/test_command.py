"""The command: what it refuses, and one real run of it."""

import json
import multiprocessing
import signal
import subprocess
import sys
import time
from typing import Any, NamedTuple

import pytest

from benchmarks.evidence import __main__ as command
from benchmarks.evidence import machine, running
from benchmarks.evidence.conditions import PLACES, Place
from benchmarks.evidence.matrix import Matrix, Stage
from benchmarks.evidence.store import ROOT, Store, over
from benchmarks.netlab import lab as labs
from benchmarks.tuned.store import KEPT
from tests.evidence.storing import DIVERGED

DOCUMENT = {
    "schema": "hooke.run/1",
    "workload": {"name": "digits-mlp"},
    "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.1}},
    "batch": 16,
    "workers": 2,
    "world": "virtual",
    "virtual": {},
    "budget": {"samples": 320},
    "evaluation": {"every": 320},
    "checkpoint": "never",
}

UNSTABLE = {
    "algorithm": {"name": "sync-easgd", "parameters": {"lr": 10, "momentum": 0.9}},
    "budget": {"samples": 3200},
}


class Simulated(NamedTuple):
    """A run in virtual time."""

    document: dict[str, Any]
    place: Place = PLACES["virtual"]


@pytest.fixture
def said(monkeypatch, tmp_path, capsys):
    """Return a function that runs the command over an empty folder and returns (status, output, errors)."""
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(command, "PAGES", tmp_path / "pages")

    def call(*words: str):
        monkeypatch.setattr(sys, "argv", ["evidence", *words])
        status = command.main()
        return status, *capsys.readouterr()

    return call


def test_without_data_it_says_what_is_missing(said, monkeypatch, tmp_path):
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    status, _, errors = said("--quick", "run")
    assert status == 2
    assert "HOOKE_DATA must be a folder that contains mnist/" in errors
    monkeypatch.delenv("HOOKE_DATA")
    assert said("run")[0] == 2


def test_pages_of_nothing_are_refused(said):
    status, _, errors = said("pages")
    assert status == 2
    assert "nothing has been run yet" in errors
    assert said("pages", "--kept")[0] == 2


def test_to_run_all_anew_is_refused(said, noise, monkeypatch):
    monkeypatch.setenv("HOOKE_DATA", str(noise))
    status, _, errors = said("run", "--again")
    assert status == 2
    assert "--again needs --only" in errors


def on_a_processor(monkeypatch, bf16: str) -> None:
    hardware = machine.hardware() | {"bf16": bf16}
    monkeypatch.setattr(machine, "hardware", lambda: hardware)


def test_where_bf16_is_emulated_it_says_so_and_computes_in_fp32(said, monkeypatch):
    on_a_processor(monkeypatch, bf16="emulated")
    status, output, errors = said("list")
    assert status == 0
    assert "bf16 is not faster than fp32 on this processor: everything computes in fp32" in errors
    assert "Hooke, fp32, here" in output
    assert "Hooke, bf16" not in output


def test_without_root_it_says_so_and_goes_on_with_what_is_left(said, monkeypatch):
    on_a_processor(monkeypatch, bf16="tiles")
    monkeypatch.setattr(labs, "lacking", lambda: "only root may")
    status, output, errors = said("--quick", "list")
    assert status == 0
    assert "no emulated hosts: only root may" in errors
    assert "virtual, rate 0.1, to choose a rate" in output
    assert "Hooke, bf16, here" in output
    assert "hosts" not in output


def test_a_list_that_nobody_reads_on_ends_quietly():
    line = [sys.executable, "-m", "benchmarks.evidence", "list"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert b"Traceback" not in errors
    assert b"BrokenPipeError" not in errors
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order_also_in_the_background(said, noise, monkeypatch, number):
    def long(*_: object) -> int:
        signal.raise_signal(number)
        raise AssertionError("it went on")

    monkeypatch.setenv("HOOKE_DATA", str(noise))
    monkeypatch.setattr(running, "run_matrix", long)
    before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        status, _, errors = said("--quick", "run")
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert status == 130
    assert "the next start continues from them" in errors


def test_only_chooses_by_key_or_title(said):
    _, every, _ = said("list")
    key, title = every.splitlines()[0].split(" ", 1)
    assert said("list", "--only", key)[1].splitlines() == [f"{key} {title}"]
    assert said("list", "--only", "seed 7")[1] == ""


def test_a_run_and_its_peer_are_measured_once_and_a_failure_is_no_result(noise, monkeypatch, tmp_path):
    monkeypatch.setenv("HOOKE_DATA", str(noise))
    store = Store(tmp_path)
    matrix = Matrix((Stage(("here",), paces=("Hooke, bf16", "plain PyTorch, bf16"), repeats=(0,)),), steps=10)
    assert running.run_matrix(matrix, store, None, lambda _: True) == 2
    runs = store.load()
    assert {run["result"]["samples"] for run in runs.values()} == {160}
    assert all(
        run["session"] in store.sessions() and run["result"]["samples_per_second"] > 0 for run in runs.values()
    )
    assert running.run_matrix(matrix, store, None, lambda _: True) == 0, "all there"

    monkeypatch.setattr(running, "run", lambda *_: {"state": "failed_infra", "why": "lost a host"})
    assert running.run_matrix(matrix, store, None, lambda c: "Hooke" in c.title, again=True) == 1
    assert store.load() == runs
    (failure,) = (tmp_path / "failures").iterdir()
    assert json.loads(failure.read_text())["result"]["why"] == "lost a host"
    assert running.run_matrix(matrix, store, 0.0, lambda _: True, again=True) == 0, "no time, no run"


def test_a_run_whose_records_contradict_the_clock_is_no_result_and_is_named(noise, monkeypatch, tmp_path):
    """A peer whose rank says that it worked for longer than its clock: the command ends and names the run."""
    monkeypatch.setenv("HOOKE_DATA", str(noise))
    store, real = Store(tmp_path), running.run
    matrix = Matrix((Stage(("here",), paces=("plain PyTorch, fp32",), repeats=(0,)),), steps=10)

    def slow_clock(cell, lab, folder):
        result = real(cell, lab, folder)
        path = folder / "outcome.0.json"
        outcome = json.loads(path.read_text())
        path.write_text(json.dumps(outcome | {"clock": outcome["clock"] / 2}))
        return result

    monkeypatch.setattr(running, "run", slow_clock)
    with pytest.raises(running.BrokenClock, match=r"plain PyTorch, fp32, here, .*rank 0 worked for") as raised:
        running.run_matrix(matrix, store, None, lambda _: True)
    assert store.load() == {}
    (failure,) = (tmp_path / "failures").iterdir()
    assert json.loads(failure.read_text())["cell"]["label"] in str(raised.value)
    monkeypatch.setattr(running, "run", real)
    assert running.run_matrix(matrix, store, None, lambda _: True) == 1, "and it is run again"
    assert len(store.load()) == 1


def test_a_failure_that_is_no_divergence_says_nothing_of_a_method(monkeypatch, tmp_path, noise):
    monkeypatch.setenv("HOOKE_DATA", str(noise))
    store = Store(tmp_path)
    matrix = Matrix((Stage(("here",), paces=("Hooke, fp32", "plain PyTorch, fp32"), repeats=(0,)),), steps=10)
    ends = iter([{"state": "failed_user", "why": "a bug", "diverged": False}, DIVERGED | {"algorithm": "sgd"}])
    monkeypatch.setattr(running, "run", lambda *_: next(ends))
    monkeypatch.setattr(running, "faults", lambda *_: [])
    running.run_matrix(matrix, store, None, lambda _: True)
    assert [run["cell"]["label"] for run in store.load().values()] == ["plain PyTorch, fp32"]


def test_processor_time_is_limited_and_waiting_is_not():
    """What sleeps for longer than its limit goes on; what computes is ended, and so is what it has started."""
    asleep = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1.5)"])
    busy = "while True: pass"
    call = f"sys.exit(subprocess.call([sys.executable, '-c', {busy!r}]))"
    nested = f"import subprocess, sys; sys.stdin.read(); {call}"
    computing = [subprocess.Popen([sys.executable, "-c", each], stdin=subprocess.PIPE) for each in (busy, nested)]
    for process in (asleep, *computing):
        running.limit_processor_time(process.pid, 1)
    for process in computing:
        process.stdin.close()
    assert [process.wait(120) for process in computing] == [-signal.SIGXCPU, 256 - signal.SIGXCPU]
    assert asleep.wait() == 0
    running.limit_processor_time(asleep.pid, 1)  # has ended: nothing to do


def test_a_simulated_run_is_ended_by_processor_time_and_says_by_whom(tmp_path):
    """It is no result of the method, whatever the wall time; one that ends has a result."""
    cell = Simulated(DOCUMENT | {"budget": {"samples": 1_000_000}})
    found = running.run_within(1.0, cell, None, tmp_path / "long" / "run")
    assert not over(found)
    assert found["why"] == f"not over after 1 s of processor time: {running.OWN_LIMIT}"
    assert 0.5 < found["processor_seconds"] < 20
    found = running.run_within(300.0, Simulated(DOCUMENT), None, tmp_path / "short" / "run")
    assert over(found)
    assert found["processor_seconds"] > 0.5
    again = running.run_within(300.0, Simulated(DOCUMENT), None, tmp_path / "forked" / "run", cores=1)
    own = {"processor_seconds", "wall_seconds", "why", "folder", "energy_j", "energy_note", "clock_faults"}
    assert again.keys() >= set(KEPT) - {"cpu_seconds"}
    assert {k: v for k, v in again.items() if k not in own} == {k: v for k, v in found.items() if k not in own}
    assert running.faults(Simulated(DOCUMENT), tmp_path / "forked" / "run") == []


@pytest.mark.parametrize(
    ("changes", "limit", "says"),
    [
        ({"budget": {"samples": 10**8}}, 1.0, "not over after 1 s of processor time: "),
        (UNSTABLE, 300.0, "NumericalError: "),
        ({"workload": {"name": "fashion-lenet"}}, 300.0, "DataMissing: "),
    ],
)
def test_a_fork_that_has_no_result_says_why(monkeypatch, tmp_path, changes, limit, says):
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    found = running.run_within(limit, Simulated(DOCUMENT | changes), None, tmp_path / "run", cores=1)
    assert found["why"].startswith(says)
    assert found["diverged"] == over(found) == says.startswith("NumericalError")
    assert list(multiprocessing.active_children()) == []


def test_a_run_that_hangs_is_ended_from_outside():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(running.Overrun, match="not over after 0 s"), running.within(0.05):
        time.sleep(5)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
