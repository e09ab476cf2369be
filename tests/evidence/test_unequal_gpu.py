"""The real condition with a device and the CPU beside it: how it is laid out, and what is told of it, by hand."""

import json
import math
from dataclasses import asdict, replace

import pytest
from hooke.catalogue.validation import validate_run
from hooke.hardware.gpus import DEVICE_ID
from hooke.loop.train import run_spec_virtual
from hooke.spec.events import STEP_COLUMNS
from hooke.spec.journal import JournalWriter

from benchmarks.unequal import conditions, few, for_real, journals, nvml, planted, rates, real, runs
from benchmarks.unequal.conditions import CONDITIONS, REAL_TRIALS, SEEDS, TIMINGS, TUNING_SEED
from benchmarks.unequal.entries import (
    ADAPTIVE,
    FASTEST,
    MERGING,
    PROCESS,
    SLOWEST,
    SPLIT,
    STATIC,
    SYNC,
    document,
    entries,
    trial,
)
from benchmarks.unequal.page import page
from benchmarks.unequal.rates import Rates
from benchmarks.unequal.runs import Run, run_of
from tests.evidence.test_unequal import COSTS

TASK, TIMING = "w8a-deep", TIMINGS["gpu"]
KNOWN = {
    "device": {"1": 500.0, "1024": 512_000.0, "8192": 4_096_000.0},
    "threads": {"1": 100.0, "128": 8000.0, "1024": 16_000.0},
    "process": {"1": 400.0, "128": 12_000.0, "1024": 20_000.0},
}
MEASURED = Rates("cuda", 12, 2, {"device": "a device", "machine": "16 cores", "torch": "2"}, {TASK: KNOWN})


@pytest.fixture
def device(monkeypatch):
    for name in TIMINGS:
        monkeypatch.setitem(CONDITIONS, name, conditions.of_gpu(MEASURED, name))


def test_rates_lie_between_those_that_were_measured_and_are_kept(tmp_path):
    """By hand: 32 is half way between 1 and 1024 by logarithms, and so is the rate."""
    assert MEASURED.rate(TASK, "device", 32) == pytest.approx(math.sqrt(500 * 512_000))
    assert MEASURED.rate(TASK, "threads", 5000) == 16_000, "beyond the last"
    assert MEASURED.rate("another", "threads", 128) == pytest.approx(8000)
    assert MEASURED.seconds(TASK, "device", 1024) == pytest.approx(2e-3)
    rates.write(tmp_path / "rates.json", MEASURED)
    assert asdict(rates.read(tmp_path / "rates.json")) == asdict(MEASURED)
    assert rates.read(tmp_path / "none").tasks is None


def test_cores_are_left_to_the_server_and_to_the_process_that_feeds_the_device():
    for cores, wanted in ((16, (12, 2)), (8, (4, 2)), (2, (2, 1))):
        threads, beside = rates.usual(cores)
        assert (threads, beside) == wanted
        assert cores < 8 or threads + 2 * beside <= cores


@pytest.mark.usefixtures("device")
def test_every_trial_on_a_device_can_run():
    names = entries("gpu")
    assert len(names) == 9
    assert {PROCESS, SYNC, SPLIT, FASTEST, SLOWEST, STATIC, ADAPTIVE, MERGING, "Heterogeneous EASGD"} == set(names)
    for entry in names:
        for number in range(REAL_TRIALS):
            spec = validate_run(document(TASK, "gpu", entry, trial(entry, "gpu", number), 0))
            assert (spec.world, spec.budget.max_seconds) == ("mpi", TIMING.wall)
            assert spec.evaluation.every < spec.budget.samples
            assert spec.compute.threads == 2
    kinds = [group["kind"] for group in document(TASK, "gpu", STATIC, trial(STATIC, "gpu", 0), 0)["groups"]]
    assert kinds == ["cuda", "hogwild-cpu"]
    assert document(TASK, "gpu", SLOWEST, trial(SLOWEST, "gpu", 0), 0)["groups"] == [
        {"kind": "hogwild-cpu", "threads": 12}
    ]


@pytest.mark.usefixtures("device")
def test_every_batch_has_its_turn():
    """So it does not depend on the draw which method has had a small batch."""
    for entry in (SYNC, FASTEST, SLOWEST, "Heterogeneous EASGD"):
        assert sorted(trial(entry, "gpu", number)["batch"] for number in range(REAL_TRIALS)) == [
            128,
            256,
            512,
            1024,
        ]
    for entry in (STATIC, ADAPTIVE, MERGING):
        assert sorted(trial(entry, "gpu", number)["batch"] for number in range(REAL_TRIALS)) == [
            128,
            128,
            256,
            256,
        ]


@pytest.mark.usefixtures("device")
def test_the_device_begins_with_the_largest_batches_and_keeps_a_quarter():
    for number in range(REAL_TRIALS):
        found = trial(ADAPTIVE, "gpu", number)
        assert found["sizes"] == [found["largest"], 1]
        assert found["smallest_of"] == [found["largest"] // 4, 1]


@pytest.mark.usefixtures("device")
def test_the_cpu_is_one_process_for_one_entry_which_has_the_draws_of_another():
    for number in range(REAL_TRIALS):
        assert trial(PROCESS, "gpu", number) == trial(ADAPTIVE, "gpu", number)
    document_of = document(TASK, "gpu", PROCESS, trial(PROCESS, "gpu", 0), 0)
    assert document_of["groups"] == [{"kind": "cuda"}, {"kind": "cpu", "threads": 12}]


@pytest.mark.usefixtures("device")
def test_small_batches_are_a_condition_of_their_own():
    (task,) = CONDITIONS["gpu-small"].tasks
    for entry in entries("gpu-small"):
        for number in range(REAL_TRIALS):
            found = trial(entry, "gpu-small", number)
            assert found["batch"] in (16, 32, 64, 128)
            assert (
                validate_run(document(task, "gpu-small", entry, found, 0)).budget.max_seconds
                == TIMINGS["gpu-small"].wall
            )


def test_what_a_device_does_in_a_run_is_read_meanwhile():
    """By hand: 50 and 100% busy, 100 J in a second; readings before and after do not count."""
    watch = nvml.Watch()
    readings = [(0.9, 0.0, 0.0), (1.0, 0.5, 40.0), (2.0, 1.0, 140.0), (2.1, 0.0, 900.0)]
    watch._readings = [nvml.Reading(*each) for each in readings]
    assert watch.between(1.0, 2.0) == {"gpu_busy": 0.75, "gpu_watts": 100.0}
    assert watch.between(3.0, 4.0) == {}


def test_the_device_is_that_which_any_rank_of_any_run_has_named(tmp_path):
    """For real, but for the name: two runs in virtual time, of which the second knows a device, on rank 1."""
    folders = [tmp_path / "first", tmp_path / "second"]
    named = {"workers": 2, "budget": {"samples": 64}, "target": None, "batch": 16, "evaluation": {"every": 64}}
    spec = validate_run(document("digits", "ratio-2", SYNC, {"batch": 16, "lr": 0.1}, 1) | named)
    run_spec_virtual(spec, folders[0])
    run_spec_virtual(spec, folders[1])
    watch = nvml.Watch(read=lambda device: (0.5, len(device)))
    watch.find(folders)
    assert watch._device == ""
    journal = folders[1] / "journal.1.jsonl"
    first, _, rest = journal.read_text().partition("\n")
    start = json.loads(first)
    start["notes"] |= {DEVICE_ID: "GPU-7"}
    journal.write_text(f"{json.dumps(start)}\n{rest}")
    watch.find(folders)
    watch.close()
    assert watch._device == "GPU-7"


@pytest.mark.usefixtures("device")
def test_evaluations_are_spaced_by_seconds():
    """By hand: a step of the device takes 2 ms at 1024; one of the CPU 16 ms at 128."""
    alone = document(TASK, "gpu", FASTEST, {"batch": 1024, "lr": 0.1}, 0)
    assert alone["evaluation"]["every"] == round(TIMING.between * 512_000)
    cpu = document(TASK, "gpu", SLOWEST, {"batch": 128, "lr": 0.1}, 0)
    assert cpu["evaluation"]["every"] == round(TIMING.between * 8000)
    both = document(TASK, "gpu", SYNC, {"batch": 128, "lr": 0.1}, 0)
    assert both["evaluation"]["every"] == round(TIMING.between * 256 / (16e-3 + rates.EXCHANGE))
    sizes = {"batch": 128, "lr": 0.1, "largest": 8, "sizes": [8, 1], "alpha": 1.0}
    each = 1024 / (2e-3 + rates.EXCHANGE) + 128 / (16e-3 + rates.EXCHANGE)
    assert document(TASK, "gpu", STATIC, sizes, 0)["evaluation"]["every"] == round(TIMING.between * each)


def recorded(entry, seconds, number, **more):
    run = Run(TASK, "gpu", entry, number, TUNING_SEED)
    figures = {
        "diverged": False, "seconds": seconds, "samples": 5000, "loss": 0.05, "steps": [90, 10], "clock": 2.0,
        "all_samples": 40_000, "computing": [0.5, 0.9], "updates": [9, 10], "curve": [[0, 2.0], [1.0, 0.4]],
        "staleness": [1.0, 2.0], "gpu_busy": 0.75,
    } | {"curve": [[0, 2.0], [0.999 * seconds, 0.5], [seconds, 0.4]]} | more  # fmt: skip
    found = [replace(run, trial=n).record(figures | {"seconds": 9.0}) for n in range(REAL_TRIALS)]
    found[number] = replace(run, trial=number).record(figures)
    found += [replace(run, trial=number, seed=seed).record(figures) for seed in SEEDS]
    return {run_of(each): each for each in found}


@pytest.mark.usefixtures("device")
def test_the_page_answers_whether_the_cpu_pays():
    """By hand: 1 s alone, 0.8 s on both; the CPU adds an eighth of the device's throughput, and seeds agree."""
    records = {}
    for entry in entries("gpu"):
        records |= recorded(entry, 1.0, 1)
    records |= recorded(STATIC, 0.8, 1) | recorded(SLOWEST, 8.0, 1, all_samples=5000)
    found = for_real.answer(records, TASK, "gpu")
    assert (found.alone, found.method, found.together, found.limit) == (1.0, STATIC, 0.8, 1.125)
    text = page(records, COSTS)
    assert "## For real: one GPU and 12 threads without locks" in text
    told = (
        f"{STATIC} on both, which has the least median, 0.8 s: faster, 1.2x (1.2 to 1.3); the CPU adds throughput"
    )
    assert f"{told} to 1.12x: the whole interval is above that." in text
    batch = trial(STATIC, "gpu", 1)["batch"]
    (row,) = [
        line for line in text.splitlines() if line.startswith(f"| {STATIC} | batch") and "| **1.2x (" in line
    ]
    assert f"| 20 | 50%, 90% | 75% | 10.0% | 52.6% | {10 * batch}, {batch} | 1.0, 2.0 |" in row
    assert "| 1,024 | 512,000 | 16,000 | 20,000 | 25.6 |" in text
    assert "loss-w8a-deep-1.svg" in text
    slower = records | recorded(STATIC, 1.5, 1)
    (line,) = [each for each in page(slower, COSTS).splitlines() if ", which has the least median" in each]
    assert " 1 s: not told apart, 1" in line and line.endswith("to 1.12x: not shown to be above that.")


def test_without_a_measured_device_there_is_no_such_part(monkeypatch):
    monkeypatch.setitem(CONDITIONS, "gpu", conditions.of_gpu(Rates()))
    assert not list(for_real.section({}))


@pytest.mark.usefixtures("device")
def test_rates_alone_are_told_as_such():
    told = list(for_real.section({}))
    assert any(line.startswith("**No comparison of the methods has been made on a GPU**") for line in told)
    assert "| 1 | 500 | 100 | 400 | 1.2 |" in told
    assert not any("pay?" in line for line in told)


def test_a_generated_set_is_read_as_what_it_is(tmp_path, monkeypatch):
    path = planted.make(tmp_path, items=400)
    rows = [line.split() for line in path.read_text().splitlines()]
    assert planted.make(tmp_path) == path, "it is not made again"
    assert len(rows) == 400
    assert {len(row) for row in rows} == {1 + planted.NUMBERS + len(planted.CHOICES)}
    columns = [int(each.partition(":")[0]) for row in rows for each in row[1:]]
    assert (min(columns), max(columns) <= planted.FEATURES) == (1, True)
    assert 0.4 < sum(row[0] == "+1" for row in rows) / 400 < 0.6
    from hooke.readers import libsvm

    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    train, test = libsvm.parts(planted.NAME, "libsvm-mlp")
    assert len(train) + len(test) == 400


def test_staleness_and_updates_are_those_of_a_servers_journal(tmp_path):
    """By hand: worker 0 pulls, pushes with 2 updates by others and with none; worker 1 pulls and pushes with 1."""
    rows = [(0, math.nan), (1, math.nan), (0, 2), (1, 1), (0, 0)]
    path = tmp_path / "journal.2.jsonl"
    writer = JournalWriter(path, lambda: 0.0)
    for worker, stale in rows:
        row = dict.fromkeys(STEP_COLUMNS, 0) | {"worker": worker, "staleness": stale}
        writer.step(tuple(row.values()))
        if worker == 1:
            writer.flush()  # the first block has no staleness at all
    writer.close()
    assert journals._exchanges(path, 2) == [2, 1]
    assert journals._staleness(path, 2) == [1.0, 1.0]


@pytest.mark.usefixtures("device")
def test_real_runs_beside_a_device_are_told_as_they_end(monkeypatch):
    """For real, with a process in the place of the device: one run after a first one that is thrown away."""
    monkeypatch.setitem(CONDITIONS, "gpu", conditions.of_gpu(replace(MEASURED, kind="cpu", threads=2, beside=1)))
    run = Run("digits", "gpu", STATIC, 1, 1)
    made = run.document | {"budget": {"samples": 8000}, "evaluation": {"every": 4000}, "target": None}
    monkeypatch.setattr(Run, "document", property(lambda run: made))
    monkeypatch.setattr(real, "entries", lambda condition: ["all"])
    monkeypatch.setattr(real, "missing", lambda records, *cell: [each for each in [run] if each not in records])
    records, kept = {}, []
    real.run_all(records, [("digits", "gpu")], lambda run, record: kept.append(record), 2)
    (found,) = kept
    assert found["phases"][0]["compute"] == found["computing"][0]
    assert len(found["phases"]) == 3, "the server, too"
    assert len(found["staleness"]) == 2
    assert found["torch"]
    assert json.dumps(found)
    assert runs.drawn(found)


@pytest.mark.usefixtures("device")
def test_a_few_runs_have_fixed_settings_and_are_told_by_hand(tmp_path):
    for entry in few.FIXED:
        spec = validate_run(few.Few(few.TASK, "gpu", entry, 0, few.SEED).document)
        assert spec.budget.max_seconds == TIMING.wall
    groups = few.Few(few.TASK, "gpu", few.PROCESS, 0, few.SEED).document["groups"]
    assert groups == [{"kind": "cuda"}, {"kind": "cpu", "threads": 12}]
    run = few.Few(few.TASK, "gpu", ADAPTIVE, 0, few.SEED)
    figures = {
        "diverged": False, "seconds": None, "loss": 0.0614, "clock": 2.0, "all_samples": 50_000,
        "steps": [80, 20], "updates": [10, 20], "staleness": [1.5, None], "machine": "a machine", "torch": "2",
        "phases": [{"compute": 0.25, "communicate": 0.5, "idle": 0.125}, {"compute": 0.75, "idle": 0.25}, {}],
    }  # fmt: skip
    path = tmp_path / "few.jsonl"
    assert list(few.section(few.read(path))) == []
    path.write_text(json.dumps(run.record(figures)) + "\n")
    (row,) = [line for line in few.section(few.read(path)) if line.startswith(f"| {ADAPTIVE} |")]
    assert "| - (0.061 after 2.00) | 25.0 | 25%, 75% | 62%, 25% | 80/20 | 10/20 | 1.5, - |" in row
