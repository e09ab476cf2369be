"""The phase in which hash tables are built: its price in virtual time by hand, its slices, its columns."""

import json

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.spec.events import Done
from hooke.spec.invariants import faults
from hooke.spec.journal import records
from hooke.trace.phases import PHASES
from hooke.trace.reading import read
from hooke.trace.records import file_of

LABELS, HIDDEN, TABLES, STEPS, GRADIENT = 120, 8, 6, 20, 8 * 1e-4
PROBLEM = {
    "labels": LABELS,
    "features": 90,
    "items": 400,
    "hidden": HIDDEN,
    "validation_items": 20,
    "test_items": 5,
}
HASHED = {
    "output": "slide",
    "active": 40,
    "hashes": 3,
    "tables": TABLES,
    "first_rebuild": 4,
    "rebuild_growth": 0.0,
}
BUILDS = 1 + (STEPS - 1) // 4
"""Before the first step, and before steps 4, 8, 12 and 16 of those that are numbered from 0."""
BANDWIDTH = 1e6


def play(folder, output=HASHED, workers=1, algorithm="sgd", samples=8 * STEPS, resume=False, **changes):
    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp", "parameters": PROBLEM | output},
            "algorithm": {"name": algorithm, "parameters": {"lr": 0.05, "optimizer": "row-adagrad"}},
            "batch": 8,
            "workers": workers,
            "budget": {"samples": samples * workers},
            "evaluation": {"every": 80 * workers},
            "world": "virtual",
            "virtual": {
                "compute_seconds_per_sample": 1e-4,
                "compute_jitter": 0.0,
                "compute_source": "chosen for this test",
                "memory_bandwidth": BANDWIDTH,
            },
        }
        | changes
    )
    outcomes = run_spec_virtual(spec, folder, resume=resume, trace=True)
    return outcomes, [list(records(folder / f"journal.{rank}.jsonl")) for rank in range(workers)]


def bytes_of_a_build(width):
    return LABELS * HIDDEN * width + 4 * LABELS * TABLES


@pytest.mark.parametrize(("more", "width"), [({}, 4), ({"sets": "item"}, 4), ({"weights": "bf16"}, 2)])
def test_a_build_costs_the_bytes_of_the_rows_and_of_their_numbers_in_the_tables(tmp_path, more, width):
    _, (journal,) = play(tmp_path, HASHED | more)
    done = journal[-1]
    assert done.phases["rebuild"] == pytest.approx(BUILDS * bytes_of_a_build(width) / BANDWIDTH, rel=1e-9)
    assert done.phases["compute"] == pytest.approx(STEPS * GRADIENT, rel=1e-9), "gradients are what they were"
    assert sum(done.phases.values()) == pytest.approx(done.wall, rel=1e-9)
    scores = [record for record in journal if record.kind == "evaluation"]
    assert scores[-1].further["table_builds"] == BUILDS
    assert faults(tmp_path) == []


def test_the_communication_fraction_counts_it_as_all_other_time(tmp_path):
    """Exposed communication is over wall time without evaluations: tables that are built make it smaller."""
    _, journals = play(tmp_path, workers=2, algorithm="sync-easgd")
    for journal in journals:
        phases, wall = journal[-1].phases, journal[-1].wall
        assert phases["communicate"] > 0 and phases["rebuild"] > 0
        others = sum(phases[name] for name in ("data", "compute", "update", "idle", "rebuild"))
        assert phases["communicate"] == pytest.approx(wall - phases["evaluate"] - others, rel=1e-9)


def test_a_timeline_has_it_before_the_gradient_that_asks_the_tables(tmp_path):
    play(tmp_path)
    slices = [each.phase for each in read(file_of(tmp_path, 0)).phases]
    assert slices.count("compute") == STEPS and slices.count("rebuild") == BUILDS
    places = [i for i, phase in enumerate(slices) if phase == "rebuild"]
    assert all(slices[i + 1] == "compute" for i in places)
    gradients = [slices[:i].count("compute") for i in places]
    assert gradients == list(range(0, STEPS, 4))


def test_journals_of_other_layers_do_not_have_it(tmp_path):
    _, (journal,) = play(tmp_path / "sampled", {"output": "sampled", "active": 30})
    assert all("rebuild" not in record.columns for record in journal if record.kind == "steps")
    assert journal[-1].phases["rebuild"] == 0
    _, (journal,) = play(tmp_path / "slide")
    assert any("rebuild" in record.columns for record in journal if record.kind == "steps")


def test_a_record_of_before_the_phase_has_spent_no_time_in_it():
    phases = {str(phase): 1.0 for phase in PHASES if phase != "rebuild"}
    told = {"seq": 0, "reason": "budget", "step": 1, "samples": 1, "clock": 5, "wall": 6, "hidden": 0}
    done = Done.model_validate(told | {"phases": phases, "payload": 0, "wire": 0, "messages": 0})
    assert done.phases == phases | {"rebuild": 0.0}


def forget(folder):
    """Make the checkpoint one of before the phase existed."""
    (path,) = folder.glob("checkpoints/*/rank.0.npz")
    with np.load(path) as file:
        held = {name: file[name] for name in file.files}
    meta = json.loads(str(held["meta"]))
    assert meta["seconds"].pop("rebuild") > 0
    np.savez(path, **(held | {"meta": np.array(json.dumps(meta))}))


@pytest.mark.parametrize("old", [False, True])
def test_a_resumed_run_goes_on_with_its_seconds_and_builds_at_the_same_steps(tmp_path, old):
    whole, (undisturbed,) = play(tmp_path / "whole")
    play(tmp_path / "cut", samples=4 * STEPS, checkpoint="always")
    if old:
        forget(tmp_path / "cut")
    resumed, (journal,) = play(tmp_path / "cut", resume=True, checkpoint="always")
    assert np.array_equal(resumed[0].weights, whole[0].weights)
    builds = 2 if old else BUILDS  # before steps 12 and 16
    assert journal[-1].phases["rebuild"] == pytest.approx(builds * bytes_of_a_build(4) / BANDWIDTH, rel=1e-9)
    assert undisturbed[-1].phases["rebuild"] == pytest.approx(BUILDS * bytes_of_a_build(4) / BANDWIDTH, rel=1e-9)
