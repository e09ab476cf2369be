"""What hosts send to one precision: which runs there are, in which order they may be computed, and the tables."""

import json
from pathlib import Path

import pytest
import yaml
from hooke.catalogue.validation import validate_run
from hooke.cli.document import load_run

from benchmarks.evidence.store import ROOT
from benchmarks.slide import running, wire, wire_page
from benchmarks.slide.publishing import publish

TASK = wire.Task()
REAL = wire.Task("finna-yso-en", 128, None)


def sent(cell, bytes_=10**9, samples=48_000, task=TASK, **more):
    """A run of 375 steps that met its target, or missed it."""
    met = {"samples_to_target": samples, "time_to_target": samples and 12.5, "validation_accuracy": 0.01} | more
    result = {"state": "succeeded", "wire_bytes": bytes_, "messages": 9, "steps": [375] * cell.hosts} | met
    return {"key": cell.title, **vars(task), **vars(cell), "commit": "0", "result": result}


def test_hosts_share_one_batch_and_one_active_set():
    for kind in wire.KINDS:
        cell = wire.Cell(0, *kind, 0.1)
        spec = validate_run(wire.document(cell, TASK))
        assert (spec.workers * spec.batch, spec.workers * spec.workload_parameters["active"]) == (128, 1000)
        assert (spec.world, spec.communication.rows, spec.target.value) == ("virtual", cell.rows, TASK.target)
        assert spec.compute.threads == 1
        assert spec.workload.parameters["hidden"] == TASK.hidden and spec.algorithm.parameters["lr"] == 0.1


def carried_out(samples_of, seeds=2, failed=()):
    """The runs of a task in their order, where a run takes these samples to the target."""
    found = []
    while cell := wire.following(found, seeds, failed):
        found.append(sent(cell, samples=samples_of(cell)))
    return found


def test_every_kind_of_run_has_the_same_trials_and_the_best_is_reported():
    """Sync SGD with whole vectors has the bits of touched rows: it follows their trials. 2 hosts follow 8."""
    found = carried_out(lambda cell: 20_000 if cell.rate == 0.3 else None if cell.rows == "all" else 30_000)
    trials = [each for each in found if each["seed"] == wire.TUNING]
    reported = [each for each in found if each["seed"] != wire.TUNING]
    rates = {}
    for each in trials:
        rates.setdefault((each["method"], each["hosts"], each["rows"]), []).append(each["rate"])
    assert (
        set(map(tuple, rates.values())) == {wire.RATES} and {kind[1] for kind in rates} == {8} and len(rates) == 3
    )
    assert {each["rate"] for each in reported} == {0.3} and len(reported) == 2 * len(wire.KINDS)
    assert len({each["key"] for each in found}) == len(found)
    methods = [each["method"] for each in found]
    assert methods == sorted(methods), "the first method's rows are complete before the second begins"


def test_a_trial_ends_where_a_better_one_has_met_the_target():
    budgets = [each["samples"] for each in carried_out(lambda cell: {0.1: 40_000, 0.3: 30_000}.get(cell.rate))]
    assert budgets[:3] == [wire.SAMPLES, 40_000, 30_000]
    assert carried_out(lambda _: 9_000)[-1]["samples"] == wire.SAMPLES, "reported runs have the whole budget"


def test_without_a_trial_that_met_the_target_the_nearest_counts():
    kind = wire.KINDS[0]
    trials = [wire.Cell(wire.TUNING, *kind, rate) for rate in wire.RATES]
    reached = (0.012, 0.5, 0.015)
    found = [
        sent(cell, samples=None, validation_accuracy=accuracy, diverged=cell.rate == 0.3)
        for cell, accuracy in zip(trials, reached, strict=True)
    ]
    assert wire.chosen(kind, found) == 0.03
    assert wire.chosen(kind, []) is None
    failed = {wire.Cell(wire.TUNING, *kind, rate).title for rate in wire.RATES}
    assert wire.following([], 1, failed).method == "sync-easgd3", "what failed is not tried again in this call"


def test_bytes_to_the_target_are_compared_seed_by_seed(tmp_path):
    """By hand: 40 GB over 2 and 45 over 3; a seed that missed the target counts in the bytes of a step alone."""
    some, every = (("sync-sgd", 8, rows) for rows in ("touched", "all"))
    runs = [sent(wire.Cell(seed, *some, 0.1), n * 10**9) for seed, n in enumerate((2, 3, 1))]
    runs += [sent(wire.Cell(seed, *every, 0.1), n * 10**9) for seed, n in enumerate((40, 45))]
    runs.append(sent(wire.Cell(2, *every, 0.1), 50 * 10**9, None))
    assert wire_page.factors(runs[:3], runs[3:]) == [20, 15]
    trial = sent(wire.Cell(wire.TUNING, *some, 0.3), 10**12)
    ended = sent(wire.Cell(0, "sync-easgd3", 8, "all", 0.3), None, None, diverged=True)
    told = publish([], [], tmp_path, [*runs, trial, ended]).read_text()
    assert "on 8 hosts: sync-sgd 17.3x (2.78 to 108, n=2), goal of 10x not shown" in told
    touched = (
        "| sync-sgd | 8 | touched | 0.1 | 48,000, 48,000, 48,000 | 5.33 | 2 | 17.3x (2.78 to 108, n=2) | 12.5 |"
    )
    assert touched in told
    assert "| sync-sgd | 8 | all | 0.1 | 48,000, 48,000, missed | 120.00 | 42.5 |  | 12.5 |" in told
    assert "| sync-easgd3 | 8 | all | 0.3 | diverged | - | - |  | - |" in told
    assert publish([], [], tmp_path).read_text() == told, "what was published stays"


def test_runs_at_once_wait_for_the_trials_that_choose_their_rate():
    """As many as may begin, in any order of their ends; the same runs as one after the other."""
    found, running, most = [], [], 0
    while True:
        may = list(wire.ready(found, 2, running=[cell.title for cell in running]))
        for cell in may:
            if cell.seed != wire.TUNING:
                trials = {
                    wire.Cell(wire.TUNING, *wire.tuned((cell.method, cell.hosts, cell.rows)), r).title
                    for r in wire.RATES
                }
                assert trials <= {each["key"] for each in found}
        running += may[: 5 - len(running)]
        most = max(most, len(running))
        if not running:
            break
        cell = running.pop(len(found) % len(running))
        found.append(sent(cell, samples=20_000 if cell.rate == 0.3 else 30_000))
    one_by_one = carried_out(lambda cell: 20_000 if cell.rate == 0.3 else 30_000)
    assert most == 5 and {each["key"] for each in found} == {each["key"] for each in one_by_one}
    assert len(found) == len(one_by_one)


def test_a_failed_trial_does_not_stop_the_others():
    failed = {wire.Cell(wire.TUNING, *wire.KINDS[0], wire.RATES[0]).title}
    found = [sent(wire.Cell(wire.TUNING, *wire.KINDS[0], rate)) for rate in wire.RATES[1:]]
    found += [sent(wire.Cell(wire.TUNING, *wire.KINDS[1], rate)) for rate in wire.RATES]  # of whole vectors
    following = next(wire.ready(found, 1, failed))
    assert (following.seed, following.rate) == (0, wire.RATES[1])


def test_the_same_bits_both_ways_need_no_target():
    """By hand: 90 MB over 3 MB in a step of 8 hosts, 12 over 6 of 2."""
    cells = list(wire.fixed([]))
    assert {(cell.method, cell.hosts, cell.rows) for cell in cells} == {
        k for k in wire.KINDS if k[0] == "sync-sgd"
    }
    assert (
        not list(wire.fixed([sent(cell) for cell in cells]))
        and len(list(wire.fixed([], running=[cells[0].title]))) == 3
    )
    spec = validate_run(wire.document(cells[0], REAL))
    assert spec.target is None and spec.evaluation.every == spec.budget.samples == wire.FIXED
    steps = {(8, "touched"): 3, (8, "all"): 90, (2, "touched"): 6, (2, "all"): 12}
    runs = [sent(c, 375 * 10**6 * steps[c.hosts, c.rows], None, REAL) for c in cells]
    told = wire_page.table(runs)
    assert "whole vectors take 30x on 8 hosts, 2x on 2 hosts of those of touched rows" in told
    assert "| sync-sgd | 8 | touched | 3.00 | 30x |" in told and "learning rates" not in told


def test_runs_of_one_file_are_read(tmp_path):
    (tmp_path / "wire").mkdir()
    runs = [sent(cell) for cell in wire.fixed([])]
    (tmp_path / "wire" / "machine.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in runs))
    assert wire.stored(tmp_path) == runs


def test_runs_at_once_have_specifications_of_their_own(tmp_path, monkeypatch):
    """Rates are parts of the names of runs, and have a point in them."""
    seen, asked = [], []

    def ended(line, longest):
        asked.append(line[4])
        seen.append(json.loads(Path(line[4]).read_text()))
        return json.dumps({"state": "failed_infra", "why": "not carried out"}), "", False

    monkeypatch.setattr(running, "_ended", ended)
    cells = [wire.Cell(wire.TUNING, *wire.KINDS[0], rate) for rate in (0.1, 0.3)]
    folders = [tmp_path / f"{cell.title}-1" for cell in cells]
    for cell, folder in zip(cells, folders, strict=True):
        running.command(wire.document(cell, TASK), folder)
    assert [spec["algorithm"]["parameters"]["lr"] for spec in seen] == [0.1, 0.3]
    assert len(set(asked)) == 2


def test_several_seeds_have_an_interval_of_the_mean_ratio():
    """By hand: logarithms of 10, 14.5 and 12 have a mean of 2.4872 and a deviation of 0.1858; t of 2 is 4.3027."""
    cells = [
        (wire.Cell(seed, "sync-easgd3", 8, rows, 0.3), rows) for seed in range(3) for rows in ("touched", "all")
    ]
    ratios = (10, 14.5, 12)
    found = [sent(cell, int(1e9 * (1 if rows == "touched" else ratios[cell.seed]))) for cell, rows in cells]
    low, high = wire_page.interval_of(ratios)
    assert (low, high) == (pytest.approx(7.5813, abs=0.001), pytest.approx(19.082, abs=0.002))
    told = wire_page.table(found)
    assert "12x (7.58 to 19.1, n=3), goal of 10x not shown" in told
    assert "13.9x (n=1)" in wire_page.table([sent(cells[0][0], 10**9), sent(cells[1][0], int(13.9e9))])


def test_hashing_with_elastic_averaging_on_2_and_8_hosts_is_one_experiment():
    document = yaml.safe_load((ROOT / "benchmarks" / "netlab" / "slide.yaml").read_text())
    assert document["clusters"][0]["workers"] == [2, 8]
    for variant, rows in (("touched rows", "touched"), ("whole vectors", "all")):
        for workers in (2, 8):
            spec = load_run(document, variant, None, workers, "mpi", 0)
            assert (spec.workers, spec.algorithm.name, spec.communication.rows) == (workers, "sync-easgd3", rows)
            assert spec.workload_parameters["output"] == "slide"
