"""Settings that virtual time has chosen, on hosts: reported runs on seeds of their own, and no verdict on some."""

import json
from dataclasses import replace

import pytest
from hooke.catalogue.validation import validate_run
from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.regimes.cells import Cell
from benchmarks.regimes.conditions import LAB
from benchmarks.regimes.store import read
from benchmarks.tuned.chosen import SETTINGS, CannotChoose, chosen
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import DDP_BF16, entry_of
from benchmarks.tuned.page import page
from benchmarks.tuned.publishing import publish, published
from benchmarks.tuned.records import collect
from benchmarks.tuned.rows import rows, verdicts
from benchmarks.tuned.running import REPEATED, Session, following
from benchmarks.tuned.store import Store
from tests.evidence.test_tuned import result
from tests.evidence.test_tuned_field import run

TASK, PLACE = TASKS["fashion-halving"], AT["8-hosts"]
FILE = SETTINGS / f"{TASK.name}-{PLACE.name}-chosen.json"


def entries_of_the_file(place=PLACE):
    return json.loads((SETTINGS / f"{TASK.name}-{place.name}-chosen.json").read_text())["entries"]


@pytest.fixture
def store(tmp_path):
    """Return a store with all runs of the published file: the first entry is the fastest."""
    return filled(tmp_path / "store", pinned=False)


def filled(folder, pinned):
    kept, plans = Store(folder), chosen(TASK, PLACE, [], pinned=pinned)
    order = [each["entry"] for each in entries_of_the_file()]
    while play := following(plans, kept, set()):
        kept.keep(play, result(10.0 + order.index(play.entry.name) + play.seed / 10) | {"wall_seconds": 1.0}, 3.0)
    return kept


def test_reported_seeds_come_after_all_others_and_interleave_the_entries():
    plans = chosen(TASK, PLACE, [], pinned=True)
    groups = {each["entry"]: each.get("group", 0) for each in entries_of_the_file()}
    order = [(group, seed, name) for name, group in groups.items() for seed in (5, 6, 7)]
    seen, done = [], {}
    while play := following(plans, _Kept(done), set()):
        done[play.key] = {}
        seen.append((play.group, play.seed, play.entry.name))
        if "settings" not in play.document:
            spec = validate_run(play.document)
            assert (spec.communication.collective, spec.compute.placement) == ("halving", "none")
    assert seen == sorted(order, key=lambda each: each[:2]), "in a group seed by seed, in the order of the file"


class _Kept:
    def __init__(self, results):
        self._results = results

    def results(self):
        return self._results


ADDED = {"predict": "none", "share": 1.0}
"""Parameters that the settings on file do not have yet, with their defaults."""
PLACES = [place for name, place in AT.items() if (SETTINGS / f"{TASK.name}-{name}-chosen.json").exists()]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_the_published_settings_are_trials_of_their_entries(place):
    for each in entries_of_the_file(place):
        setting = entry_of(each["entry"]).on(TASK).settings(16, place.hosts)[each["trial"] - 1]
        added = {name: ADDED[name] for name in setting if name in ADDED}
        assert setting == added | each["parameters"], "parameters that were added since have their defaults"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_a_setting_is_the_fastest_in_virtual_time_that_nothing_has_refuted(place):
    records = read(SETTINGS / f"{TASK.name}-{place.hosts}-workers.jsonl")
    for each in entries_of_the_file(place):
        if not (each.get("unfair") or each.get("fewer")):
            ranking = Cell(TASK.name, place.hosts, each["entry"], records).ranking(LAB)
            left = [trial for trial in ranking if trial not in each.get("refuted", [])]
            assert each["trial"] == left[0], each["entry"]
            own = [
                record
                for run, record in records.items()
                if run.method == each["entry"] and not run.timed and run.seed == FIRST_TUNING_SEED
            ]
            assert len(own) == len({record["trial"] for record in own}) == 16, each["entry"]


def test_entries_without_trials_of_their_own_have_no_verdict(store, tmp_path):
    publish(collect(store.stored().values()), tmp_path)
    records, told = published(tmp_path), page(published(tmp_path))
    without = [each for each in entries_of_the_file() if each.get("unfair")]
    assert without
    for each in without:
        (line,) = [line for line in told.splitlines() if line.startswith(f"| {each['entry']} |")]
        assert f"| no claim: {each['unfair']} |" in line
    for each in entries_of_the_file():
        said = f"\n- Not tuned as the others: {each['entry']}, {each.get('fewer')}.\n"
        assert (said in told) == ("fewer" in each), each["entry"]
    fair = [each["entry"] for each in entries_of_the_file() if not each.get("unfair")]
    (line,) = [line for line in told.splitlines() if line.startswith(f"| {fair[0]} |")]
    assert "no claim" not in line
    assert len(records) == 3 * len(entries_of_the_file())


def test_a_table_says_that_ranks_were_pinned_only_where_they_were(store, tmp_path):
    pinned = collect(filled(tmp_path / "pinned", pinned=True).stored().values())
    free = collect(store.stored().values())
    assert "to which it is pinned" in page(pinned)
    assert "by recursive halving" in page(free) and "pinned" not in page(free)
    assert "pinned" not in page([*free[:-1], pinned[-1]]), "not of all of them"
    beside = [*(each | {"others": True} for each in pinned[:2]), *pinned[2:]]
    assert f"Other programs used the machine's other cores in 2 of these {len(pinned)} runs." in page(beside)
    assert "Other programs" not in page(pinned) + page(free), "it is not known of them"


def test_an_entry_with_fewer_trials_is_called_faster_but_not_slower():
    few = {"fewer": "6 trials"}
    for seconds, claim in ((5.0, "faster"), (40.0, "no claim"), (20.0, "same")):
        records = [run(DDP_BF16.name, seed, 20.0) for seed in range(3)] + [
            run("slowmo", seed, seconds, **few) for seed in range(3)
        ]
        found = rows(records)
        verdict = verdicts(found, DDP_BF16.name)["slowmo"]
        assert (verdict.claim, verdict.unfair) == (claim, "6 trials" if claim == "no claim" else None)
        other = verdicts(found, "slowmo")[DDP_BF16.name].claim
        assert other == {"faster": "slower", "no claim": "no claim", "same": "same"}[claim]


def test_a_run_whose_clock_stays_broken_does_not_end_the_others(tmp_path):
    session, (play, *_) = Session(Store(tmp_path), goes_on=True), list(chosen(TASK, PLACE, [])[0].plays())
    for number in range(1, REPEATED + 1):
        session.keep((play, tmp_path), {"result": {"state": "succeeded"}, "wrong": "rank 1 is late"})
        assert (play.key in session.failed) == (number == REPEATED)
    assert len(session.doubted) == 1
    assert "rank 1 is late" in session.doubted[0]


def test_what_is_not_chosen_is_said(tmp_path):
    with pytest.raises(CannotChoose, match="no settings are chosen for cifar at 8-hosts"):
        chosen(TASKS["cifar"], PLACE, [])
    with pytest.raises(CannotChoose, match="hogbatch: not in"):
        chosen(TASK, PLACE, ["hogbatch"])
    document = json.loads(FILE.read_text())
    document["entries"][0]["parameters"]["lr"] = -1
    (tmp_path / FILE.name).write_text(json.dumps(document))
    with pytest.raises(CannotChoose, match="lr"):
        chosen(replace(TASK), PLACE, [], folder=tmp_path)
