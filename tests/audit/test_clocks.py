"""The audit's checks of time: a sound run breaks none, each kind of wrong clock the one that is meant."""

import base64
import copy

import numpy as np
import pytest

from audit import clocks
from audit.journal import PHASES, Journal


def sound(world="mpi"):
    """Return two workers and a server: 20 steps of 10 ms; evaluations of 100 ms before, amid and at the end."""
    evaluations = [
        {"clock": clock, "wall": wall, "seconds": 0.1, "samples": 4 * step, "reached": False}
        for clock, wall, step in ((0.0, 0.0, 0), (0.1, 0.1, 10), (0.2, 0.3, 20))
    ]
    journals = []
    for role in ("worker", "worker", "server"):
        clock = 0.01 * np.arange(1, 21)
        wall = clock + np.where(np.arange(20) < 10, 0.0, 0.1)
        busy = {"data": 0.0, "compute": 0.008, "rebuild": 0.0, "communicate": 0.001, "update": 0.001, "idle": 0.0}
        rows = {"clock": clock, "wall": wall} | {phase: np.full(20, value) for phase, value in busy.items()}
        rows["evaluate"] = np.array([0.0] * 10 + [0.1] + [0.0] * 8 + [0.1])
        phases = {phase: float(rows[phase].sum()) for phase in PHASES}
        done = {"clock": 0.2, "wall": 0.4, "phases": phases, "step": 20}
        journals.append(Journal({"role": role, "world": world}, done, rows))
    journals[2].evaluations = evaluations
    return journals


def test_a_sound_run_breaks_nothing():
    assert clocks.faults(sound()) == []
    assert clocks.margin(sound()) == pytest.approx(0.02)
    assert clocks.off_clock(sound()) == pytest.approx(0.0)


def test_work_while_the_clock_stands_is_found():
    """What a server's private clock did: it evaluates, and the worker goes on."""
    journals = sound()
    journals[0].done["phases"] |= {"compute": 0.36, "evaluate": 0.0}
    journals[0].rows["compute"] = np.full(20, 0.018)
    journals[0].rows["evaluate"] = np.zeros(20)
    journals[0].rows["wall"] = np.linspace(0.02, 0.4, 20)
    found = " ".join(clocks.faults(journals))
    assert "is less than the work of rank 0" in found
    assert "rank 0 spent 0.0000 s on evaluations that took 0.2000 s" in found
    assert "the clock stood at 0.1000 s when rank 0 had worked" not in found, (
        "from 0.02 s to 0.1 s it took 5 steps"
    )
    assert "the clock stood at 0.2000 s when rank 0 had worked" in found
    assert "rank 0 ended 8 steps while the clock stood, first at 0.1000 s" in found
    assert clocks.margin(journals) < -0.1


def test_seconds_of_the_method_that_are_charged_to_evaluations_are_found():
    journals = sound()
    journals[1].done["clock"] = 0.12
    journals[1].rows["clock"] = journals[1].rows["clock"] * 0.6
    journals[1].done["phases"] |= {"compute": 0.08, "evaluate": 0.28}
    found = " ".join(clocks.faults(journals))
    assert "rank 1 was off the clock for 0.2800 s, evaluations took 0.2000 s" in found
    assert clocks.off_clock(journals) == pytest.approx(0.08)


def test_seconds_of_checkpoints_are_off_the_clock():
    journals = sound()
    for journal in journals:
        journal.done["wall"] += 0.1
        journal.done["phases"]["evaluate"] += 0.1
        journal.rows["evaluate"][-1] += 0.1
        assert clocks.faults(journals)
    journals[2].checkpoints.append({"seconds": 0.1})
    assert clocks.faults(journals) == []


def test_scoring_the_test_part_is_off_the_clock_by_its_record():
    journals = sound()
    for journal in journals:
        journal.done["wall"] += 0.1
        journal.done["phases"]["evaluate"] += 0.1
        journal.rows["evaluate"][-1] += 0.1
        journal.done["test_seconds"] = 0.1
    assert clocks.faults(journals) == []
    assert clocks.off_clock(journals) == pytest.approx(0.0)
    journals[0].done["phases"]["evaluate"] -= 0.1
    assert "rank 0 spent 0.2000 s on evaluations that took 0.3000 s" in clocks.faults(journals)


def test_less_is_granted_in_virtual_time():
    for world, expected in (("mpi", 0), ("virtual", 2)):
        journals = sound(world)
        for journal in journals[:1]:
            journal.done["clock"] -= 0.005
            journal.rows["clock"] = journal.rows["clock"] - 0.005
            journal.done["phases"] |= {"evaluate": 0.205, "idle": -0.005}
            journal.rows["evaluate"] = journal.rows["evaluate"] + 0.005 / 20
            journal.rows["idle"] = journal.rows["idle"] - 0.005 / 20
        assert len(clocks.faults(journals)) == expected, world


@pytest.mark.parametrize("name", ["clock", "wall"])
def test_time_that_runs_backwards_is_found(name):
    journals = sound()
    journals[0].rows[name][4] -= 0.02
    assert f"rank 0: its {name} runs backwards" in clocks.faults(journals)
    journals = sound()
    journals[2].evaluations = copy.deepcopy(journals[2].evaluations)
    journals[2].evaluations[1][name] = 0.35
    assert f"rank 2: its {name} runs backwards" in clocks.faults(journals)


def test_phases_that_do_not_sum_to_wall_time_are_found():
    journals = sound()
    journals[1].done["phases"]["idle"] += 0.001
    found = " ".join(clocks.faults(journals))
    assert "its phases sum to" in found
    assert "rows say 0.000000 s of idle" in found


def test_a_target_met_before_the_first_step_has_time_0():
    journals = sound()
    assert clocks.faults(journals, expects_target=True) == [
        "a target that any weights meet was not met before the first step"
    ]
    journals[2].evaluations[0]["reached"] = True
    assert clocks.faults(journals, expects_target=True) == ["the run went on to 0.2 s"]
    journals[0].done["step"] = journals[1].done["step"] = 0
    assert clocks.faults(journals, expects_target=True) == []
    journals[2].evaluations[0]["clock"] = 2e-5
    assert clocks.faults(journals, expects_target=True) == ["the initial weights are scored at 2e-05 s, not 0"]


def test_columns_are_read_as_they_are_packed(tmp_path):
    from audit.journal import read

    packed = base64.b64encode(np.array([1.5, 2.5], dtype="<f4").tobytes()).decode()
    clock = base64.b64encode(np.array([1 / 3, 2 / 3], dtype="<f8").tobytes()).decode()
    path = tmp_path / "journal.0.jsonl"
    first, last = '{"kind": "start", "role": "worker"}', '{"kind": "done", "step": 2}'
    path.write_text(
        f'{first}\n{{"kind": "steps", "n": 2, "columns": {{"loss": "{packed}", "clock": "{clock}"}}}}\n'
    )
    with pytest.raises(ValueError, match="whole run"):
        read(path)
    path.write_text(path.read_text() + last + "\n")
    assert read(path).rows["loss"].tolist() == [1.5, 2.5]
    assert read(path).rows["clock"].tolist() == [1 / 3, 2 / 3]
