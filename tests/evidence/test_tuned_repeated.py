"""Published settings by another collective: the same runs, in turn with the peers, in a table of their own."""

from dataclasses import replace

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.evidence.running import run_within
from benchmarks.regimes.conditions import TASKS as SMALL
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import DDP_BF16, POST_LOCAL, entry_of
from benchmarks.tuned.missing import missing_entries
from benchmarks.tuned.overview import overview
from benchmarks.tuned.page import page, sections
from benchmarks.tuned.publishing import PAGE, publish, published
from benchmarks.tuned.records import collect
from benchmarks.tuned.repeated import CannotRepeat, Repeated, repetitions, same_samples
from benchmarks.tuned.repeated_page import repeated_table
from benchmarks.tuned.rounds import Rounds
from benchmarks.tuned.running import following
from benchmarks.tuned.store import Store
from tests.evidence.test_tuned import result
from tests.evidence.test_tuned_rules import measured

TASK, PLACE = TASKS["fashion"], AT["8-hosts"]
NAMES = ("slowmo", "async-easgd", POST_LOCAL.name, DDP_BF16.name)


@pytest.fixture
def store(tmp_path):
    """Return a store of searches that are published."""
    kept = Store(tmp_path / "store")
    for name in NAMES:
        measured(kept, name, TASK, PLACE)
    publish(collect(kept.stored().values()), tmp_path)
    return kept


def repeat(store, tmp_path, seconds=2.0, more=0, **asked):
    """Carry out what is repeated, with the samples of the published runs and `more`; return it in order."""
    again, done = repetitions(TASK, PLACE, "halving", published(tmp_path), **asked), []
    while play := following(again, store, set()):
        samples = play.repeats["samples_to_target"] + more
        found = result(seconds + play.seed / 10) | {"samples_to_target": samples, "wall_seconds": 1.0}
        store.keep(play, found, 3.0)
        done.append(play)
    return done


def test_methods_and_peers_run_seed_by_seed_at_their_published_settings(store, tmp_path):
    before = {record["entry"]: record for record in published(tmp_path) if record["rung"] is None}
    done = repeat(store, tmp_path)
    assert [(play.seed, play.entry.name) for play in done] == [
        (seed, name) for seed in range(3) for name in ("slowmo", DDP_BF16.name, POST_LOCAL.name)
    ]
    assert all(play.parameters == before[play.entry.name]["parameters"] for play in done)
    method, peer = done[0], done[1]
    assert validate_run(method.document).communication.collective == "halving"
    searched = Rounds(TASK, PLACE, peer.entry, 6).reported(peer.trial, 0)
    assert (peer.document, peer.key == searched.key) == (searched.document, False), (
        "measured again, in this session"
    )
    assert repeat(store, tmp_path) == [], "a further call goes on where the first one ended"


def test_a_repetition_has_a_table_of_its_own_and_replaces_nothing(store, tmp_path):
    before, text = published(tmp_path), (tmp_path / PAGE).read_text()
    repeat(store, tmp_path)
    publish(collect(store.stored().values()), tmp_path)
    after, page_now = published(tmp_path), (tmp_path / PAGE).read_text()
    assert [record for record in after if not record.get("repeats")] == before
    parts, parts_before = page_now.split("\n\n## "), text.split("\n\n## ")
    assert [part.strip() for part in parts if "published settings, by halving" not in part] == [
        part.strip() for part in parts_before
    ]
    (own,) = (part for part in parts if "published settings, by halving" in part)
    assert "Each of the 9 runs met the target after the samples of the published one" in own
    assert "| slowmo | 2.0, 2.1, 2.2 | 11.0, 11.1, 11.2 | 25% | " in own
    assert (overview(after), len(sections(after))) == (overview(before), 1)
    lacking = [entry.name for entry in missing_entries(TASK, PLACE, before, [])]
    assert [entry.name for entry in missing_entries(TASK, PLACE, after, [])] == lacking
    assert page(published(tmp_path)) == page_now


def test_other_samples_than_the_published_ones_are_said(store, tmp_path):
    repeat(store, tmp_path, more=16, seeds=1, names=["slowmo"], peers=[POST_LOCAL.name])
    found = [record for record in collect(store.stored().values()) if record.get("repeats")]
    told = "2 of 2 runs needed other samples than the published ones: PyTorch post-local SGD (1), slowmo (1)."
    assert same_samples(found) == told
    publish(found, tmp_path)
    assert not any(record.get("repeats") for record in published(tmp_path)), "one seed of three: not complete"


@pytest.mark.parametrize(
    ("task", "names", "why"),
    [
        (TASK, ["co2"], "co2: not published there; there are: "),
        (TASK, ["async-easgd"], "async-easgd: what it learns depends on the clock"),
        (TASKS["mnist"], [], "nothing is published of mnist at 8-hosts"),
    ],
)
def test_what_cannot_be_repeated_is_said(store, tmp_path, task, names, why):
    with pytest.raises(CannotRepeat, match=why):
        repetitions(task, PLACE, "halving", published(tmp_path), names)


def test_a_real_run_by_halving_meets_the_target_after_the_same_samples(tmp_path):
    task, place = replace(SMALL["digits"], samples=3_200, every=320, target=0.6, trials=2), AT["virtual-4"]
    kept, rounds = Store(tmp_path), Rounds(task, place, entry_of("slowmo"), 2, 1)
    while plays := list(rounds.missing(kept.results())):
        for play in plays:
            kept.keep(play, run_within(100.0, play, None, kept.journal(play), 1), 3.0)
    reported = [record for record in collect(kept.stored().values()) if record["rung"] is None]
    again = Repeated(replace(task, collective="halving"), place, reported)
    for play in again.missing(kept.results()):
        kept.keep(play, run_within(100.0, play, None, kept.journal(play), 1), 3.0)
    (found,) = (record for record in collect(kept.stored().values()) if record.get("repeats"))
    assert found["samples_to_target"] == reported[0]["samples_to_target"] is not None
    assert found["time_to_target"] < found["repeats"]["seconds"] == reported[0]["time_to_target"]
    assert same_samples([found]).startswith("Each of the 1 runs met the target")
    assert repeated_table([found]).count("\n") == 2
