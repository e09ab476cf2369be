"""The comparison on unequal workers: its specifications, the choice of trials, and the page, by hand."""

import gzip
import math
from collections import Counter
from dataclasses import replace

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.common import records as kept
from benchmarks.common.rounds import carry_out
from benchmarks.unequal import __main__ as command
from benchmarks.unequal import beside, cells, derived, dispatching, findings, journals, panels, real, runs, shape
from benchmarks.unequal.cells import _shares
from benchmarks.unequal.conditions import CONDITIONS, SEEDS, TRIALS, TUNING_SEED, of_kind
from benchmarks.unequal.curves import draw
from benchmarks.unequal.entries import (
    ADAPTIVE,
    CPUS,
    ENTRIES,
    FASTEST,
    MERGING,
    MISFIT,
    SPLIT,
    STATIC,
    SYNC,
    document,
    entries,
    split,
    trial,
)
from benchmarks.unequal.page import page
from benchmarks.unequal.runs import Run, median, run_of

GOOD = {SYNC: 4, STATIC: 4}
"""Trials that meet the target of digits with CPUs of speeds 4 : 1."""
COSTS = {"share-1": 0.03, "share-8": 0.004, "decision": 2e-6}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_trial_can_run(condition):
    where = CONDITIONS[condition]
    for entry in entries(condition):
        for number in range(where.trials):
            spec = validate_run(document("digits", condition, entry, trial(entry, condition, number), 0))
            assert spec.world == ("mpi" if where.kind in ("real", "gpu") else "virtual")
            assert spec.sharding == "dispatched"
            alone = where.workers - 1 if entry == CPUS else 1
            assert spec.workers == (alone if ENTRIES[entry].alone else where.workers)


def test_all_have_equally_many_trials_and_no_seed_twice():
    assert TUNING_SEED not in SEEDS
    for condition in ("ratio-4", "v100", "one-slow"):
        for entry in entries(condition):
            drawn = [str(trial(entry, condition, number)) for number in range(TRIALS)]
            assert len(set(drawn)) == TRIALS


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_rates_of_a_method_cover_the_whole_range(entry):
    """One in every part of the range; of methods with sizes, the rate of the largest update."""
    condition = next(name for name in CONDITIONS if entry in entries(name))
    trials, (least, most) = CONDITIONS[condition].trials, CONDITIONS[condition].learning_rates
    found = [trial(entry, condition, number) for number in range(trials)]
    rates = [each["lr"] * each.get("largest", 1) for each in found]
    parts = [trials * math.log(rate / least) / math.log(most / least) for rate in rates]
    assert sorted(int(part + 1e-3) for part in parts) == list(range(trials))


@pytest.mark.parametrize(("condition", "ratio"), [("ratio-1", 1), ("ratio-2", 2), ("ratio-4", 4), ("ratio-8", 8)])
def test_a_split_is_as_the_speeds_are(condition, ratio):
    fast, slow = split(CONDITIONS[condition].speeds)
    assert (fast + slow) % 2 == 0
    assert max(fast / ratio, slow) <= MISFIT * (fast + slow) / (ratio + 1)


@pytest.mark.parametrize("condition", of_kind("box", "devices", "spread", "changing"))
def test_a_step_of_a_split_takes_hardly_longer_than_a_perfect_one(condition):
    speeds = CONDITIONS[condition].speeds
    sizes = split(speeds)
    assert min(sizes) >= 1
    assert sum(sizes) % len(sizes) == 0
    longest = max(size / speed for size, speed in zip(sizes, speeds, strict=True))
    assert longest <= MISFIT * sum(sizes) / sum(speeds)


def test_a_worker_alone_is_the_one_that_is_named():
    alone = document("digits", "v100", FASTEST, {"batch": 8, "lr": 0.1}, 0)
    assert alone["virtual"]["devices"] == [{"kind": "v100"}]
    slow = document("digits", "v100", "SGD, slowest worker alone", {"batch": 8, "lr": 0.1}, 0)
    assert slow["virtual"]["devices"] == [{"kind": "cpu-28"}]
    assert document("digits", "ratio-8", FASTEST, {"batch": 8}, 0)["virtual"]["speeds"] == [1.0]
    assert document("digits", "real-8", FASTEST, {"batch": 8}, 0)["groups"] == [{"kind": "cpu"}]
    both = document("digits", "real-8", SYNC, {"batch": 8}, 0)["groups"]
    assert both == [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.125}]


def record(run, seconds, loss=0.5, **more):
    samples = None if seconds is None else 1000
    return run.record(
        {
            "diverged": False, "seconds": seconds, "samples": samples, "loss": loss, "steps": [30, 10],
            "computing": [0.95, 0.92], "updates": [40, 20], "clock": seconds or 10.0,
            "curve": [[0, 2.0], [0.999 * (seconds or 10.0), 0.5], [seconds or 10.0, 0.4]],
        }
        | more
    )  # fmt: skip


def made(entry, seconds, of_trials=None, condition="ratio-4", task="digits", **more):
    """Return the records of a complete cell: trial 2 is best; its results have these seconds."""
    first = Run(task, condition, entry, 0, TUNING_SEED)
    times = of_trials or [5, 4, 1, None, 7, 8]
    found = [record(replace(first, trial=n), each) for n, each in enumerate(times)]
    found += [record(replace(first, trial=2, seed=s), t, **more) for s, t in zip(SEEDS, seconds, strict=True)]
    return {run_of(each): each for each in found}


def complete(condition, task="digits", seconds=(5, 6, 7), **more):
    found = {}
    for entry in entries(condition):
        found |= made(entry, seconds, condition=condition, task=task, **more)
    return found


def test_the_best_trial_is_run_again_with_fresh_seeds():
    records, cell = {}, ("digits", "ratio-4", "Async SGD")
    todo = runs.missing(records, *cell)
    assert Counter(each.seed for each in todo) == {TUNING_SEED: TRIALS}
    records |= {each: record(each, None if each.trial != 3 else 2.0) for each in todo}
    todo = runs.missing(records, *cell)
    assert [(each.trial, each.seed) for each in todo] == [(3, seed) for seed in SEEDS]
    assert runs.results(records, *cell) is None
    records |= {each: record(each, 1.0) for each in todo}
    assert runs.missing(records, *cell) == []
    assert len(runs.results(records, *cell)) == len(SEEDS)


def test_without_the_target_the_least_loss_is_best():
    run = Run("digits", "k80", "Async SGD", 0, TUNING_SEED)
    records = {replace(run, trial=n): record(replace(run, trial=n), None, 1 / (1 + n % 3)) for n in range(TRIALS)}
    assert runs.best(records, "digits", "k80", "Async SGD") == 2


def test_seeds_that_missed_are_longer_than_all_others():
    def of(*seconds):
        return [{"seconds": each} for each in seconds]

    assert median(of(3, 1, 2, None, None)) == 3
    assert median(of(3, 1, None, None, None)) is None


def test_the_page_has_ratios_and_says_what_is_simulated():
    records = made(SYNC, [5, 6, 7]) | made(MERGING, [1, 3, None])
    assert "### CPUs" not in cells.page(records), "entries are missing"
    records = complete("ratio-4") | made(MERGING, [1, 3, None])
    assert "What is called simulated" in page(records, COSTS)
    text = cells.page(records)
    assert "### CPUs, speeds 4 : 1" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| Adaptive SGD | batch")]
    assert "| 3 (1 to 3) | 1 | ≤ 22x | 1.0 | 95%, 92% | 75%, 25% | 67%, 33% |" in row
    assert "for real" not in text


def test_what_was_asked_is_answered_by_hand():
    records = complete("ratio-4") | complete("v100")
    records |= made(STATIC, [3, 3, 3], condition="v100", computing=[0.97, 0.6])
    records |= made(ADAPTIVE, [2, 2, 2], condition="ratio-4", updates=[90, 30])
    pairs = findings.found_in(records, "cpus", "box")
    assert len(pairs) == 2
    assert findings.utilisation(records, pairs).startswith("1 of 2; least 60.0% (digits, V100")
    assert findings.utilisation(records, pairs, ADAPTIVE, 0.5).startswith("2 of 2; least 92.0%")
    assert [trial(ADAPTIVE, each.condition, 2)["largest"] for each in pairs] == [4, 4]
    said = findings.ratio_of_updates(records, pairs)
    assert said.startswith("0 of 1; most 3.00 (digits, CPUs, speeds 4 : 1); the bound of sizes is below")
    assert said.endswith(": digits, V100 and a 28-core CPU"), "a size of 4 is less than its speed of almost 5"
    gain = findings.gain(records, pairs[0])
    assert (gain.alone, gain.method, gain.together, gain.ratio, gain.limit) == (6, ADAPTIVE, 2, 3.0, 1.25)
    batch = trial(FASTEST, "v100", 2)["batch"]
    device, cpu = batch / (400e-6 + batch * 20e-6 / 8), 256 / (50e-6 + 256 * 20e-6)
    assert findings.gain(records, pairs[1]).limit == pytest.approx(1 + cpu / device)
    assert findings.dispatch(COSTS).startswith(
        "3.00% of a step of 1 batch, 0.40% of a step of 8 batches (messages counted"
    )
    few = {f"few-{n}": [0.04 / n, 0.03 / n] for n in (1, 2)}
    told = findings.dispatch(COSTS | few)
    assert "; with 1 and 2 updates of a worker between two merges 4.00% and 2.00%, 1.00% and 0.50% with" in told
    half = 10 / (690 + 10)  # of 20 us there and back, for every second step
    told = findings.dispatch(COSTS | {"share-1": half, "share-each": 0.028, "request": 3e-5, "replied": 1e-5})
    assert "; 2.80% of a step of 1 batch if each is asked for (`at_once: 0`) (messages" in told
    assert "A request takes 30 us of it, words included, 10 of them before the reply (measured)" in told
    assert "of 690 us the server computes for 70% of the time, and would have to for 139% if" in told


def test_several_devices_are_told_apart_from_pairs():
    """By hand: what three V100 and the CPU add to a V100 of its chosen batch."""
    records = complete("v100-4") | complete("v100", seconds=(5, 6, 7))
    records |= made(ADAPTIVE, [2, 2, 2], condition="v100-4")
    (cell,) = findings.found_in(records, "devices")
    gain, batch = findings.gain(records, cell), trial(FASTEST, "v100-4", 2)["batch"]
    device, cpu = 256 / (400e-6 + 256 * 20e-6 / 8), 256 / (50e-6 + 256 * 20e-6)
    assert gain.ratio == 3
    assert gain.limit == pytest.approx(1 + (3 * device + cpu) / (batch / (400e-6 + batch * 20e-6 / 8)))
    text = page(records, COSTS)
    assert text.index("## Two workers (simulated)") < text.index("## Several devices (simulated)")
    assert len(findings.found_in(records, "cpus", "box")) == 1


def test_whether_adaptive_sizes_are_faster_is_told_by_box():
    records = complete("v100") | complete("k80") | complete("v100", derived.NAME)
    records |= made(ADAPTIVE, [2, 2, 2], condition="v100", task=derived.NAME)
    records |= made(ADAPTIVE, [2, 2, 2], condition="k80")
    told = " ".join(shape.shapes(records))
    assert "faster in 2 of 3 cells, as slower in 0." in told
    (row,) = [line for line in shape.shapes(records) if line.startswith(f"| {derived.NAME} | V100")]
    assert "| **3.0x (2.0 to 4.5)** |" in row, "t interval of log(5/2), log(6/2), log(7/2)"


def test_a_derived_set_has_the_first_labels_and_features(tmp_path):
    """By hand, and the folder serves for all other data."""
    source = tmp_path / "data" / derived.SOURCE
    source.mkdir(parents=True)
    (tmp_path / "data" / "other").write_text("x")
    labels, features = derived.LABELS, derived.FEATURES
    lines = [
        "4 9 9",
        f"3,{labels},7 0:0.5 {features}:0.1 12:0.25",
        f"{labels + 5} 1:0.5",
        f"{labels - 1} {features - 1}:0.75",
        f"2 {features}:1",
    ]
    for part in ("train", "test"):
        with gzip.open(source / f"{part}.txt.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    found = derived.derive(tmp_path / "data", tmp_path / "made")
    wanted = f"2 {features} {labels}\n3,7 0:0.5 12:0.25\n{labels - 1} {features - 1}:0.75\n"
    assert (found / "train.txt").read_text() == (found / "test.txt").read_text() == wanted
    assert (tmp_path / "made" / "other").read_text() == "x"
    assert derived.derive(tmp_path / "data", tmp_path / "made") == found, "again"


def test_survival_is_over_the_same_method_with_equal_speeds():
    records = complete("equal", seconds=(2, 2, 2)) | complete("one-slow", seconds=(3, 5, 4))
    records |= made("Async SGD", [1, 1, 1], condition="one-slow")
    told = list(findings.survival(records, "spread"))
    assert "| Async SGD | 2 | 1; 0.50x (0.50 to 0.50) |" in told
    assert "| Sync SGD | 2 | 4; 2.0x (1.04 to 3.7) |" in told, "t interval of log(3/2), log(5/2), log(4/2)"
    assert told[-1].startswith("- one of 8 at a quarter: Async SGD has the least median, and is told apart from 0")


def test_speeds_that_change_are_beside_equal_ones():
    records = complete("equal", seconds=(2, 2, 2)) | complete("moving", seconds=(3, 5, 4))
    told = list(findings.survival(records, "changing"))
    assert "| Sync SGD | 2 | 4; 2.0x (1.04 to 3.7) |" in told
    assert [line for line in told if line.startswith("- ")] == told[-1:], "one of the cluster that changes"
    assert told[-1].startswith("- each in turn at a quarter: ")
    text = page(records, COSTS)
    assert "### Speeds that change during a run (simulated)" in text
    assert "### Speeds that change" not in page(complete("equal"), COSTS)


def test_real_seconds_are_told_with_their_machine():
    about = {"machine": "two cores", "machine_ms": 3.0, "slowed_to": [None, 0.26]}
    text = page(complete("real-4", "a9a-wide", **about), COSTS)
    assert "## Two workers, for real" in text
    assert "two cores. " in text
    assert "Slowed to 0.25: measured 0.260 to 0.260" in text


def test_the_share_of_a_split_step_is_that_of_its_batches():
    found = {"settings": {"sizes": [8, 2]}, "steps": [30, 30]}
    assert _shares(found, "steps", SPLIT) == pytest.approx([0.8, 0.2])
    assert _shares(found, "steps", STATIC) == [0.5, 0.5]


def test_records_are_kept_and_a_run_goes_on(tmp_path, monkeypatch, capsys):
    carried = []

    def carry(todo):
        carried.append(todo[0])
        return record(todo[0], float(len(carried)))

    monkeypatch.setattr(runs, "carried_out", carry)
    path = tmp_path / "records.jsonl"
    for _ in range(2):
        command.run_all([("digits", "ratio-2")], path, 10)
    assert len(carried) == len(set(carried)) == len(entries("ratio-2")) * (TRIALS + len(SEEDS))
    assert kept.read(path, run_of).keys() == set(carried)
    assert "ratio-2" in capsys.readouterr().out


def test_no_piece_of_work_is_begun_after_the_time_is_over():
    carry_out(lambda busy, room: [1], lambda todo: {}, lambda todo, record: None, 0.0)


def test_a_run_yields_its_record():
    """Updates are those of the workers: counted by the server, each with as many batches as its size."""
    found = runs.carried_out((Run("digits", "ratio-4", STATIC, 0, 1), None))
    sizes = found["settings"]["sizes"]
    assert len(found["curve"]) > 1
    assert 0 < found["computing"][0] <= 1
    for steps, updates, size in zip(found["steps"], found["updates"], sizes, strict=True):
        assert steps / size == pytest.approx(updates, abs=2)
    alone = runs.carried_out((Run("digits", "ratio-4", FASTEST, 0, TUNING_SEED), None))
    assert (alone["updates"], "curve" in alone) == (alone["steps"], False)


@pytest.mark.parametrize("entry", [SYNC, STATIC])
def test_a_trial_is_ended_once_it_is_behind_the_best(entry):
    """Not before: one that is as fast as the best has the seconds that it has without a limit."""
    run, todo = Run("digits", "ratio-4", entry, GOOD[entry], TUNING_SEED), [("digits", "ratio-4")]
    assert {limit for _, limit in runs.following({}, todo, (), 100)} == {None}
    whole = runs.carried_out((run, None))
    known = {replace(run, trial=(run.trial + 1) % TRIALS): record(run, whole["seconds"])}
    limit = dict(runs.following(known, todo, (), 100))[run]
    assert runs.carried_out((run, limit))["seconds"] == whole["seconds"]
    early = runs.carried_out((run, whole["seconds"] / 4))
    assert early["seconds"] is None or entry == SYNC
    assert early["clock"] <= whole["clock"]


def test_a_figure_is_drawn_for_every_task_with_a_complete_condition(tmp_path):
    path, epochs = draw(complete("ratio-4"), tmp_path)
    assert (path.name, epochs.name) == ("loss-digits-1.svg", "epochs-digits.svg")
    assert "Adaptive Hogbatch" in path.read_text()
    assert "(simulated)" in path.read_text()
    assert "Loss against epochs" in epochs.read_text()


def test_epochs_are_those_of_the_samples_at_an_evaluation():
    """By hand: 1,294 items; without the samples evaluations are every 800 of them."""
    known = {"curve": [[0, 2.0], [1.0, 1.0]], "curve_samples": [0, 2588]}
    assert panels.epochs(known, "digits", 800) == [0, 2]
    assert panels.epochs({"curve": known["curve"]}, "digits", 647) == [0, 0.5]


def test_dispatching_costs_a_message_there_and_back():
    """Of a step of 8 batches an eighth as much, but that the overhead of a step is taken once.

    By default several steps are asked for at once: what that costs is less than was asked for. What the server
    receives at the end, 32 vectors one after the other, does not count.
    """
    one, eight, each = dispatching.share(1), dispatching.share(8), dispatching.share(1, each=True)
    step = 50e-6 + 32 * 20e-6
    assert each == pytest.approx(20e-6 / (20e-6 + step)) and each > dispatching.LIMIT > one
    assert one == pytest.approx(0.0171, abs=0.001), "by a simulation of its own: 0.60 requests for each step"
    assert eight == pytest.approx(20e-6 / (20e-6 + 50e-6 + 8 * 32 * 20e-6), rel=0.1), "each has one until a merge"
    assert dispatching.requests_of(each) == pytest.approx(1)
    whole, merges = dispatching.of_few(4)
    assert whole < dispatching.LIMIT, "two requests for four updates, but in the first of twelve merges"
    assert merges == pytest.approx(11 / 12 / 4 * 20e-6 / 690e-6, rel=0.03)
    assert 0 < dispatching.decision() < 1e-3


def test_real_runs_share_one_start(tmp_path, monkeypatch):
    """For real: a run, one that diverges, and one after it in a second start."""
    chosen = [
        Run("digits", "real-4", SYNC, 0, 1),
        Run("digits", "real-4", "Async SGD", 0, 1),
        Run("digits", "real-4", STATIC, 0, 1),
    ]
    documents = {run: run.document | {"batch": 16, "budget": {"samples": 1600}, "target": None} for run in chosen}
    documents[chosen[1]]["algorithm"] = {"name": "async-sgd", "parameters": {"lr": 10.0, "weight_decay": 1.0}}
    monkeypatch.setattr(Run, "document", property(lambda run: documents[run]))
    monkeypatch.setattr(real, "entries", lambda condition: ["all"])
    monkeypatch.setattr(real, "missing", lambda records, *cell: [each for each in chosen if each not in records])
    records = {}
    real.run_all(records, [("digits", "real-4")], lambda run, record: None, 2)
    assert [records[each]["diverged"] for each in chosen] == [False, True, False]
    plain = records[chosen[0]]
    assert plain["slowed_to"][0] is None
    assert plain["slowed_to"][1] == pytest.approx(0.25, abs=0.1)
    assert plain["clock"] > 0
    assert journals.DIVERGED.items() <= records[chosen[1]].items()


def test_the_published_page_is_that_of_its_records():
    records = kept.read(command.DATA, run_of)
    with_cpu = beside.known(command.BESIDE)
    assert command.PAGE.read_text() == page(records, dispatching.read(command.COSTS), with_cpu)
    assert command.CELLS.read_text() == cells.page(records)
