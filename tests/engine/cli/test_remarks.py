"""What `hooke run` says of numbers that mean less than they seem to."""

import json

import numpy as np
import pytest
from hooke.spec.journal import records

VIRTUAL = {"world": "virtual", "virtual": {"compute_seconds_per_sample": 1e-5}}


@pytest.mark.usefixtures("warm_ranks")
def test_the_virtual_world_says_that_its_compute_time_is_made_up(hooke, spec, tmp_path):
    """Of three workers and a server, whose figures and vectors are kept apart."""
    file = spec(algorithm={"name": "async-easgd", "parameters": {"lr": 0.1, "rho": 0.5}}, workers=3)
    folder, saved = tmp_path / "out", tmp_path / "weights.npz"
    ended = hooke("run", file, "--world", "virtual", "--json", "--run-dir", folder, "--save", saved)
    assert ended.status == 0, ended.err
    assert "warning: /virtual/compute_seconds_per_sample: " in ended.err
    assert "20 us per sample, is an assumption" in ended.err
    start = next(record for record in records(folder / "journal.1.jsonl") if record.kind == "start")
    assert "is an assumption" in start.notes["compute time"]
    found = ended.json
    assert (found["compute_seconds_per_sample"], found["compute_source"]) == (20e-6, None)
    assert any("is an assumption" in remark for remark in found["remarks"])
    assert found["simulated"]
    assert found["servers"] == 1
    assert found["server_phases"]["compute"] == 0
    assert found["reason"] == "budget"
    assert found["time_to_target"] is None
    with np.load(saved) as arrays:
        assert set(arrays) == {"center", "worker_0", "worker_1", "worker_2", "spec"}
        assert not np.array_equal(arrays["center"], arrays["worker_0"])


@pytest.mark.usefixtures("warm_ranks")
def test_calibration_measures_it_here(hooke, spec, tmp_path):
    ended = hooke("run", spec(), "--world", "virtual", "--calibrate", "--json", "--run-dir", tmp_path / "out")
    assert ended.status == 0, ended.err
    found = ended.json
    assert "an assumption" not in ended.err
    assert 1e-7 < found["compute_seconds_per_sample"] < 1e-2
    assert found["compute_source"].startswith("measured on 1 thread(s) of ")
    assert "batches of 16, quartiles " in found["compute_source"]
    assert any(found["compute_source"] in remark for remark in found["remarks"])
    kept = json.loads((tmp_path / "out" / "spec.json").read_text())["virtual"]
    assert kept["compute_seconds_per_sample"] == found["compute_seconds_per_sample"]


@pytest.mark.parametrize("options", [["--world", "mpi"], ["--world", "virtual", "--resume", "--run-dir", "."]])
def test_calibration_is_refused_where_it_makes_no_sense(refused, spec, options):
    assert "--calibrate" in refused("run", spec(), "--calibrate", *options).err


def test_a_device_is_not_measured_on_another_machine(refused, spec):
    file = spec(world="virtual", virtual={"devices": [{"kind": "v100"}, {"kind": "cpu-28"}]})
    assert "cpu-28" in refused("run", file, "--calibrate").err


@pytest.mark.usefixtures("warm_ranks")
def test_a_target_met_at_the_start_is_said(hooke, spec):
    file = spec(target={"value": 0.01}, **VIRTUAL)
    found = hooke("run", file, "--json")
    assert "warning: /target/value: " in found.err
    assert found.json["time_to_target"] == 0
    assert found.json["steps"] == [0, 0]
    assert "the target was met before the first step: the time to it is 0" in found.json["remarks"]


@pytest.mark.usefixtures("warm_ranks")
def test_what_was_warned_of_is_said_behind_the_end(hooke, spec, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    chosen = {"name": "local-sgd", "parameters": {"period": 500}}
    ended = hooke("run", spec(algorithm=chosen, **VIRTUAL), env={"TMPDIR": str(temporary)})
    assert "workers exchange nothing before the end" in ended.err
    assert "workers exchange nothing before the end" in ended.out
    assert list(temporary.iterdir()) == [], "a run without a folder of its own leaves nothing behind"
