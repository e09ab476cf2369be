"""The map from virtual time: halves of runs, the search for each link and spread, and the page."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.regimes import __main__ as command
from benchmarks.regimes import store
from benchmarks.regimes.cells import Cell
from benchmarks.regimes.conditions import COARSE, FULL, METHODS
from benchmarks.regimes.page import page, rows
from benchmarks.regimes.runs import times, trajectory
from benchmarks.tuned.conditions import PROPOSING, SEEDS, TASKS
from benchmarks.tuned.entries import Entry
from tests.checkout import ROOT
from tests.waiting import wait_for


@pytest.mark.parametrize("method", METHODS)
def test_times_without_gradients_are_those_of_the_run(method):
    """The same evaluations at the same virtual seconds, for links and spreads of all kinds."""
    for regime in (FULL.regimes[1], FULL.regimes[2]):
        place = regime.place(3)
        document = Entry(method, method).document(
            TASKS["mnist"], place, {"lr": 0.05} if method != "sync-sgd" else {}, 1600, 1
        ) | {"workload": {"name": "digits-mlp"}, "target": None, "evaluation": {"every": 480}}
        evaluations = run_spec_virtual(validate_run(document))[0].evaluations
        for before, last in zip(evaluations, evaluations[1:], strict=False):
            found = times(document | {"budget": {"samples": last.samples}}, before.samples)
            assert found["seconds"] == pytest.approx(last.clock, rel=1e-12)
            assert found["seconds_before"] == pytest.approx(before.clock, rel=1e-12)


def test_a_method_may_change_a_gradient_of_no_cost():
    """Sync SGD sums it over 8 workers in its place: in 60 steps it would become Inf."""
    document = Entry("sync-sgd", "sync-sgd").document(TASKS["mnist"], FULL.regimes[0].place(8), {}, 7_680, 1)
    document |= {"workload": {"name": "digits-mlp"}, "target": None, "evaluation": {"every": 3_840}}
    found = times(document, 3_840)
    assert 0 < found["seconds_before"] < found["seconds"]


def test_a_trajectory_says_between_which_samples_the_target_was_met():
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.5}},
        "batch": 32,
        "workers": 2,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": 20_000},
        "target": {"metric": "validation_accuracy", "value": 0.8},
        "evaluation": {"every": 640},
    }
    found = trajectory(document)
    evaluations = run_spec_virtual(validate_run(document | {"target": None}))[0].evaluations
    met = next(each.samples for each in evaluations if each.accuracy >= 0.8)
    assert (found["met"], found["before"], found["diverged"]) == (met, met - 640, False)
    assert trajectory(document | {"target": {"value": 1.0}})["met"] is None
    wild = {"algorithm": {"name": "sync-sgd", "parameters": {"lr": 10.0, "weight_decay": 1.0}}}
    assert trajectory(document | wild)["diverged"]


def simulated(run, before):
    """Return the record of a world in which later trials need fewer samples, and more seconds on slow links.

    Of `slowmo` half the trials diverge; `elastic-slowmo` needs half the time of all others where links are slow.
    """
    name = {"task": run.task, "workers": run.workers, "method": run.method, "trial": run.trial, "seed": run.seed}
    if run.timed:
        slow = {"100 Mb/s": 1.0, "1 Gb/s": 0.01, "10 Gb/s": 0.001}[run.link]
        slow *= 0.5 if run.method == "elastic-slowmo" else 1.0
        pace = 1e-3 * (1 + run.trial * slow) * (1 + 0.01 * run.seed % 0.07)
        met = before + 3_200
        return name | {
            "link": run.link,
            "jitter": run.jitter,
            "seconds_before": pace * before,
            "seconds": pace * met,
        }
    if run.method == "slowmo" and run.trial % 2:
        return name | {"link": None, "jitter": None, "diverged": True, "before": 0, "met": None, "accuracy": None}
    before = 3_200 * (60 - run.trial)
    found = {"diverged": False, "before": before, "met": before + 3_200, "accuracy": 0.9}
    return name | {"link": None, "jitter": None} | found


@pytest.fixture
def records():
    """Everything of all methods with 2 workers, carried out in rounds."""
    found = {}
    cells = [Cell("fashion", 2, method, found) for method in METHODS]
    while todo := [each for cell in cells for each in cell.missing()]:
        for run, _, _, before in todo:
            found[run] = simulated(run, before)
    return found


def test_each_link_has_its_own_choice_among_the_same_trials(records):
    cell = Cell("fashion", 2, "local-sgd", records)
    trials = [run for run in records if run.method == "local-sgd" and run.seed == FIRST_TUNING_SEED]
    assert sum(not run.timed for run in trials) == PROPOSING
    chosen = {regime.link: cell.chosen(regime) for regime in FULL.regimes}
    assert chosen == {"100 Mb/s": 1, "1 Gb/s": 16, "10 Gb/s": 16}
    for regime in FULL.regimes:
        assert len(cell.crossings(regime)) == SEEDS
    reported = {run.trial for run in records if run.method == "local-sgd" and run.seed < SEEDS}
    assert reported == {1, 16}
    assert Cell("fashion", 2, "slowmo", records).chosen(FULL.regimes[0]) == 2, "the first that does not diverge"


def test_the_page_compares_the_fastest_of_both_kinds(records):
    found = rows("fashion", records)
    assert [(row.workers, row.regime) for row in found] == [(2, regime) for regime in FULL.regimes]
    assert {row.elastic for row in found} == {"elastic-slowmo"}
    told = page(records)
    assert told.splitlines()[0] == "# Where is elastic averaging faster?"
    assert "in 6 simulated conditions: " in told
    assert "## Fashion-MNIST, LeNet to 88.0% (simulated)" in told
    assert all(method in told for method in METHODS)


def test_a_coarse_map_says_what_jitter_costs():
    """Fewer trials, equal for all; a method's seconds over its own with the least jitter, by hand."""
    found = {}
    cells = [Cell("digits", 2, method, found) for method in METHODS]
    while todo := [each for cell in cells for each in cell.missing()]:
        for run, _, _, before in todo:
            found[run] = known = simulated(run, before)
            if run.timed:
                found[run] = known | {"seconds": known["seconds"] * (1 + run.jitter)}
    trials = Counter(run.method for run in found if not run.timed and run.seed == FIRST_TUNING_SEED)
    assert trials == dict.fromkeys(METHODS, COARSE.trials)
    told = page(found)
    assert f"{COARSE.trials} trials of every method" in told
    (line,) = [line for line in told.splitlines() if line.startswith("| local-sgd | 1.1")]
    assert line == "| local-sgd | 1.19 | 1.43 | 1.90 |"


def test_records_are_read_as_they_were_written(records, tmp_path):
    path = tmp_path / "some" / "records.jsonl"
    for record in records.values():
        store.add(path, record)
    assert store.read(path) == records
    store.write(path, list(records.values())[:3])
    assert len(store.read(path)) == 3
    assert store.read(Path("nowhere")) == {}


def test_the_published_map_is_that_of_its_records():
    assert command.PAGE.exists() == command.DATA.exists(), "one without the other"
    if command.PAGE.exists():
        networks, beside = command.read_lines(command.NETWORKS), command.beside_hosts()
        assert command.PAGE.read_text() == page(store.read(command.DATA), networks, beside)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_of_the_pool_is_left_when_the_command_is_ended(number):
    program = (
        "import os, time; from benchmarks.common.pool import make_pool\n"
        "with make_pool() as pool: print(pool.submit(os.getpid).result(), flush=True); time.sleep(1000)"
    )
    command = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with command:
        try:
            worker = psutil.Process(int(command.stdout.readline()))
            assert worker.nice() == min(19, psutil.Process().nice() + 19), "the lowest priority from here"
            command.send_signal(number)
        except BaseException:
            command.kill()  # `with` waits for its end
            raise
    wait_for(lambda: ended(worker), "the end of its worker")


def ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE  # nobody may wait for it here
    except psutil.NoSuchProcess:
        return True
