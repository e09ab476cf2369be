"""The peers train what Hooke trains: the same data, start and arithmetic, where one worker is alone."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.evidence.conditions import Place
from benchmarks.netlab.running import program
from benchmarks.peers import invariants
from benchmarks.peers.invariants import SLACK, faults, violations
from benchmarks.peers.running import left as left_in
from benchmarks.peers.running import result, run
from benchmarks.peers.settings import METHODS, Settings
from benchmarks.tuned.conditions import TASKS, TRIALS
from benchmarks.tuned.entries import DDP_APART, MPI4PY, OF_PYTORCH, TORCHFT

ROOT = Path(__file__).resolve().parents[2]


def ended(noise, *words, path=ROOT):
    """Run a Python program that trains on `noise` to its end."""
    environment = os.environ | {
        "HOOKE_DATA": str(noise),
        "PYTHONPATH": os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "UCX_LOG_LEVEL": "error",
    }
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def trained(noise, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    done = ended(noise, Path(__file__).with_name("one_worker.py"), folder)
    assert done.returncode == 0, done.stderr
    return read(folder / "weights.npz"), read(folder / "evaluations.npz")


def read(path):
    with np.load(path) as file:
        return dict(file)


@pytest.mark.parametrize("method", METHODS)
def test_one_worker_of_a_peer_is_sgd(trained, method):
    weights, evaluations = trained
    if method.startswith("torchft") and method not in weights:
        pytest.skip("NOT TESTED HERE: torchft is not installed (pip install torchft)")
    moved = np.abs(weights["hooke"] - weights["initial"]).max()
    assert moved > 0.01
    assert np.abs(weights["hooke"] - weights[method]).max() < 1e-3 * moved, "50 steps, to float32 rounding"
    assert evaluations["hooke"][:, 0].tolist() == evaluations[method][:, 0].tolist() == [0, 400, 800]
    np.testing.assert_allclose(evaluations[method][:, 1], evaluations["hooke"][:, 1], rtol=1e-5)


def test_one_worker_of_a_peer_with_adamw_is_the_catalogue_s_adamw(trained):
    weights, evaluations = trained
    moved = np.abs(weights["hooke-adamw"] - weights["initial"]).max()
    assert np.abs(weights["adamw"] - weights["hooke"]).max() > 0.1 * moved, "another optimizer"
    # AdamW moves weights whose gradient is rounding alone as fast as the others, in directions of chance.
    apart = np.abs(weights["hooke-adamw"] - weights["adamw"])
    assert np.quantile(apart, 0.99) < 1e-3 * moved
    np.testing.assert_allclose(evaluations["adamw"][:, 1], evaluations["hooke-adamw"][:, 1], rtol=1e-4)


def test_a_peer_that_has_left_its_outcome_is_not_undone_by_the_end_of_its_interpreter(noise, tmp_path):
    """Threads of PyTorch's groups now and then abort it there; here it is aborted always."""
    (tmp_path / "sitecustomize.py").write_text("import atexit, os\natexit.register(os.abort)\n")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    assert ended(noise, "-c", "pass", path=path).returncode == -signal.SIGABRT
    Settings("ddp", samples=160, every=80, target=None).write(tmp_path)
    done = ended(noise, "-m", "benchmarks.peers.training", tmp_path, path=path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "outcome.0.json").read_text())["steps"] == 10


TWO = Place("two", "two ranks", "here", 2)
SHORT = replace(TASKS["mnist"], samples=640, every=320, target=1.0)
ALONE = (MPI4PY, *TORCHFT)
"""Entries whose ranks are processes of their own, as all are where they are measured."""
CHOSEN = {"lr": 0.01, "momentum": 0.9, "period": 4, "warmup": 4}


def settings_of(entry):
    trials = entry.settings(TRIALS, TWO.hosts)
    (trial, *_) = (each for each in trials if each.get("accumulation", 1) <= 2)
    chosen = {name: value for name, value in CHOSEN.items() if name in trial}
    trial |= chosen if trial.get("optimizer") != "adamw" else {"period": chosen["period"]}
    return Settings(**entry.document(SHORT, TWO, trial, SHORT.samples, 0)["settings"])


def together(settings):
    """Carry out the peers in these folders by the same two processes; return the result of each."""
    for folder, each in settings.items():
        each.write(folder)
    words = ["env", f"PYTHONPATH={ROOT}", "GLOO_SOCKET_IFNAME=lo", sys.executable]
    status, _ = program(None, 2, [*words, str(Path(__file__).with_name("in_turn.py")), *map(str, settings)])
    return {folder: result(each, left_in(folder), f"status {status}") for folder, each in settings.items()}


@pytest.fixture(scope="module")
def carried_out(noise, tmp_path_factory):
    """Return a function that carries out a real run of two ranks of an entry, once: its result and folder."""
    found = {}

    def of(entry):
        if entry.name not in found:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("HOOKE_DATA", str(noise))
                if entry in ALONE:
                    folder = tmp_path_factory.mktemp("pair")
                    found[entry.name] = run(settings_of(entry), None, folder), folder
                else:
                    several = {tmp_path_factory.mktemp("pair"): each for each in OF_PYTORCH if each not in ALONE}
                    results = together({folder: settings_of(each) for folder, each in several.items()})
                    found.update((each.name, (results[folder], folder)) for folder, each in several.items())
        return found[entry.name]

    return of


@pytest.fixture(params=[*OF_PYTORCH, *TORCHFT], ids=lambda entry: entry.name)
def pair(request, carried_out):
    """Return a real run of two ranks of an entry of the tuned comparison, as one of its trials is."""
    if request.param in TORCHFT and not find_spec("torchft"):
        pytest.skip("NOT TESTED HERE: torchft is not installed (pip install torchft)")
    return carried_out(request.param)


def test_the_records_of_a_peer_satisfy_the_rules_of_the_clock(pair, monkeypatch):
    result, folder = pair
    monkeypatch.setattr(invariants, "SLACK", 0.5)  # other tests use the cores, too: ranks wait longer for one
    assert result["state"] == "succeeded", result["why"]
    assert faults(folder) == []
    ranks = [json.loads(path.read_text()) for path in sorted(folder.glob("outcome.*.json"))]
    assert len(ranks) == 2
    for rank in ranks:
        assert [evaluation[0] for evaluation in rank["evaluations"]] == [0, 320, 640]
        stood = sum(evaluation[4] for evaluation in rank["evaluations"]) + rank["test"][2]
        assert rank["wall"] - rank["clock"] == pytest.approx(rank["phases"]["evaluate"])
        assert rank["phases"]["evaluate"] == pytest.approx(stood, rel=0.05, abs=0.01), "measured apart"


def test_a_peer_is_judged_on_the_validation_part_and_scored_once_on_the_test_part(pair, noise):
    """The shares of the validation items, and of the test items, are whole counts of correct ones."""
    result, folder = pair
    outcome = json.loads((folder / "outcome.0.json").read_text())
    assert result["validation_accuracy"] == result["evaluations"][-1]["accuracy"] == outcome["evaluations"][-1][3]
    assert result["test_accuracy"] == outcome["test"][1]
    held_out, test = 640 // 10, 64
    for accuracy, count in ((result["validation_accuracy"], held_out), (result["test_accuracy"], test)):
        assert accuracy * count == pytest.approx(round(accuracy * count), abs=1e-9)
    assert result["test_loss"] != result["validation_loss"]


def test_ddp_and_the_plain_loop_over_mpi_learn_the_same(carried_out):
    """Both step along the mean of the same gradients; with accumulation, half as often."""
    no_accumulation, accumulation = DDP_APART
    weights = {}
    for entry in (no_accumulation, accumulation, MPI4PY):
        result, folder = carried_out(entry)
        assert result["parameters"]["momentum"] == 0.9
        weights[entry.name] = np.load(folder / "weights.0.npy")
    apart = np.abs(weights[no_accumulation.name] - weights[MPI4PY.name]).max()
    other = np.abs(weights[accumulation.name] - weights[MPI4PY.name]).max()
    assert other > 1e-3
    assert apart < 1e-3 * other


def test_a_bucket_for_all_and_a_narrow_wire_are_settings_of_ddp_alone():
    for wrong in ({"wire": "bf16"}, {"buckets": "one"}):
        with pytest.raises(ValueError, match="settings of ddp"):
            Settings("mpi4py", **wrong)
    with pytest.raises(ValueError, match="wire is of"):
        Settings("ddp", wire="fp8")


def left(**changes):
    """Return what two ranks may leave: one second of work, two evaluations of a quarter."""
    rank = {
        "rank": 0,
        "clock": 1.2,
        "wall": 2.0,
        "phases": {"data": 0.1, "compute": 0.8, "update": 0.1, "communicate": 0.1, "idle": 0.1, "evaluate": 0.8},
        "evaluations": [(0, 0.0, 2.3, 0.1, 0.25), (160, 1.2, 2.0, 0.3, 0.25)],
        "test": (2.0, 0.3, 0.3),
    }
    return [rank, rank | {"rank": 1} | changes]


def test_records_that_contradict_the_clock_are_found_out():
    assert list(violations(left())) == []
    (said,) = violations(left(clock=0.95, wall=1.7))
    assert said.startswith("rank 1 worked for 1.000 s while the train clock says 0.950 s")
    (said,) = violations(left(wall=2.0 + 4 * SLACK))
    assert said.startswith("rank 1 was off the clock for 1.200 s, its evaluations took 0.800 s")
    (said,) = violations(left(evaluations=[(0, 0.0, 2.3, 0.1, 0.25), (160, 0.8, 2.0, 0.3, 0.25)]))
    assert said.startswith("at 160 samples the clock of rank 0 says 1.200 s, that of rank 1 0.800 s")
    (said,) = violations(left(evaluations=[(0, 0.0, 2.3, 0.1, 0.25), (320, 1.2, 2.0, 0.3, 0.25)]))
    assert "not scored at the same samples" in said
    assert any(
        "backwards" in said
        for said in violations(left(evaluations=[(0, 0.3, 2, 0, 0.25), (160, 0.2, 2, 0, 0.25)]))
    )
    assert list(violations([])) == ["no rank has left a record"]
