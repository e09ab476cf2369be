"""`hooke run` with real processes: results, failures, cancellation, nothing left behind."""

import contextlib
import json
import os
import pty
import signal
import subprocess

import numpy as np
import pytest
import torch
import yaml
from hooke.cluster import local_run
from hooke.errors import LaunchError
from hooke.loop.train import run_spec_virtual
from hooke.objective.batches import Batches
from hooke.objective.parts import held_out
from hooke.spec.journal import records
from hooke.spec.specification import RunSpec
from hooke.workloads import digits_mlp
from torch import nn

from tests.engine.cli.conftest import RUN, command, processes_of
from tests.waiting import LIMIT, wait_for

VIRTUAL = {"world": "virtual", "virtual": {"compute_seconds_per_sample": 1e-5}}
ENDLESS = {"budget": {"samples": 10**9}, "evaluation": {"every": 10**6}}


def test_json_result_equals_the_journals(hooke, spec, tmp_path):
    folder = tmp_path / "out"
    ended = hooke("run", spec(target={"value": 0.5}), "--json", "--run-dir", folder)
    assert ended.status == 0, ended.err
    found = ended.json
    journals = [list(records(folder / f"journal.{rank}.jsonl")) for rank in range(2)]
    done = [journal[-1] for journal in journals]
    scores = [r for r in journals[0] if r.kind == "evaluation"]
    assert found["state"] == "succeeded"
    assert found["reason"] == "target"
    assert not found["simulated"]
    assert (found["compute_seconds_per_sample"], found["compute_source"], found["remarks"]) == (None, None, [])
    assert found["steps"] == [each.step for each in done]
    assert len(found["evaluations"]) == len(scores)
    assert found["validation_accuracy"] == scores[-1].accuracy >= 0.5
    assert found["validation_loss"] == scores[-1].loss
    assert (found["test_accuracy"], found["test_loss"]) == (done[0].test_accuracy, done[0].test_loss)
    assert found["time_to_target"] == scores[-1].clock
    assert all(score.accuracy < 0.5 for score in scores[:-1])
    assert sum(found["phases"].values()) == pytest.approx(np.mean([d.wall for d in done]), rel=1e-6)
    shares = [d.phases["communicate"] / (d.wall - d.phases["evaluate"]) for d in done]
    assert found["communication_fraction"] == pytest.approx(np.mean(shares))
    assert found["payload_bytes"] == sum(d.payload for d in done)
    stored = RunSpec.model_validate_json((folder / "spec.json").read_text())
    assert (stored.workers, stored.seed, stored.target.value) == (2, 4, 0.5)
    assert stored.communication.collective == "halving", "the default"
    assert processes_of(folder) == []


@pytest.mark.usefixtures("warm_ranks")
def test_table_and_saved_weights_equal_a_plain_loop(hooke, spec, tmp_path):
    """One worker of plain SGD against torch.optim on torch.nn, with nothing of ours but data and indices."""
    file = spec(algorithm={"name": "sgd", "parameters": {"lr": 0.1}}, workers=1, **VIRTUAL)
    saved = tmp_path / "weights.npz"
    ended = hooke("run", file, "--save", saved)
    assert ended.status == 0, ended.err
    assert "Sequential SGD on digits-mlp, 1 worker, seed 4" in ended.out
    assert "samples/s simulated" in ended.out
    assert " simulated " in ended.err, "progress in virtual seconds must say so"
    with np.load(saved) as arrays:
        assert set(arrays) == {"center", "worker_0", "spec"}
        assert json.loads(str(arrays["spec"]))["algorithm"]["name"] == "sgd"
        assert np.array_equal(arrays["center"], arrays["worker_0"])
        ours = arrays["worker_0"]
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 10))
    start = digits_mlp.DigitsMLP(hidden1=32, hidden2=16).build().initial(4)
    nn.utils.vector_to_parameters(start, model.parameters())
    train, test = digits_mlp.load()
    kept, _ = held_out(len(train))
    inputs, labels = train.inputs[kept].float() / 16, train.labels[kept]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = Batches(len(labels), 16, seed=4, worker=0, workers=1, sharding="iid")
    for _ in range(3200 // 16):
        index = torch.from_numpy(batches.next())
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs[index]), labels[index]).backward()
        optimizer.step()
    truth = nn.utils.parameters_to_vector(model.parameters()).detach().numpy()
    np.testing.assert_allclose(ours, truth, rtol=2e-3, atol=2e-5)
    right = float((model(test.inputs.float() / 16).argmax(1) == test.labels).float().mean())
    (line,) = [line for line in ended.out.splitlines() if line.startswith("test ")]
    assert f"accuracy {100 * right:.1f}" in line, "the test score is not that of a plain loop"
    assert "scored once" in line


@pytest.mark.usefixtures("warm_ranks")
def test_same_seed_same_weights_and_options_override(hooke, spec, tmp_path):
    file, path = spec(seed=5), tmp_path / "saved.npz"
    ended = hooke("run", file, "--world", "virtual", "--workers", 3, "--seed", 4, "--save", path)
    assert ended.status == 0, ended.err
    saved = {name: vector for name, vector in np.load(path).items() if name != "spec"}
    assert set(saved) == {"center", "worker_0", "worker_1", "worker_2"}
    same, other = (
        run_spec_virtual(RunSpec.model_validate(RUN | VIRTUAL | {"workers": 3, "seed": seed})) for seed in (4, 5)
    )
    assert np.array_equal(saved["center"], same[0].center)
    assert all(np.array_equal(saved[f"worker_{rank}"], same[rank].weights) for rank in range(3))
    assert not np.array_equal(saved["center"], other[0].center)


def test_a_target_on_the_test_part_is_refused_with_what_to_write(refused, spec):
    ended = refused("run", spec(target={"metric": "test_accuracy", "value": 0.5}))
    said = "/target/metric: targets refer to the validation part: write validation_accuracy instead of "
    assert ended.err.startswith(said + "test_accuracy")


def test_bad_specifications_end_with_2_and_start_nothing(hooke, refused, spec, tmp_path):
    ended = hooke("run", spec(workers=0, batch="many"), "--run-dir", tmp_path / "out")
    assert ended.status == 2
    assert [line.partition(":")[0] for line in ended.err.splitlines()] == ["/batch", "/workers"]
    assert not (tmp_path / "out").exists()
    assert "absent.yaml" in refused("run", tmp_path / "absent.yaml").err
    assert "--run-dir" in refused("run", spec(), "--resume").err
    assert "--save" in refused("run", spec(), "--save", tmp_path / "no" / "where.npz").err
    assert "cannot be written: Is a directory" in refused("run", spec(), "--save", tmp_path).err
    (link := tmp_path / "link.npz").symlink_to(tmp_path / "later.npz")
    refused("run", spec(workers=0), "--save", link)
    assert link.is_symlink() and not link.exists()
    assert ended.out == ""


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for place, why in (("file", "File exists"), ("file/below", "Not a directory")):
        with pytest.raises(LaunchError, match=f"{place} cannot be written: {why}; use another folder"):
            local_run.prepare(tmp_path / place, RunSpec.model_validate(RUN))


def test_a_folder_in_use_is_refused(hooke, spec, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "precious").write_text("kept")
    ended = hooke("run", spec(), "--run-dir", folder)
    assert ended.status == 1
    assert "is not empty" in ended.err
    assert [p.name for p in folder.iterdir()] == ["precious"]
    again = hooke("run", spec(), "--run-dir", folder, "--resume")
    assert again.status == 1
    assert "no complete checkpoint" in again.err


@pytest.mark.usefixtures("warm_ranks")
def test_divergence_is_the_users_failure(hooke, spec, tmp_path):
    file = spec(algorithm={"name": "sync-easgd", "parameters": {"lr": 1.0, "rho": 100.0}}, **VIRTUAL)
    ended = hooke("run", file, "--json")
    assert ended.status == 1, ended
    assert (ended.json["state"], ended.json["diverged"]) == ("failed_user", True)
    assert "NumericalError" in ended.err
    assert "Traceback" not in ended.err.partition("failed_user")[0]
    folder = ended.json["folder"]
    assert folder in ended.err
    assert (tmp_path / folder / "rank.0.log").exists(), "the evidence of a failure is kept"


@pytest.mark.usefixtures("warm_ranks")
def test_missing_data_says_what_to_put_where(hooke, spec, tmp_path):
    file = spec(workload={"name": "mnist-lenet"}, **VIRTUAL)
    ended = hooke("run", file, env={"HOOKE_DATA": str(tmp_path)})
    assert ended.status == 1
    assert "lacks train-images-idx3-ubyte.gz" in ended.err


@pytest.fixture
def endless(tmp_path):
    """Start a run that does not end by itself; return its process and folder once rank 0 has taken steps."""
    started = []

    def start(**changes):
        folder = tmp_path / "out"
        path = tmp_path / "endless.yaml"
        path.write_text(yaml.safe_dump(RUN | ENDLESS | changes))
        process = subprocess.Popen(
            command("run", path, "--json", "--run-dir", folder),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        journal = folder / "journal.0.jsonl"
        wait_for(lambda: journal.exists() and '"kind":"steps"' in journal.read_text(), "steps")
        return process, folder

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.usefixtures("warm_ranks")
def test_ctrl_c_stops_all_ranks_and_resume_goes_on(endless, hooke, tmp_path):
    process, folder = endless()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    found = json.loads(out)
    assert found["state"] == "cancelled"
    assert found["reason"] == "cancelled"
    assert "cancelling: all ranks end together" in err
    assert processes_of(folder) == []
    assert list(folder.glob("checkpoints/*/complete.json"))
    budget = {"samples": found["samples"] + 3200}
    path = tmp_path / "endless.yaml"
    path.write_text(yaml.safe_dump(RUN | ENDLESS | {"budget": budget}))
    half = folder / "checkpoints" / "999999999"
    half.mkdir()
    (half / "rank.1.npz").touch()
    ended = hooke("run", path, "--json", "--run-dir", folder, "--resume")
    assert ended.status == 0, ended.err
    told = f"resuming at {found['samples']:,} of {budget['samples']:,} samples, from a checkpoint; incomplete and "
    assert f"{told}not used: 999,999,999 samples (1 of 2 ranks)\n" in ended.err
    assert ended.json["samples"] >= budget["samples"]
    assert ended.json["train_seconds"] > found["train_seconds"], "the clock goes on"
    first = next(iter(records(folder / "journal.0.jsonl")))
    assert first.restored_step == found["samples"] // 32
    assert (folder / "before.1" / "journal.0.jsonl").exists()


def test_a_killed_rank_is_named_and_nothing_is_left(endless):
    process, folder = endless()
    victim = next(iter(records(folder / "journal.1.jsonl"))).pid
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert json.loads(out)["state"] == "failed_infra"
    assert "rank 1" in err
    assert "SIGKILL" in err
    assert processes_of(folder) == []


def test_a_second_ctrl_c_ends_ranks_that_do_not_answer(endless):
    process, folder = endless()
    for rank in range(2):
        os.kill(next(iter(records(folder / f"journal.{rank}.jsonl"))).pid, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    while "cancelling: all ranks end together" not in (line := process.stderr.readline()):
        assert line, "it ended"
    assert process.poll() is None, "it waits for the ranks to stop together"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert json.loads(out)["state"] == "cancelled"
    assert processes_of(folder) == []


def test_a_rank_that_ends_too_early_is_a_failure(tmp_path):
    program = tmp_path / "early.py"
    program.write_text("import os, time\nif os.environ['HOOKE_RANK'] == '0': time.sleep(600)\n")
    spec = RunSpec.model_validate(RUN)
    local_run.prepare(tmp_path / "out", spec)
    started = local_run.start(tmp_path / "out", spec, program=(str(program),))
    wait_for(lambda: not started.poll(), "the end of the run")
    report = started.finish()
    assert report.state == "failed_infra"
    assert report.rank == 1
    assert "exited too early" in report.why
    assert processes_of(tmp_path / "out") == []


@pytest.mark.usefixtures("warm_ranks")
def test_a_terminal_gets_a_live_line(spec, tmp_path):
    primary, secondary = pty.openpty()
    file = spec(target={"value": 0.3}, **VIRTUAL)
    with subprocess.Popen(command("run", file), stdout=subprocess.PIPE, stderr=secondary, text=True) as process:
        os.close(secondary)
        shown = b""
        with contextlib.suppress(OSError):  # the other end was closed
            while chunk := os.read(primary, 4096):
                shown += chunk
        assert process.wait(timeout=LIMIT) == 0
        assert "target reached" in process.stdout.read()
    os.close(primary)
    assert b"starting" in shown
    assert b"3,200" not in shown, "plain lines on a terminal"


def test_ranks_do_not_outlive_a_killed_command(endless):
    process, folder = endless()
    assert len(processes_of(folder)) >= 4, "mpirun, guards and ranks"
    process.kill()
    process.wait()
    wait_for(lambda: not processes_of(folder), "the end of its processes")
