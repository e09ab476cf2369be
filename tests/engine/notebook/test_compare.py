"""Comparisons in a program: the same bits as a specification, and what the result says, keeps and draws."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import hooke
import numpy as np
import pytest
import torch
from hooke.comparison.effort import AS_GIVEN
from hooke.notebook.plotting import draw
from hooke.spec.specification import ExperimentSpec, canonical
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from torch.nn import functional

from tests.engine.notebook.data import GIVEN, METHODS, QUICK, TEST, TRAIN

ROOT = Path(__file__).parents[3]
FILE = """
from torch.nn.functional import cross_entropy
from tests.engine.notebook import data as given
import torch

def model():
    return given.model()

def data():
    return tuple(tuple(map(torch.tensor, part)) for part in (given.TRAIN, given.TEST))

def loss(output, labels):
    return cross_entropy(output, labels)
"""


@pytest.fixture(scope="module")
def found():
    before = torch.get_num_threads(), torch.random.get_rng_state(), np.random.get_state()[1].copy()
    often = QUICK | {"seeds": 3, "evaluate_every": 80}
    found = hooke.compare(METHODS, **GIVEN, **often, target=0.8, network="1Gb/s")
    after = torch.get_num_threads(), torch.random.get_rng_state(), np.random.get_state()[1]
    assert before[0] == after[0] and torch.equal(before[1], after[1]) and np.array_equal(before[2], after[2])
    return found


def weights(run):
    return [np.load(run.folder / f"final.{rank}.npz")["weights"] for rank in range(run.spec.workers)]


@pytest.mark.usefixtures("warm_ranks")
def test_the_document_gives_the_same_bits(found, tmp_path):
    """`hooke run`, a process of its own, with the functions in a user's file."""
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads/notebook.py").write_text(FILE)
    document = tmp_path / "experiment.json"
    document.write_text(canonical(found.specification))
    saved = tmp_path / "weights.npz"
    command = [sys.executable, "-m", "hooke", "run", str(document), "--variant", "async-easgd", "--json"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"HOOKE_PATH": str(tmp_path), "PYTHONPATH": path}
    told = subprocess.run(
        [*command, "--save", str(saved)], env=environment, check=True, capture_output=True, text=True
    )
    run = next(r for r in found.runs if (r.figures.variant, r.figures.seed) == ("async-easgd", 0))
    with np.load(saved) as there:
        assert all(np.array_equal(there[f"worker_{rank}"], here) for rank, here in enumerate(weights(run)))
    scored = json.loads(told.stdout)["evaluations"]
    assert [(e["samples"], e["train_seconds"], e["loss"], e["accuracy"]) for e in scored] == [
        (e.samples, e.clock, e.loss, e.accuracy) for e in run.evaluations
    ]


def test_data_sets_and_tensors_train_as_arrays_do(found):
    """Also doubles, and a data set that several ranks read; with a validation part of its own none is cut."""

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return len(TRAIN[1])

        def __getitem__(self, index):
            return TRAIN[0][index].astype(np.float64), int(TRAIN[1][index])

    other = GIVEN | {"train": Items(), "test": tuple(map(torch.tensor, TEST))}
    chosen = {"methods": {"sync-easgd": METHODS["sync-easgd"]}, "target": 0.8, "network": "1Gb/s"}
    again = hooke.compare(**chosen, **other, **QUICK | {"evaluate_every": 80})
    assert all(map(np.array_equal, weights(again.runs[0]), weights(found.runs[0])))
    parts = hooke.compare(**chosen, **GIVEN, validation=TEST, **QUICK)
    whole = json.loads((parts.runs[0].folder / "journal.0.jsonl").read_text().splitlines()[0])
    assert "validation part" not in whole["notes"]


def test_the_verdict_says_what_it_stands_on(found):
    first, second, third = str(found.verdict).splitlines()
    told = "On 1gb-s (2 workers, simulated), time to 80% validation accuracy against sync-easgd"
    assert first.startswith(f"{told}, 95% intervals: ")
    assert second == AS_GIVEN
    assert third == (
        "The simulated compute time, 20 us per sample, is as given (`seconds_per_sample`), not measured."
    )
    assert repr(found) == repr(found.verdict) == str(found.verdict)
    assert not found.interrupted and found.complete


def test_the_table_is_that_of_the_runs(found):
    table = found.table
    assert list(table.index) == ["sync-easgd", "async-easgd"]
    for name, row in table.iterrows():
        own = [run.figures for run in found.runs if run.figures.variant == name]
        assert row.reached == row.runs == 3
        assert row.time_to_target == pytest.approx(np.median([run.time_to_target for run in own]))
        assert row.test_accuracy == pytest.approx(np.mean([run.test_accuracy for run in own]))
    figures = [run.figures for run in found.runs]
    times = {name: [run.time_to_target for run in figures if run.variant == name] for name in METHODS}
    logs = np.log(np.array(times["sync-easgd"]) / np.array(times["async-easgd"]))
    assert table.speed_up["async-easgd"] == pytest.approx(np.exp(logs.mean()))
    assert found.settings["async-easgd"]["period"] == 2


def test_the_figure_has_every_evaluation(found):
    (ax,) = found.plot().axes
    drawn = [line for line in ax.lines if len(line.get_xdata()) > 2 or line.get_marker() == "."]
    assert len(drawn) == 6
    for line, run in zip(drawn[:3], (r for r in found.runs if r.figures.variant == "sync-easgd"), strict=True):
        assert list(line.get_xdata()) == [e.clock for e in run.evaluations]
        assert list(line.get_ydata()) == [e.accuracy for e in run.evaluations]
    assert len({to_hex(line.get_color()) for line in drawn}) == 2
    assert ax.get_xlabel() == "train time, simulated seconds"
    assert found.plot(ax) is ax.figure and len(ax.lines) > len(drawn) + 1


def test_more_methods_than_colors_differ_in_their_lines(found):
    (first, *_), names = [run for run in found.runs if run.evaluations], [f"method {k}" for k in range(25)]
    variant = found.specification.variants[0]
    of_all = {"variants": [variant.model_copy(update={"name": name}) for name in names]}
    runs = [replace(first, figures=replace(first.figures, variant=name)) for name in names]
    ax = Figure().subplots()
    draw(ax, found.specification.model_copy(update=of_all), runs)
    drawn = [line for line in ax.lines if line.get_marker() == "."]
    assert len({(to_hex(line.get_color()), line.get_linestyle()) for line in drawn}) == len(drawn) == len(names)


def test_what_is_saved_can_be_run(found, tmp_path):
    folder = found.save(tmp_path / "kept")
    spec = ExperimentSpec.model_validate_json((folder / "experiment.json").read_text())
    assert canonical(spec) == canonical(found.specification)
    assert (folder / "verdict.txt").read_text() == f"{found.verdict}\n"
    with (folder / "table.csv").open() as file:
        assert [row["method"] for row in csv.DictReader(file)] == list(METHODS)
    for run in found.runs:
        for kept in (folder / "runs" / run.folder.name).iterdir():
            assert kept.read_bytes() == (run.folder / kept.name).read_bytes()
    with pytest.raises(hooke.ArgumentError, match="kept is not empty: name another folder"):
        found.save(folder)


def test_ctrl_c_gives_what_is_done():
    """The second run is interrupted while it trains: it has not finished, and the later ones have not begun."""
    pressed = []

    def press(progress):
        if progress.ended == 1 and progress.result is None and not pressed:
            pressed.append(progress)
            raise KeyboardInterrupt

    many = QUICK | {"seeds": 3, "progress": press, "samples": 8000, "evaluate_every": 8000}
    found = hooke.compare(["sync-easgd", "local-sgd"], **GIVEN, **many, target=1.0)
    states = [str(run.figures.state) for run in found.runs]
    assert states == ["succeeded", "cancelled", "queued", "queued", "queued", "queued"]
    assert found.interrupted
    assert "so far 2 of 6 runs ended" in found.verdict
    assert found.verdict.endswith("Interrupted: these are the runs that had ended before.")


def test_a_run_that_diverges_misses_the_target_and_a_method_that_raises_is_told(tmp_path):
    wild = {"sync-easgd": {"lr": 0.001}, "wild": {"algorithm": "local-sgd", "lr": 10}}
    found = hooke.compare(
        wild, **GIVEN, **QUICK, target=0.8, loss=lambda output, labels: (output - 9).pow(4).mean()
    )
    assert [run.figures.diverged for run in found.runs] == [False, True]
    assert "wild, seed 0, failed: NumericalError: " in found.verdict and " of rank " in found.verdict
    _, wild = found.runs
    for number, said in ((6, "\n1 more run has failed."), (8, "\n3 more runs have failed.")):
        assert said in replace(found, runs=(*found.runs[:1], *[wild] * number)).verdict

    def loss(output, labels):
        assert len(labels) != 8 or loss.calls < 9, "the ninth batch"
        loss.calls += 1
        return functional.cross_entropy(output, labels)

    loss.calls = 0
    with pytest.raises(
        hooke.errors.LaunchError, match=r"first run failed \(sgd, seed 0\): AssertionError: the ninth"
    ):
        hooke.compare(["sgd"], **GIVEN, **QUICK, loss=loss)


def test_a_regression_has_a_loss_as_its_target():
    """y = x W: least squares, of which the mean squared error falls below a hundredth of its variance."""
    inputs = np.random.default_rng(3).standard_normal((300, 3))
    labels = inputs @ np.array([[1.0], [-2.0], [0.5]])
    parts = {"train": (inputs, labels), "test": (inputs[:50], labels[:50])}
    chosen = {"loss": functional.mse_loss, "target": 0.05, "metric": "loss"}
    found = hooke.compare({"sgd": {"lr": 0.1}}, model=lambda: torch.nn.Linear(3, 1), **parts, **chosen, **QUICK)
    (run,) = found.runs
    assert run.figures.time_to_target > 0 and run.evaluations[-1].loss <= 0.05 < run.evaluations[-2].loss
    assert "time to validation loss 0.05" in found.verdict or "no variant to compare" in found.verdict


def test_the_compute_time_is_measured_and_told(monkeypatch):
    monkeypatch.setattr("hooke.objective.calibrate.SECONDS", 0.0)
    quick = {key: value for key, value in QUICK.items() if key not in ("seconds_per_sample", "evaluate_every")}
    found = hooke.compare(["sgd"], **GIVEN, **quick | {"samples": 16})
    (cluster,) = found.specification.clusters
    assert cluster.virtual.compute_source.startswith("measured on 1 thread(s) of ")
    assert "is measured on 1 thread(s) of " in found.verdict


def last(run, rank):
    """Return the last record of a rank."""
    return json.loads((run.folder / f"journal.{rank}.jsonl").read_text().splitlines()[-1])


def test_workers_may_differ_in_speed():
    """A synchronous step is that of the slowest; who asks for work takes as many steps as it is fast."""
    kinds = {"workers": ({"kind": "cpu"}, {"kind": "cpu", "speed": np.float64(0.25)}), "sharding": "dispatched"}
    network = hooke.Network("10gbe", jitter=0)
    found = hooke.compare(["sync-sgd", "async-sgd"], **GIVEN, **QUICK | kinds, network=network)
    (cluster,) = found.specification.clusters
    assert cluster.workers == [2] and [group.speed for group in cluster.virtual.devices] == [1, 0.25]
    assert "(2 workers, simulated" in found.verdict and "\nThe workers: cpu, cpu@0.25.\n" in found.verdict
    together, apart = found.runs
    slowest = 100 * 8 * QUICK["seconds_per_sample"] / 0.25
    assert slowest < together.figures.clock < 1.2 * slowest
    steps = [last(apart, rank)["step"] for rank in range(2)]
    assert sum(steps) == 200 and steps[0] / steps[1] == pytest.approx(4, rel=0.2)


def test_real_ranks_train_the_same_model():
    """Tree and virtual time add in one order: the weights are those of the other world, bit for bit.

    Also where one worker is slower, which both are told in the same words.
    """

    def loss(output, labels):  # of this function alone: no other process can import it
        return 2 * functional.cross_entropy(output, labels)

    chosen = {"methods": {"local-sgd": {"period": 4}}, "loss": loss}
    chosen |= {"workers": [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.5}]}
    quick = {key: value for key, value in QUICK.items() if key not in ("seconds_per_sample", "workers")}
    worlds = ({"seconds_per_sample": 2e-5}, {"world": "mpi"})
    both = [hooke.compare(**chosen, **GIVEN, **quick, **world) for world in worlds]
    assert all(map(np.array_equal, *(weights(found.runs[0]) for found in both)))
    fast, slow = (last(both[1].runs[0], rank) for rank in range(2))
    assert "slowed_to" not in fast and 0 < slow["slowed_to"] < 0.6, "a busy machine makes sleeps longer"
    assert "(2 workers, real" in both[1].verdict
    assert not list(both[1].runs[0].folder.glob("*.pickle"))
