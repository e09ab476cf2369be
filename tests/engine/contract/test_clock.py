"""One train clock: what `hooke.spec.invariants` finds in the journals of every method, and in forged ones."""

import pytest
from hooke.spec.events import STEP_COLUMNS, Done, Evaluation, Start
from hooke.spec.invariants import faults
from hooke.spec.journal import JournalWriter
from hooke.trace.phases import PHASES

from tests.engine.contract import suite
from tests.engine.contract.cases import WORLDS, Case


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.clocked(), ids=ids)
def test_the_clock_is_the_run_of_every_worker(played, case, world):
    reports = played(case, world)
    assert reports[0].faults == []
    assert len(reports[-1 if suite.served(case) else 0].scores) > 3


@pytest.mark.parametrize("case", [c for c in suite.clocked() if not suite.served(c)], ids=ids)
def test_ranks_stand_as_long_as_evaluations_take(played, case):
    """Every rank: its seconds off the clock are those for which the clock stood, and all end at one clock.

    In virtual time, where both are exact: of real processes, one may be told late. Servers: see below.
    """
    reports = played(case, "virtual")
    assert reports[0].stood >= (len(reports[0].scores) - 1) * case.scoring - 1e-9
    stood = reports[0].stood + reports[0].done["test_seconds"]
    for report in reports:
        assert report.done["phases"]["evaluate"] == pytest.approx(stood, abs=1e-9)
        assert report.done["clock"] == pytest.approx(reports[0].done["clock"], abs=1e-9)


@pytest.mark.parametrize("case", [c for c in suite.clocked() if suite.served(c)], ids=ids)
def test_a_server_tells_its_workers_how_long_they_stood(played, case):
    """Also those that have left before the last evaluation, which lies at the end of the budget.

    Under MPI alone: in virtual time no worker is stopped. A worker stands for longer than the evaluation takes,
    however late it is told, so that all of the evaluation is off its clock.
    """
    *workers, server = played(case, "mpi")
    assert server.stood >= (len(server.scores) - 1) * case.scoring
    for worker in workers:
        assert worker.done["phases"]["evaluate"] >= server.stood - 1e-6


@pytest.mark.parametrize(("case", "world"), suite.ends(suite.met()), ids=ids)
def test_a_target_met_by_the_initial_weights_has_time_0(played, case, world):
    reports = played(case, world)
    assert {report.done["reason"] for report in reports} == {"target"}
    assert [report.picked for report in reports] == [[]] * case.ranks
    assert reports[-1 if suite.served(case) else 0].clocks == [0.0]


# -- forged journals ----------------------------------------------------------------------------------------


def write(folder, rank=0, role="worker", steps=(), scores=(), done=(1.0, 1.0, 1.0)):
    """steps: (wall, clock, compute); scores: (samples, clock, wall, seconds); done: (clock, wall, compute)."""
    writer = JournalWriter(folder / f"journal.{rank}.jsonl", lambda: 0.0)
    anchor = {"host": "h", "pid": 1, "unix": 0.0, "monotonic": 0.0, "world": "mpi", "ranks": 2}
    writer.record(lambda seq: Start(seq=seq, role=role, oversubscribed=False, **anchor))
    for number, (wall, clock, compute) in enumerate(steps, 1):
        row = dict.fromkeys(STEP_COLUMNS, 0) | {"wall": wall, "clock": clock, "compute": compute, "step": number}
        writer.step(tuple(row.values()))
    for samples, clock, wall, seconds in scores:
        rest = {"loss": 1.0, "accuracy": 0.5, "reached": False, "step": samples}
        writer.record(
            lambda seq, a=(samples, clock, wall, seconds), b=rest: Evaluation(
                seq=seq, samples=a[0], clock=a[1], wall=a[2], seconds=a[3], **b
            )
        )
    if done:
        clock, wall, compute = done
        phases = dict.fromkeys(map(str, PHASES), 0.0) | {"compute": compute, "evaluate": wall - clock}
        phases["idle"] = wall - sum(phases.values())
        counts = {"hidden": 0.0, "payload": 0, "wire": 0, "messages": 0, "step": 9, "samples": 9}
        writer.record(lambda seq: Done(seq=seq, reason="budget", clock=clock, wall=wall, phases=phases, **counts))
    writer.close()


def test_journals_that_hold_have_no_faults(tmp_path):
    steps = [(0.5, 0.5, 0.4), (1.6, 0.9, 0.4)]
    write(tmp_path, steps=steps, scores=[(0, 0, 0, 0.3), (4, 0.5, 0.5, 0.7)], done=(0.9, 1.6, 0.8))
    assert faults(tmp_path) == []


def test_a_clock_that_runs_less_than_a_worker_is_found(tmp_path):
    """The defect: a server evaluated while its workers went on."""
    write(tmp_path, 0, steps=[(1.0, 1.0, 1.0), (2.0, 2.0, 1.0)], done=(2.0, 2.0, 2.0))
    write(tmp_path, 1, "server", scores=[(4, 0.1, 1.1, 1.9)], done=(0.11, 2.0, 0.0))
    found = "; ".join(faults(tmp_path))
    assert (
        "rank 0: it spent 1.000 s on data, compute, rebuild and update when the clock of the run was 0.100 s"
        in found
    )
    assert "rank 0: its step that ended at 2.000 s worked for 1.000 s" in found


def test_workers_that_go_on_during_many_short_evaluations_are_found(tmp_path):
    """A hundred of 16 ms, in each of which the worker computed: less than 20 ms each, 1.6 s of 5 s together."""
    write(tmp_path, 0, steps=[(0.05 * n, 0.05 * n, 0.05) for n in range(1, 101)], done=(5.0, 5.0, 5.0))
    scores = [(n, 0.034 * n, 0.05 * n, 0.016) for n in range(1, 101)]
    write(tmp_path, 1, "server", scores=scores, done=(3.4, 5.0, 0.0))
    assert any("data, compute, rebuild and update" in found for found in faults(tmp_path))


def test_seconds_off_the_clock_that_no_evaluation_took_are_found(tmp_path):
    """The defect: counting and meeting were charged to evaluation."""
    write(tmp_path, steps=[(3.0, 1.0, 0.5)], scores=[(0, 0, 0, 0.2), (4, 1.0, 2.0, 0.3)], done=(1.0, 3.0, 0.5))
    (found,) = faults(tmp_path)
    assert found.startswith("rank 0: 2.000 s of its 3.000 s are off the clock")


def test_initial_weights_scored_on_the_clock_are_found(tmp_path):
    write(tmp_path, scores=[(0, 0.2, 0.2, 0.1)], done=(1.0, 1.1, 0.0))
    assert faults(tmp_path) == ["the initial weights were scored at clock 0.2 s instead of 0"]


def test_clocks_that_run_backwards_are_found(tmp_path):
    write(tmp_path, steps=[(1.0, 1.0, 0.1), (0.9, 0.9, 0.1)], done=(1.0, 1.0, 0.2))
    assert faults(tmp_path) == ["rank 0: its clock runs backwards", "rank 0: its wall runs backwards"]


def test_a_folder_without_journals_is_a_fault(tmp_path):
    assert faults(tmp_path) == [f"{tmp_path} holds no journal"]


def test_blocks_of_a_run_that_goes_on_are_read(tmp_path):
    write(tmp_path, steps=[(1.0, 1.0, 0.1)], done=())
    assert faults(tmp_path) == []
