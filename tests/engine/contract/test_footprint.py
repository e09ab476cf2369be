"""Predicted memory, against vectors counted in runs, models as PyTorch makes them, and real ranks."""

import json
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
import torch
from hooke.catalogue.discovery import built_in
from hooke.catalogue.footprint import ELEMENT, HELD, LATE, footprint, of_step, of_worker, sizes_of
from hooke.catalogue.kept import kept
from hooke.catalogue.validation import validate_run
from hooke.comm.virtual.communicator import run_virtual
from hooke.hashing.tables import Tables
from hooke.loop.state import RankOptions
from hooke.loop.train import train_rank
from hooke.objective.models.alexnet import alexnet
from hooke.objective.models.googlenet import GoogLeNet
from hooke.objective.models.lenet import lenet
from hooke.objective.models.resnet import resnet
from hooke.objective.models.transformer import Transformer
from hooke.objective.models.vgg import vgg19
from hooke.spec.communication import Communication
from hooke.workloads.cifar_alexnet import CifarAlexnet
from hooke.workloads.cifar_resnet20 import CifarResnet20
from hooke.workloads.digits_mlp import DigitsMLP
from hooke.workloads.fashion_lenet import FashionLenet
from hooke.workloads.imagenet_googlenet import ImagenetGooglenet
from hooke.workloads.imagenet_vgg19 import ImagenetVgg19
from hooke.workloads.libsvm_published import A9aMlp, W8aMlp
from hooke.workloads.mnist_lenet import MnistLenet
from hooke.workloads.text_transformer import TextTransformer
from hooke.workloads.xmlc_mlp import XmlcMlp

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, Watched, objective_of
from tests.engine.contract.conftest import mpirun, search_path

WITHIN = 1.6
"""Factor within which a prediction and a measurement agree."""


LONGER = {"adaptive-sgd": 12, "noloco": 12, "post-local-sgd": 12}
"""Steps until every worker has sent all that it ever sends."""
EACH_KIND = ("async-sgd", "chip-easgd", "demo", "easgd", "hogwild-sgd", "local-sgd", "noloco", "onebit-adam")
EACH_KIND += (
    "post-local-sgd",
    "slowmo",
    "stochastic-gradient-push",
    "streaming-diloco",
    "sync-easgd1",
    "sync-sgd",
)


def counted(name, parameters, wire="fp32", workers=2, steps=4):
    """Return how many vectors a worker and the server of a method hold beside weights and gradient.

    And what its wire keeps: the most on any worker but the first, which has broadcast its weights, and the server.
    """
    kind = built_in("algorithm")[name].cls
    workers = min(workers, kind.max_workers or workers)
    case = Case(name, tuple((suite.base(name) | parameters).items()), workers, steps=steps)
    spec, found, keeps = case.spec("virtual"), {}, {}
    sent = spec.communication.model_copy(update={"wire": wire})
    spec = spec.model_copy(update={"communication": sent})

    class Counted(Watched):
        def note_vectors(self):
            found.setdefault(self.rank, len(self.states) - 1 + self._buffers)

        def steps(self, *args, **keywords):
            self.note_vectors()  # evaluations take a buffer of their own for a moment
            yield from super().steps(*args, **keywords)

        def requests(self, *args, **keywords):
            self.note_vectors()
            yield from super().requests(*args, **keywords)

    def main(comm):
        objective = objective_of(comm, case, "virtual")
        train_rank(comm, spec, None, objective, options=RankOptions(objective.cancel_requested))
        rank = objective.seen_by
        floats = [each.size for each in rank.comm.residuals.values() if each.dtype == np.float32]
        keeps[rank.rank] = sum(floats) / rank.params.numel()

    with mock.patch("hooke.loop.train.TrainingRank", Counted):
        run_virtual(case.ranks, spec.virtual, main, case.collective)
    most = max((keeps[worker] for worker in range(1, case.workers)), default=0)
    return found[0], found.get(case.workers), case.values, (most, keeps.get(case.workers, 0))


def test_every_method_is_in_the_table():
    assert set(HELD) == set(built_in("algorithm"))


@pytest.mark.parametrize("name", sorted(built_in("algorithm")))
def test_a_method_holds_as_many_vectors_as_the_table_says(name):
    worker, server, parameters, keeps = counted(name, {}, "bf16", steps=LONGER.get(name, 4))
    held = HELD[name]
    assert keeps == wanted(name, "bf16", 2, server)
    assert worker == held.worker + of_step(parameters)
    assert server in (None, held.server + 2 * held.per_worker)


def wanted(name, wire, workers, server, **parameters):
    """Return what a wire keeps on a worker and a server, as the table says."""
    if built_in("algorithm")[name].cls.max_workers == 1:
        return 0, 0
    worker, of_server = kept(name, Communication(wire=wire), workers, parameters.get("delay", 1))
    return (1 if name == "chip-easgd" and workers == 2 else worker), of_server if server is not None else 0


@pytest.mark.parametrize("name", EACH_KIND)
def test_a_compressed_wire_keeps_as_many_vectors_as_the_table_says(name):
    _, server, _, keeps = counted(name, {}, "int8", workers=4, steps=LONGER.get(name, 6))
    assert keeps == wanted(name, "int8", 4, server)


@pytest.mark.parametrize("wire", ["bf16", "int8"])
def test_late_means_have_a_residual_for_each_step_of_delay_and_one(wire):
    """Which the prediction counts."""
    _, server, _, keeps = counted("delayed-gradient-averaging", {"delay": 3}, wire)
    assert keeps == wanted("delayed-gradient-averaging", wire, 2, server, delay=3) == (4, 0)
    method = {"name": "delayed-gradient-averaging", "parameters": {"delay": 3}}
    plain, kept_too = (run_of(algorithm=method, communication={"wire": sent}) for sent in ("fp32", wire))
    assert of_worker(kept_too).vectors - of_worker(plain).vectors == 4 * sizes_of(plain).weights * ELEMENT


@pytest.mark.parametrize("name", sorted(LATE))
@pytest.mark.parametrize("delay", [0, 4])
def test_a_method_with_late_means_holds_more_with_each_step_of_delay(name, delay):
    worker, *_ = counted(name, {"delay": delay})
    spec, usual = (run_of(algorithm={"name": name, "parameters": given}) for given in ({"delay": delay}, {}))
    weights = sizes_of(spec).weights * ELEMENT
    assert worker - HELD[name].worker == (of_worker(spec).vectors - of_worker(usual).vectors) / weights


STEPS = [
    {"momentum": 0.9},
    {"momentum": 0.9, "momentum_kind": "nesterov", "weight_decay": 0.1},
    {"optimizer": "adamw"},
    {"optimizer": "muon"},
    {"optimizer": "row-adagrad"},
    {"optimizer": "row-adam"},
    {"optimizer": "lazy-adam"},
]


@pytest.mark.parametrize("name", ["demo", "onebit-adam"])
def test_a_step_of_its_own_keeps_what_accumulates_alone(name):
    worker, _, resolved, _ = counted(name, {"weight_decay": 0.1, "clip_norm": 1.0, "accumulation": 2})
    assert of_step(resolved) == 1
    assert worker == HELD[name].worker  # the sum is the rank's own, beside those of the method


@pytest.mark.parametrize("parameters", STEPS, ids=lambda step: "-".join(map(str, step.values())))
def test_a_step_keeps_as_many_vectors_as_predicted(parameters):
    lower = {"lr": 0.001} if "optimizer" in parameters else {}
    worker, _, resolved, _ = counted("sync-sgd", parameters | lower)
    assert worker == HELD["sync-sgd"].worker + of_step(resolved)


def elements(model):
    return sum(each.numel() for each in model.parameters())


def test_weights_are_those_of_the_models():
    assert DigitsMLP(hidden1=30, hidden2=20).memory_sizes().weights == elements(
        DigitsMLP(hidden1=30, hidden2=20).build().model
    )
    assert MnistLenet().memory_sizes().weights == FashionLenet().memory_sizes().weights == elements(lenet())
    assert CifarAlexnet(hidden=60).memory_sizes().weights == elements(alexnet(60, 0.5))
    for blocks in (1, 3):
        assert CifarResnet20(blocks=blocks).memory_sizes().weights == elements(resnet(blocks))
    with torch.device("meta"):
        assert ImagenetVgg19().memory_sizes().weights == elements(vgg19(1000))
        assert ImagenetGooglenet().memory_sizes().weights == elements(GoogLeNet(1000))
    small = TextTransformer(width=32, context=16, layers=3)
    assert small.memory_sizes().weights == elements(Transformer(96, 16, 32, 4, 3))
    planted = XmlcMlp(labels=200, features=400, items=500, hidden=16)
    assert planted.memory_sizes().weights == planted.build().layout[-1].stop
    assert A9aMlp().memory_sizes().weights == 1_377_794, "as its docstring says"
    assert W8aMlp().memory_sizes().weights == 1_993_730


def saved(model, inputs):
    """Return how many numbers the forward pass of one sample keeps for the backward pass."""
    own = {each.untyped_storage()._cdata for each in model.parameters()}
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.train()(inputs)
    return sum(each.untyped_storage().nbytes() // 4 for key, each in kept.items() if key not in own)


@pytest.mark.parametrize(
    ("workload", "make", "shape"),
    [
        (MnistLenet(), lenet, (1, 28, 28)),
        (CifarAlexnet(), lambda: alexnet(1024, 0.0), (3, 32, 32)),
        (CifarResnet20(), lambda: resnet(3), (3, 32, 32)),
        (ImagenetGooglenet(), lambda: GoogLeNet(1000, 0.0), (3, 224, 224)),
        (ImagenetVgg19(), lambda: vgg19(1000, 0.0), (3, 224, 224)),
    ],
    ids=["lenet", "alexnet", "resnet", "googlenet", "vgg"],
)
def test_activations_are_about_those_that_autograd_keeps(workload, make, shape):
    batch = 2  # one value per channel has no variance
    with torch.device("meta" if isinstance(workload, ImagenetVgg19) else "cpu"):
        found = saved(make(), torch.zeros(batch, *shape)) / batch
    assert 1 / 2 < workload.memory_sizes().activations / found < 2, found


def run_of(**changes):
    document = {
        "workload": {"name": "digits-mlp", "parameters": {"hidden1": 2048, "hidden2": 2048}},
        "algorithm": {"name": "sync-easgd", "parameters": {"optimizer": "adamw", "lr": 0.001}},
        "batch": 32,
        "workers": 2,
        "seed": 0,
        "world": "mpi",
        "budget": {"samples": 640},
        "evaluation": {"every": 320},
        "checkpoint": "never",
    }
    return validate_run(document | changes)


PEAK = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, "status", status)
"""


def peak_of(spec, folder):
    """Return the largest resident memory of a rank of a real run, bytes."""
    (folder / "spec.json").write_text(json.dumps(spec.model_dump(mode="json", by_alias=True)))
    command = [mpirun(), "-n", str(spec.workers), sys.executable, "-m", "mpi4py", "-m", "hooke.loop.train"]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *command, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": search_path(), "HOME": str(folder)},
    )
    _, peak, _, status = done.stdout.splitlines()[-1].split()
    assert status == "0", done.stdout + done.stderr
    return int(peak)


def test_the_memory_of_a_rank_is_about_what_was_predicted(tmp_path):
    spec = run_of()
    predicted, peak = footprint(spec, 0).total / 2, peak_of(spec, tmp_path)
    assert 1 / WITHIN < predicted / peak < WITHIN, (predicted, peak)


def test_many_labels_in_hash_tables_take_about_what_was_predicted(tmp_path):
    """100,000 labels in 300 tables, 181 MB, which the prediction without tables lacks."""
    asked = {"labels": 100_000, "features": 2000, "items": 500, "hidden": 64, "output": "slide", "tables": 300}
    spec = run_of(
        workload={"name": "xmlc-mlp", "parameters": asked | {"validation_items": 20, "test_items": 20}},
        algorithm={"name": "sgd", "parameters": {"lr": 0.1}},
        workers=1,
        budget={"samples": 32},
        evaluation={"every": 32},
    )
    needs = footprint(spec, 0)
    tables = Tables(300, 9)
    tables.build(np.zeros((100_000, 300), np.int32))
    assert 0 <= needs.data - tables.bytes < 1_000_000
    predicted, peak = needs.total, peak_of(spec, tmp_path)
    assert 1 / 1.4 < predicted / peak < 1.4, (predicted, peak)


def test_workloads_of_unknown_size_are_not_predicted():
    planted = {"workload": {"name": "xmlc-mlp", "parameters": {"data": "other"}}}
    assert footprint(run_of(**planted), 0) is None
    assert footprint(run_of(workload={"name": "libsvm-mlp", "parameters": {"data": "other"}}), 0) is None


def test_ranks_of_a_virtual_run_share_program_and_data():
    virtual = {"world": "virtual", "virtual": {"latency": 1e-5, "seconds_per_byte": 1e-9}}
    real, simulated = footprint(run_of(), 0), footprint(run_of(**virtual), 0)
    assert (real.processes, simulated.processes) == (2, 1)
    assert (real.vectors, real.activations) == (simulated.vectors, simulated.activations)
    assert (real.program, real.data) == (2 * simulated.program, 2 * simulated.data)
