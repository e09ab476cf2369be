"""The tuned comparison: the same effort for every entry, choices, and its table."""

import itertools
import math
import operator
import re
from collections import Counter
from pathlib import Path

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.peers.settings import Settings
from benchmarks.tuned.conditions import AT, TASKS, TRIALS
from benchmarks.tuned.entries import DDP, POST_LOCAL, TORCHFT, Entry, entries
from benchmarks.tuned.overview import QUESTION, overview, written_into
from benchmarks.tuned.page import page, sections, table
from benchmarks.tuned.publishing import DATA, INDEX, PAGE, networks, publish, published
from benchmarks.tuned.records import collect
from benchmarks.tuned.rounds import Proposed, Rounds
from benchmarks.tuned.rows import rows
from benchmarks.tuned.store import Store

ROOT = Path(__file__).resolve().parents[2]
TASK, PLACE = TASKS["fashion"], AT["8-hosts"]
LOCAL = Entry("local-sgd", "local-sgd")


def result(seconds, accuracy=0.5, diverged=False):
    scores = [
        {"train_seconds": t, "samples": 1, "accuracy": accuracy, "loss": 1.0} for t in (0.0, (seconds or 1) / 2)
    ]
    return {
        "state": "succeeded",
        "diverged": diverged,
        "time_to_target": seconds,
        "samples_to_target": None if seconds is None else 1000 * seconds,
        "validation_accuracy": accuracy,
        "train_seconds": seconds or 99.0,
        "communication_fraction": 0.25,
        "evaluations": scores,
    }


def carried_out(rounds, seconds_of):
    """Carry out everything; return the results and the plays in their order."""
    results, plays = {}, []
    while batch := list(rounds.missing(results)):
        for play in batch:
            results[play.key] = result(seconds_of(play))
        plays += batch
    return results, plays


@pytest.mark.parametrize("entry", entries(PLACE), ids=lambda entry: entry.name)
def test_every_entry_has_as_many_trials_of_runs_that_are_valid(entry):
    rounds = Rounds(TASK, PLACE, entry)
    assert len(rounds.settings) == TRIALS
    for play in itertools.islice(rounds.missing({}), TRIALS):
        document = play.document
        if entry.peer:
            settings = Settings(**document["settings"])
            assert (settings.samples, settings.target, settings.workers) == (60_000, 0.88, 8)
        else:
            spec = validate_run(document)
            assert (spec.budget.samples, spec.target.value, spec.workers) == (60_000, 0.88, 8)


def test_peers_and_methods_begin_with_the_same_effort():
    budgets = {
        entry.name: [(rung.trials, rung.samples) for rung in Rounds(TASK, PLACE, entry).search.rungs]
        for entry in (DDP, POST_LOCAL, LOCAL)
    }
    assert set(map(tuple, budgets.values())) == {((12, 60_000), (6, 120_000), (3, 240_000))}


def test_the_best_of_all_trials_is_measured_on_seeds_that_no_trial_has():
    rounds = Rounds(TASK, PLACE, LOCAL)
    cost = {k: 10.0 + abs(k - 7) for k in range(1, TRIALS + 1)}
    results, plays = carried_out(rounds, lambda play: cost[play.trial])
    reported = [play for play in plays if play.rung is None]
    assert {play.trial for play in reported} == {7}
    assert [play.seed for play in reported] == [0, 1, 2]
    assert not {play.seed for play in plays if play.rung is not None} & {0, 1, 2}
    assert len(plays) == TRIALS + 3  # all met the target on the first rung
    assert len({play.key for play in plays}) == len(plays) == len(results)


def test_what_virtual_time_proposes_is_tried_on_the_hosts_alone():
    """Three of its trials with the whole budget, on a tuning seed; the best is reported."""
    rounds = Proposed(TASK, PLACE, DDP, [15, 3, 16])
    cost = {3: 30.0, 15: 50.0, 16: 40.0}
    _, plays = carried_out(rounds, lambda play: cost[play.trial])
    tried = [play for play in plays if play.rung is not None]
    assert [play.trial for play in tried] == [15, 3, 16]
    assert {play.document["settings"]["samples"] for play in plays} == {TASK.samples}
    assert [(play.trial, play.seed) for play in plays if play.rung is None] == [(3, 0), (3, 1), (3, 2)]
    assert {play.effort for play in plays} == {
        "16 trials in virtual time (simulated), and on the hosts the best 3"
    }


def test_a_setting_that_a_second_tuning_seed_refutes_is_not_chosen():
    rounds = Proposed(TASK, PLACE, DDP, [15, 3, 16], tuning=2)
    first = min(rounds.search.seeds)
    cost = {3: 30.0, 15: 50.0, 16: 40.0}
    _, plays = carried_out(rounds, lambda p: None if (p.trial, p.seed) == (3, first + 1) else cost[p.trial])
    tried = [(play.trial, play.seed) for play in plays if play.rung is not None]
    assert sorted(tried) == [(trial, first + k) for trial in (3, 15, 16) for k in (0, 1)]
    assert {play.trial for play in plays if play.rung is None} == {16}
    assert {play.effort for play in plays} == {
        "16 trials in virtual time (simulated), and on the hosts the best 3, each with 2 tuning seeds"
    }


@pytest.mark.parametrize("entry", [DDP, POST_LOCAL], ids=lambda entry: entry.name)
def test_in_virtual_time_a_peer_is_the_method_with_its_equations(entry):
    virtual, parameters = AT["virtual"], entry.settings(TRIALS, 8)[3]
    spec = validate_run(entry.document(TASK, virtual, parameters, 60_000, 0))
    method = spec.algorithm.parameters
    assert spec.world == "virtual"
    assert (method["lr"], method["momentum"]) == (parameters["lr"], parameters["momentum"])
    assert method["momentum_kind"] == "nesterov"
    if entry is DDP:
        assert (spec.algorithm.name, method["accumulation"]) == ("sync-sgd", parameters["accumulation"])
    else:
        told = (method["period"], method["switch"])
        assert (spec.algorithm.name, *told) == ("post-local-sgd", parameters["period"], parameters["warmup"])


def test_only_the_better_half_goes_on_where_nothing_met_the_target():
    rounds = Rounds(TASK, PLACE, LOCAL)
    results, plays = {}, []
    while batch := [play for play in rounds.missing(results) if play.rung is not None]:
        for play in batch:
            results[play.key] = result(None, accuracy=0.1 + 0.01 * play.trial)
        plays += batch
    went_on = {rung: {play.trial for play in plays if play.rung == rung} for rung in range(3)}
    assert went_on[1] == set(range(7, 13))
    assert went_on[2] == {10, 11, 12}


@pytest.fixture
def store(tmp_path):
    """Two entries that were carried out, one four times as fast."""
    kept = Store(tmp_path / "store")
    noise = {0: 1.0, 1: 1.1, 2: 0.95}
    for entry, seconds in ((DDP, 40.0), (LOCAL, 10.0)):
        rounds = Rounds(TASK, PLACE, entry)
        results, plays = carried_out(rounds, lambda p, s=seconds: s * noise.get(p.seed, 1.0) + 0.01 * p.trial)
        for play in plays:
            kept.keep(play, dict.fromkeys(("wall_seconds", "samples"), 60.0) | results[play.key], 3.0)
    return kept


def test_the_table_names_ratios_edges_and_what_was_missed(store):
    records = collect(store.stored().values())
    first, second = table(records, DDP.name).splitlines()[2:]
    assert first.startswith("| local-sgd |")
    assert second.startswith("| PyTorch DDP |")
    assert "12 of 12" in first
    assert "25%" in first
    assert "faster" in first or "not shown" in first  # the crossing lies between two distant evaluations
    assert math.isclose(float(second.split("|")[4].split(",")[0]), 40.01, abs_tol=0.1)
    for record in records:
        record["edges"] = ["lr"]
    assert re.search(r"lr [0-9.]+ \(edge\)", table(records, DDP.name))
    slowest = rows(records)["PyTorch DDP"].runs[0]
    slowest |= {"time_to_target": None, "samples_to_target": None}
    assert re.search(r"\| missed, 4\d\.\d, 3\d\.\d \|", table(records, DDP.name))


def test_without_the_baseline_nothing_is_called_so(store):
    records = collect(store.stored().values())
    told = table([record for record in records if record["entry"] == LOCAL.name], DDP.name)
    assert told.splitlines()[-1].endswith("| - |")


def test_simulated_runs_are_called_so_and_have_no_peers(store):
    """Simulated seconds and real ones are never in one table."""
    virtual = AT["virtual"]
    assert not any(entry.peer for entry in entries(virtual))
    records = [record | {"place": "virtual"} for record in collect(store.stored().values())]
    text = page([record for record in records if record["entry"] == LOCAL.name])
    assert "a virtual cluster of 1 Gb/s (simulated)" in text
    assert "oversubscribed" not in text


def test_the_page_is_made_from_its_raw_data(store, tmp_path):
    """Twice: what is renewed replaces what was published, and nothing else."""
    results = tmp_path / "results"
    results.mkdir()
    text = publish(collect(store.stored().values()), results).read_text()
    first = published(results)
    assert len(first) == len(store.stored())
    again = publish([record for record in first if record["entry"] == DDP.name], results)
    assert again.read_text() == text == page(published(results))
    key = operator.itemgetter("entry", "trial", "seed")
    assert sorted(published(results), key=key) == sorted(first, key=key)
    assert "The only method of the catalogue entered (of " in text
    assert "8 emulated hosts, 1 Gb/s, oversubscribed" in text


def test_the_published_page_is_that_of_its_raw_data():
    results = ROOT / "docs" / "results"
    assert (results / PAGE).exists() == any((results / DATA).glob("*.jsonl")), "one without the other"
    if (results / PAGE).exists():
        assert (results / PAGE).read_text() == page(published(results))


def test_entries_without_a_lock_that_wait_at_evaluations_every_few_steps_are_named():
    text = page(published(ROOT / "docs" / "results"))
    (told,) = [line for line in text.splitlines() if "workers without a lock wait" in line]
    assert "hogwild-easgd and hogwild-sgd: " in told and "after 2.5 steps of each" in told


def test_the_index_has_the_ratios_of_every_table_on_hosts_with_a_peer():
    """And is left as it is around them; a page that lacks the lines around them is an error."""
    results = ROOT / "docs" / "results"
    text, records, of_map = (results / INDEX).read_text(), published(results), networks(results)
    assert written_into(text, records, of_map) == text
    lines = [line for line in overview(records).splitlines() if " hosts on " in line]
    with_peer = [
        found for at, found in sections(records) if at[2] in ("8-hosts", "2-hosts") and POST_LOCAL.name in found
    ]
    assert len(lines) == len(with_peer) >= 6
    (cifar,) = (line for line in lines if "CIFAR-10" in line)
    assert "slowmo, of 2 | 1.1x (0.43 to 3.2) | " in cifar
    assert cifar.endswith("| **≤ 0.86x** sync-easgd† |"), "over the fastest method, which the row names"
    (two,) = (line for line in lines if "2 hosts on" in line)
    assert two.endswith("| 0.96x (0.63 to 1.5) | 0.96x (0.63 to 1.5) |"), "over the peer of the column before"
    with pytest.raises(ValueError, match="lacks one of the lines"):
        written_into(text.replace("<!-- end of the tuned comparison -->", ""), records, of_map)


def test_the_index_begins_with_which_entry_is_the_fastest_and_whether_elastic_averaging_wins():
    """Counted in the tables of the page itself: the first row, and the sentence about elastic methods."""
    results = ROOT / "docs" / "results"
    parts = [
        part
        for part in (results / PAGE).read_text().split("\n## ")[1:]
        if " emulated hosts" in part.partition("\n")[0] and "published settings" not in part.partition("\n")[0]
    ]
    first, said = Counter[str](), Counter[str]()
    for part in parts:
        if not (claim := re.search(r"^- The .*, the fastest of all others: ([a-z ]+): ", part, re.M)):
            continue  # of peers alone
        name = next(line for line in part.splitlines() if line.startswith("| ") and "| entry |" not in line)
        first[name.split("|")[1].strip().removesuffix(" (earlier rule)")] += 1
        said[{"at least": "faster", "at most": "slower", "not shown": "neither"}.get(claim[1], claim[1])] += 1
    answer, where = overview(published(results), networks(results)).partition(QUESTION)[0].split("\n\n")[:2]
    assert sum(first.values()) == int(re.search(r"of (\d+) tables of hosts", answer)[1])
    for name, number in first.items():
        assert re.search(rf"\b{re.escape(name)} in {number}\b", answer), name
    assert answer.endswith(", ".join(f"{claim} in {number}" for claim, number in sorted(said.items())) + ".**")
    assert where.startswith("**Where elastic averaging wins**, [simulated](regimes.md): ")
    regimes = (results / "regimes.md").read_text()
    for told in (r"in (\d+ of \d+) conditions in which", r"in (\d+ of \d+) with less than"):
        assert f"({re.search(told, where)[1]})" in regimes, "as that page counts them"


def test_the_first_sentence_counts_what_the_tables_say_of_elastic_averaging():
    text = page(published(ROOT / "docs" / "results"))
    real = "".join(part for part in text.split("\n## ") if "(simulated)" not in part.partition("\n")[0])
    found = re.findall(
        r"^- The [a-z0-9 ]*elastic methods? entered \(of \d+\), over .*, the fastest of all others: ([a-z ]+): ",
        real,
        re.M,
    )
    words = {"at least": "faster", "at most": "slower", "same": "practically the same"}
    counted = Counter(words.get(claim, claim) for claim in found)
    first = next(line for line in text.splitlines() if line and not line.startswith(("#", "<!--")))
    number, told = re.match(r".* in (\d+) tables of real hosts: (.*)\.\*\*", first).groups()
    assert int(number) == len(found) > 0
    assert told == ", ".join(f"{count} {claim}" for claim, count in sorted(counted.items()))


def test_settings_that_a_peer_cannot_run_are_refused():
    with pytest.raises(ValueError, match="several buckets"):
        Settings("ddp", wire="powersgd")
    with pytest.raises(ValueError, match="settings of ddp"):
        Settings("post-local", accumulation=2)
    with pytest.raises(ValueError, match="workload"):
        Settings("ddp", workload="xmlc-mlp")
    with pytest.raises(ValueError, match="AdamW weight decay"):
        Settings("ddp", optimizer="adamw", momentum=0.9)


WITH_ADAMW = [*(entry for entry in entries(PLACE) if entry.name in (DDP.name, "slowmo", "sync-easgd")), *TORCHFT]


@pytest.mark.parametrize("entry", WITH_ADAMW, ids=lambda entry: entry.name)
def test_the_optimizer_of_a_task_is_given_to_every_entry(entry):
    task = TASKS["text"]
    plays = [play for play in itertools.islice(Rounds(task, PLACE, entry).missing({}), TRIALS) if play.rung == 0]
    assert len(plays) == TRIALS
    for play in plays:
        if entry.peer:
            settings = Settings(**play.document["settings"])
            assert (settings.workload, settings.batch, settings.momentum) == (task.workload, 4, 0.0)
            told = settings.optimizer, settings.weight_decay, settings.lr
        else:
            spec = validate_run(play.document)
            method = spec.algorithm.parameters
            assert (spec.workload.name, spec.batch, method["momentum"]) == (task.workload, 4, 0.0)
            told = method["optimizer"], method["weight_decay"], method["lr"]
        assert told[:2] == ("adamw", 0.01)
        assert 0.0003 <= told[2] <= 0.03
        assert "momentum" not in play.edges


SEARCHED = TASKS["mnist-batch"]


@pytest.mark.parametrize("entry", entries(PLACE), ids=lambda entry: entry.name)
def test_where_the_batch_is_searched_every_entry_searches_it(entry):
    rounds = Rounds(SEARCHED, PLACE, entry)
    plays = [play for play in itertools.islice(rounds.missing({}), TRIALS) if play.rung == 0]
    assert len(plays) == TRIALS
    assert {play.parameters["batch"] for play in plays} == set(SEARCHED.batches)
    for play in plays:
        if entry.peer:
            settings = Settings(**play.document["settings"])
            assert (settings.batch, settings.precision) == (play.parameters["batch"], "bf16")
        else:
            spec = validate_run(play.document)
            assert (spec.batch, spec.compute.precision) == (play.parameters["batch"], "bf16")


def test_a_larger_batch_takes_less_virtual_time_per_sample():
    virtual, seconds = AT["virtual"], []
    for batch in SEARCHED.batches:
        spec = validate_run(LOCAL.on(SEARCHED).document(SEARCHED, virtual, {"batch": batch}, 60_000, 0))
        seconds.append(spec.virtual.compute_seconds_per_sample * batch)
    constant, each = SEARCHED.gradient
    assert seconds == pytest.approx([constant + each * batch for batch in SEARCHED.batches])
    usual = validate_run(LOCAL.document(TASK, virtual, {}, 60_000, 0))
    assert usual.virtual.compute_seconds_per_sample == virtual.constants["compute_seconds_per_sample"]


def test_the_table_of_a_searched_batch_names_it(tmp_path):
    kept = Store(tmp_path)
    rounds = Rounds(SEARCHED, PLACE, LOCAL)
    results, plays = carried_out(rounds, lambda play: 10.0 + play.trial)
    for play in plays:
        kept.keep(play, dict.fromkeys(("wall_seconds", "samples"), 60.0) | results[play.key], 3.0)
    told = page(collect(kept.stored().values()))
    assert "Every entry searches its batch per worker (16, 32, 64), and DDP its accumulation" in told
    assert re.search(r"\| local-sgd \| .*batch (16|32|64)", told)
