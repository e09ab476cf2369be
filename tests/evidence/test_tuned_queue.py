"""The queue of simulated entries: several runs at once, and what several machines computed is one table."""

import pickle

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.evidence import store as evidence
from benchmarks.evidence.cells import key_of
from benchmarks.evidence.machine import hardware, name_of
from benchmarks.tuned import running
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import entries, entry_of
from benchmarks.tuned.missing import missing_entries
from benchmarks.tuned.page import page, sections
from benchmarks.tuned.publishing import DATA, publish, published
from benchmarks.tuned.records import collect
from benchmarks.tuned.rounds import Rounds
from benchmarks.tuned.store import Store
from tests.evidence.test_tuned import result
from tests.evidence.test_tuned_rules import measured

TASK, PLACE = TASKS["fashion-early"], AT["virtual"]
TRIALS, SEEDS = 4, 2
ELSEWHERE = hardware() | {"cpu": "Another"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def queue(*names):
    return [Rounds(TASK, PLACE, entry_of(name), TRIALS, SEEDS) for name in names]


def met(play):
    return result(10.0 + play.trial) | {"processor_seconds": 1.0, "wall_seconds": 1.0, "samples": 60.0}


def several_at_once(began, outcome, last_first):
    """Return a stand-in for the pool: `processes` runs are under way; one of them ends, the last or the first."""

    def carry_out(following, run, keep, minutes, processes):
        assert run.keywords == {"cores": 1 if processes > 1 else None}
        under_way = []
        while True:
            found = following(tuple(under_way), processes - len(under_way)) if minutes else []
            began.append([play for play, _ in found])
            under_way += found
            assert len(under_way) <= processes
            assert len({play.key for play, _ in under_way}) == len(under_way)
            if not under_way:
                return
            todo = under_way.pop(-1 if last_first else 0)
            keep(
                pickle.loads(pickle.dumps(todo)),
                {"wrong": "", "machine_ms": 3.0, "seconds": 1.0} | outcome(todo[0]),
            )

    return carry_out


@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("processes", [1, 3, 20])
def test_whatever_ends_first_every_run_is_carried_out_once(store, monkeypatch, processes, last_first):
    """The runs and choices are those of one process; an entry's reported runs wait for its trials."""
    names, began = ("slowmo", "local-sgd", "co2"), []
    outcome = several_at_once(began, lambda play: {"result": met(play)}, last_first)
    monkeypatch.setattr(running, "carry_out", outcome)
    assert running.run_in_turn(queue(*names), store, 0.0, processes) == 0
    assert running.run_in_turn(queue(*names), store, 1.0, processes) == len(names) * (TRIALS + SEEDS)
    plays = [play for batch in began for play in batch]
    assert len({play.key for play in plays}) == len(plays) == len(store.results())
    for name in names:
        own = [play for play in plays if play.entry.name == name]
        assert [play.rung is None for play in own] == [False] * TRIALS + [True] * SEEDS
        assert {play.trial for play in own if play.rung is None} == {1}, "the fastest trial"
    first = [play.entry.name for play in began[1]]
    assert len(first) == min(processes, len(names) * TRIALS)
    assert first == sorted(first, key=names.index), "the first entries first"
    assert running.run_in_turn(queue(*names), store, 1.0, processes) == 0


def test_what_fails_holds_up_its_own_entry_alone(store, monkeypatch):
    def outcome(play):
        fails = play.entry.name == "slowmo" and play.trial == 2
        return {"result": {"state": "failed_infra", "why": "ended"} if fails else met(play)}

    monkeypatch.setattr(running, "carry_out", several_at_once([], outcome, False))
    assert running.run_in_turn(queue("slowmo", "co2"), store, 1.0, 3) == TRIALS + TRIALS + SEEDS
    assert {each["entry"] for each in collect(store.stored().values()) if each["rung"] is None} == {"co2"}
    assert len(list(store.folder.glob("failures/*.json"))) == 1


def test_a_broken_clock_ends_the_queue_last_of_all(store, monkeypatch):
    """The same run would have the same journals again."""

    def outcome(play):
        return {"result": met(play), "wrong": "it went back" if play.trial == 3 else ""}

    monkeypatch.setattr(running, "carry_out", several_at_once(plays := [], outcome, False))
    with pytest.raises(running.BrokenClock, match=r"slowmo, fashion-early, virtual, trial 3.*it went back"):
        running.run_in_turn(queue("slowmo"), store, 1.0, 3)
    assert sum(map(len, plays)) == TRIALS
    assert len(store.results()) == TRIALS - 1


def test_a_simulated_table_is_of_all_machines_that_computed_it(store, tmp_path):
    measured(store, "slowmo")
    measured(store, "co2")
    here = collect(store.stored().values())
    there = [each | {"hardware": ELSEWHERE, "torch": "1.0"} for each in here if each["entry"] == "co2"]
    mixed = [each for each in here if each["entry"] == "slowmo"] + there
    ((at, found),) = sections(mixed)
    assert (at[0], set(found)) == ("", {"slowmo", "co2"})
    text = page(mixed)
    assert "Another" in text and "PyTorch 1.0" in text and "may move a target by an evaluation" in text
    assert "may move a target by an evaluation" not in page(here)
    assert not [each for each in missing_entries(TASK, PLACE, mixed, []) if each.name in ("slowmo", "co2")]
    results = tmp_path / "results"
    publish(mixed, results)
    assert len(list((results / DATA).glob("*.jsonl"))) == 2
    publish(here, results)
    assert [path.stem for path in (results / DATA).glob("*.jsonl")] == [name_of(hardware())]
    assert published(results) == here


def test_a_table_of_hosts_is_of_one_machine(store):
    task, place = TASKS["fashion"], AT["8-hosts"]
    measured(store, "slowmo", task, place)
    here = collect(store.stored().values())
    there = [each | {"hardware": ELSEWHERE} for each in here]
    assert len(sections([*here, *there])) == 2
    assert "slowmo" in [entry.name for entry in missing_entries(task, place, there, [])]
    assert "slowmo" not in [entry.name for entry in missing_entries(task, place, here, [])]


def test_a_copy_without_git_has_the_commit_that_it_was_told(monkeypatch, tmp_path):
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.delenv("HOOKE_COMMIT", raising=False)
    assert evidence.commit() == "unknown"
    monkeypatch.setenv("HOOKE_COMMIT", "0123456789")
    assert evidence.commit() == "0123456789"


@pytest.mark.parametrize("name", ["slowmo", "PyTorch post-local SGD"])
def test_the_schedule_of_all_reduces_is_a_condition_of_a_task(name):
    entry, other = entry_of(name), TASKS["fashion-early-halving"]
    by_tree, by_halving = (entry.document(task, PLACE, {}, 64_000, 0) for task in (TASK, other))
    assert validate_run(by_tree).communication.collective == "tree"
    assert by_halving == by_tree | {"communication": by_tree["communication"] | {"collective": "halving"}}
    assert validate_run(by_halving).communication.collective == "halving"


@pytest.mark.parametrize(("task", "key"), [("fashion", "4c0eb78e94f8"), ("fashion-early-halving", "52277572cdb3")])
def test_results_that_are_stored_keep_their_keys(task, key):
    """Those of the time when documents by a tree named none, because it was the default."""
    place = AT["8-hosts"]
    assert key_of(place, entry_of("slowmo").document(TASKS[task], place, {}, 64_000, 0)) == key


def test_a_table_says_which_schedule_its_all_reduces_have(store):
    measured(store, "slowmo", TASKS["fashion-early-halving"])
    measured(store, "slowmo")
    first, second = page(collect(store.stored().values())).split("## ")[1:]
    assert "by recursive halving" not in first
    assert "All-reduces by recursive halving instead of a tree: the same bits. " in second


@pytest.mark.parametrize("place", ["virtual-1", "virtual-4", "virtual-16"])
def test_every_simulated_entry_is_valid_with_any_number_of_workers(place):
    for entry in entries(AT[place]):
        rounds = Rounds(TASK, AT[place], entry, 2)
        for play in rounds.missing({}):
            assert validate_run(play.document).workers == AT[place].hosts
