"""A real run reads the test part once, after its last training step, and what it reports is the final center's."""

import threading
from collections import Counter

import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.errors import CheckpointError, LaunchError
from hooke.loop.replay import read_order
from hooke.loop.train import run_spec_virtual
from hooke.objective.samples import Samples
from hooke.workloads import digits_mlp
from torch.nn import functional

from tests.engine.workloads.test_parts import rule

METHODS = ("sync-easgd", "async-easgd", "original-easgd", "hogwild-easgd")


def spec(method: str, **changes):
    return validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 24, "hidden2": 12}},
            "algorithm": {"name": method, "parameters": {"lr": 0.1}},
            "workers": 3, "world": "virtual", "virtual": {"compute_jitter": 0.3}, "budget": {"samples": 9600},
            "evaluation": {"every": 1200}, "compute": {"device": "cpu"},
        }
        | changes
    )  # fmt: skip


@pytest.fixture
def reads(monkeypatch):
    """Every item that anybody reads from memory, in order: (the set that holds it, its number there)."""
    found, lock, plain = [], threading.Lock(), Samples.read

    def noted(self, at, items, labels, random):
        with lock:
            found.extend((self, i) for i in at.tolist())
        plain(self, at, items, labels, random)

    monkeypatch.setattr(Samples, "read", noted)
    return found


def decided(outcomes):
    (found,) = [o for o in outcomes if o.done.final_loss is not None]
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_test_item_is_read_once_when_all_else_is_over(reads, method):
    outcomes = run_spec_virtual(spec(method))
    published, test = digits_mlp.load()
    first = next(n for n, (source, _) in enumerate(reads) if source is test)
    assert all(source is published for source, _ in reads[:first])
    assert Counter(reads[first:]) == Counter((test, i) for i in range(360))
    held = rule(1437)
    seen = Counter(i for _, i in reads[:first])
    assert {seen[i] for i in held} == {len(decided(outcomes).evaluations)}, "validation items: once per evaluation"
    assert sum(n for i, n in seen.items() if i not in held) >= 9600


@pytest.mark.parametrize("method", METHODS)
def test_the_score_is_that_of_the_final_center_in_plain_pytorch(method):
    outcomes = run_spec_virtual(spec(method))
    center = torch.from_numpy(next(o.center for o in reversed(outcomes) if o.center is not None))
    shapes, leaves, at = [(24, 64), (24,), (12, 24), (12,), (10, 12), (10,)], [], 0
    for shape in shapes:
        size = torch.Size(shape).numel()
        leaves.append(center[at : at + size].reshape(shape))
        at += size
    assert at == len(center)
    _, test = digits_mlp.load()
    a, b, c, d, e, f = leaves
    hidden = functional.relu(functional.linear(test.inputs.float() / 16, a, b))
    out = functional.linear(functional.relu(functional.linear(hidden, c, d)), e, f)
    done = decided(outcomes).done
    assert done.test_accuracy == int((out.argmax(1) == test.labels).sum()) / 360
    assert done.test_loss == pytest.approx(float(functional.cross_entropy(out, test.labels)), rel=1e-5)
    assert done.test_accuracy > 0.5, "it has learned nothing, so the comparison says little"


def test_a_stopped_run_reads_no_test_item_and_goes_on_to_the_same_score(tmp_path, reads):
    straight = decided(run_spec_virtual(spec("sync-easgd"))).done
    reads.clear()
    short = {"samples": 9600, "max_seconds": 1e-3}
    stopped = run_spec_virtual(spec("sync-easgd", budget=short), tmp_path)
    assert (stopped[0].done.reason, stopped[0].done.test_loss) == ("timed_out", None)
    _, test = digits_mlp.load()
    assert not any(source is test for source, _ in reads)
    resumed = decided(run_spec_virtual(spec("sync-easgd"), tmp_path, resume=True)).done
    assert (resumed.test_loss, resumed.test_accuracy) == (straight.test_loss, straight.test_accuracy)
    assert straight.test_loss != straight.final_loss


def test_what_older_versions_left_is_refused(tmp_path, monkeypatch):
    """They trained on the whole training part: their checkpoints and logs belong to other items."""
    with monkeypatch.context() as older:
        older.setattr("hooke.loop.train.score_test", lambda rank: None)
        older.setattr("hooke.objective.flat.split_off", lambda train: (train, train))
        run = spec("async-easgd", checkpoint="always")
        (tmp_path / "spec.json").write_text(run.model_dump_json(by_alias=True))
        run_spec_virtual(run, tmp_path)
    with pytest.raises(LaunchError, match="without a validation part"):
        read_order(tmp_path)
    with pytest.raises(CheckpointError, match="by a run on 1437 training items, but this run has 1294"):
        run_spec_virtual(spec("async-easgd", budget={"samples": 20_000}), tmp_path, resume=True)
