"""Every planted violation is found, as what it is, and nothing in what is right."""

import subprocess
import sys
from dataclasses import replace

import pytest

from benchmarks.soak import counting
from benchmarks.soak.counting import Journal, Records, RunFacts, violations
from benchmarks.soak.expected import expected
from benchmarks.soak.processes import RANK, Found, Watch, living

SPEC = {"budget": {"samples": 640}, "batch": 16, "evaluation": {"every": 160}}
"""20 steps of each of two workers; evaluations at 0, 160, ..., 640."""
SCORES = (0, 160, 320, 480, 640)


def run(stored=None, journals=None, **changes):
    """Return a run of two workers; by default right, in two attempts, the second from a checkpoint at step 8."""
    first, second = tuple(range(1, 12)), tuple(range(9, 21))
    wrote = {
        (1, 0): Journal(first, (0, 160, 320), began=100.0, written=110.0),
        (1, 1): Journal(first, (), began=100.0, written=110.0),
        (2, 0): Journal(second, (320, 480, 640), restored=8, began=120.0, written=130.0),
        (2, 1): Journal(second, (), restored=8, began=120.0, written=130.0),
    } | (journals or {})
    has = {key: Records(journal.steps, journal.evaluations) for key, journal in wrote.items()} | (stored or {})
    facts = {"id": "run_a", "state": "succeeded", "attempt": 2, "workers": 2, "servers": 0, "spec": SPEC}
    return RunFacts(**facts | changes, stored=has, journals=wrote)


def kinds(*runs):
    return {(found.kind, found.attempt) for found in violations(runs)}


def test_the_closed_form():
    assert expected(SPEC, 2, 0).each == 20
    assert expected(SPEC, 2, 0).evaluations == SCORES
    assert (expected(SPEC, 2, 1).each, expected(SPEC, 2, 1).total) == (None, 40)
    with pytest.raises(ValueError, match="no whole steps"):
        expected(SPEC, 3, 0)


def test_nothing_is_found_in_what_is_right():
    cancelled = run(id="run_b", state="cancelled", cancelled=True)
    too_late = run(id="run_c", cancelled=True)
    assert violations([run(), cancelled, too_late]) == []


@pytest.mark.parametrize("state", ["queued", "dispatched", "starting", "running", "lost"])
def test_a_run_that_is_stuck(state):
    assert kinds(run(state=state)) == {(counting.STUCK, 2)}


@pytest.mark.parametrize("state", ["failed_user", "failed_infra", "timed_out", "cancelled"])
def test_a_run_that_ended_wrongly(state):
    assert kinds(run(state=state)) == {(counting.WRONG_END, 2)}


def test_a_cancelled_run_may_not_have_failed():
    assert kinds(run(state="failed_infra", cancelled=True)) == {(counting.WRONG_END, 2)}


def test_steps_that_a_rank_wrote_and_the_database_lacks():
    lacking = Records(tuple(range(1, 11)), (0, 160, 320))  # step 11, which is hidden by the second attempt
    assert kinds(run(stored={(1, 0): lacking})) == {(counting.LOST, 1)}
    assert kinds(run(stored={(1, 0): lacking}, state="cancelled", cancelled=True)) == {(counting.LOST, 1)}


def test_steps_that_are_stored_twice():
    twice = Records((*range(1, 12), 11), (0, 160, 320))
    (found,) = violations([run(stored={(1, 0): twice})])
    assert (found.kind, found.attempt, found.text) == (counting.DOUBLED, 1, "1 steps of rank 0: 11")


def test_an_evaluation_that_is_lost_and_one_that_is_doubled():
    assert kinds(run(stored={(2, 0): Records(tuple(range(9, 21)), (320, 640))})) == {(counting.LOST, 2)}
    doubled = Records(tuple(range(9, 21)), (320, 480, 480, 640))
    assert kinds(run(stored={(2, 0): doubled})) == {(counting.DOUBLED, 2)}


def test_the_evaluation_of_an_attempt_that_was_told_to_stop_and_was_continued_counts_once():
    steps, scores = (
        tuple(range(1, 10)),
        (0, 160, 272),
    )  # told to stop after 9 steps: evaluated between two that are due
    stopped = {(1, 0): Journal(steps, scores, began=100.0, written=110.0, stopped=272)}
    later = {
        (2, 0): Journal(tuple(range(10, 21)), (320, 480, 640), restored=9, began=120.0),
        (2, 1): Journal(tuple(range(10, 21)), (), restored=9, began=120.0),
    }
    assert violations([run(journals=stopped | later)]) == []
    twice = {(1, 0): Records(steps, (0, 160, 272, 272))}
    assert {found.kind for found in violations([run(twice, stopped | later)])} == {counting.DOUBLED}
    unknown = {(1, 0): replace(stopped[1, 0], stopped=None)}
    assert kinds(run(journals=unknown | later)) == {(counting.DOUBLED, 2)}


def test_a_success_without_all_steps_although_all_that_was_written_is_stored():
    short = Journal(tuple(range(9, 20)), (320, 480, 640), restored=8, began=120.0)
    (found,) = violations([run(journals={(2, 0): short})])
    assert (found.kind, found.text) == (counting.LOST, "1 steps shown of rank 0: 20")


def test_a_gap_between_two_attempts_and_a_step_that_both_count():
    gap = Journal(tuple(range(10, 21)), (320, 480, 640), restored=9, began=120.0)  # step 9: only the first one's
    assert kinds(run(journals={(2, 0): gap})) == set()
    wider = Journal(tuple(range(13, 21)), (320, 480, 640), restored=12, began=120.0)  # step 12: nobody's
    assert kinds(run(journals={(2, 0): wider})) == {(counting.LOST, 2)}
    both = Journal(tuple(range(8, 21)), (320, 480, 640), restored=8, began=120.0)
    assert kinds(run(journals={(2, 0): both})) == {(counting.DOUBLED, 2)}


def test_a_server_divides_the_steps():
    whole = {
        (1, 0): Journal(tuple(range(1, 31)), began=1.0),
        (1, 1): Journal(tuple(range(1, 11)), began=1.0),
        (1, 2): Journal(tuple(range(1, 41)), SCORES, began=1.0),
    }
    facts = {"id": "run_a", "state": "succeeded", "attempt": 1, "workers": 2, "servers": 1, "spec": SPEC}
    stored = {key: Records(journal.steps, journal.evaluations) for key, journal in whole.items()}
    right = RunFacts(**facts, stored=stored, journals=whole)
    assert violations([right]) == []
    fewer = whole | {(1, 1): Journal(tuple(range(1, 10)), began=1.0)}
    stored = {key: Records(journal.steps, journal.evaluations) for key, journal in fewer.items()}
    (found,) = violations([replace(right, stored=stored, journals=fewer)])
    assert (found.kind, found.text) == (counting.LOST, "39 steps of all workers instead of 40")


def test_an_attempt_that_still_wrote_when_the_next_one_had_begun():
    late = Journal(tuple(range(1, 12)), (0, 160, 320), began=100.0, written=120.5)
    (found,) = violations([run(journals={(1, 0): late})])
    assert (found.kind, found.attempt) == (counting.TWICE, 2)
    assert "0.50 s after its beginning" in found.text


def test_two_attempts_alive_in_two_looks():
    watch = Watch([])
    ranks = [Found(1, RANK, ("run_a.1", "run_b.1")), Found(2, RANK, ("run_a.2",))]
    watch.look(ranks)
    assert watch.twice == {}  # one may just have been ending
    watch.look(ranks[:1])
    watch.look(ranks)
    watch.look(ranks)
    assert watch.twice == {"run_a": {"run_a.1", "run_a.2"}}


def test_processes_left_are_found_by_their_home(tmp_path):
    sleeping = "import time; print(flush=True); time.sleep(60)"
    command = [sys.executable, "-c", sleeping, "hooke.loop.train", f"{tmp_path}/runs/run_a/1"]
    environment = {"HOOKE_ATTEMPT": "run_a.1,run_b.2"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            (found,) = living([tmp_path])
            assert list(living([tmp_path / "other"])) == []
        finally:
            process.kill()
    assert (found.pid, found.what, found.runs) == (process.pid, RANK, ["run_a", "run_b"])
    assert list(living([tmp_path])) == []
