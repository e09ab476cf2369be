"""The network with a wide output layer on other devices than the CPU, as far as a CPU can tell."""

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Place
from hooke.comm.touched import Rows
from hooke.errors import LaunchError
from hooke.objective.active_labels import Full, InBatch, RandomActive, Sampled
from hooke.objective.bags import Bags, Csr
from hooke.objective.planted import Planted
from hooke.objective.wide import WideObjective
from hooke.objective.wide_input import added_rows, gradient_rows, sorted_rows
from hooke.spec.specification import Compute
from hooke.workloads.xmlc_mlp import XmlcMlp

LABELS, FEATURES, HIDDEN = 60, 90, 7
ELSEWHERE = torch.device("meta")
"""A device without elements: an operation on its tensors and those of the CPU raises, as for those of a GPU."""


@pytest.fixture(scope="module")
def data():
    return Planted(LABELS, FEATURES, 400, seed=3).parts()


def batch_of(starts, ids, values):
    features = Csr(np.array(starts), np.array(ids, np.int32), np.array(values, np.float32))
    labels = Csr(np.arange(len(starts)), np.zeros(len(starts) - 1, np.int32))
    return Bags(features, labels, FEATURES, LABELS)


BATCHES = {
    "shared features": batch_of([0, 3, 5, 8], [1, 4, 7, 4, 9, 1, 4, 8], [0.5, 2, -1, 3, 1, 1, 0.25, 2]),
    "an item without features": batch_of([0, 2, 2, 3], [0, 89, 0], [1, 2, 3]),
    "no features": batch_of([0, 0, 0], [], []),
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("way", [added_rows, sorted_rows, gradient_rows])
def test_rows_of_features_are_sums_over_items(name, way):
    """By the definition: row f is the sum of x_f times the item's gradient, over the items that have f."""
    bags = BATCHES[name]
    back = torch.randn(len(bags), HIDDEN, generator=torch.Generator().manual_seed(1))
    dense = np.zeros((len(bags), FEATURES))
    for i in range(len(bags)):
        own = slice(bags.features.starts[i], bags.features.starts[i + 1])
        dense[i, bags.features.ids[own]] = bags.features.values[own]
    features, rows = way(bags, back)
    assert features.tolist() == sorted(set(bags.features.ids.tolist()))
    np.testing.assert_allclose(
        rows.numpy(), (dense.T @ back.double().numpy())[features.numpy()], rtol=1e-5, atol=1e-6
    )


LAYERS = {
    "full": Full,
    "in-batch": InBatch,
    "random-active": lambda: RandomActive(LABELS, 30),
    "sampled": lambda: Sampled(LABELS, 25, "log-uniform"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_uses_tensors_of_one_device(data, name):
    """Every operation of two steps, up to the last one of each, which reads the loss."""
    objective = WideObjective(*data, HIDDEN, LAYERS[name](), place=Place(Compute(device="cpu")))
    objective.device = ELSEWHERE
    weights, gradient = objective.allocate(), objective.allocate()
    objective.bind(weights, gradient)
    for start in (0, 6):  # the second one also clears the rows of the first
        with pytest.raises(RuntimeError, match="item"):
            objective.gradient(objective.pick(np.arange(start, start + 6)))
        assert {rows.ids.device for rows in objective.touched if rows.ids is not None} == {ELSEWHERE}
    assert objective._computed == 2


def test_ids_follow_the_device_of_a_vector(data):
    objective = WideObjective(*data, HIDDEN, InBatch())
    rows = Rows(objective.layout[0], torch.tensor([2, 5]))
    vector = torch.zeros(objective.layout[-1].stop, device=ELSEWHERE)
    assert rows.of(vector).device == ELSEWHERE
    rows.put(vector, torch.ones(2, HIDDEN, device=ELSEWHERE))


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"output": "slide", "sets": "item"}, "an active set for each item"),
        ({"output": "sampled", "weights": "bf16"}, "bf16"),
    ],
)
def test_what_the_cpu_alone_computes_is_refused(parameters, what):
    workload = XmlcMlp(labels=60, features=90, items=400, **parameters)
    with pytest.raises(LaunchError, match=f"{what}.* on the CPU alone"):
        workload.build(Place(Compute(device="cuda")))
    assert workload.build(Place(Compute(device="auto"))).device == torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    with pytest.raises(LaunchError, match="no CUDA device"):
        XmlcMlp(labels=60, features=90, items=400).build(Place(Compute(device="cuda")))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("output", ["full", "sampled", "random-active", "in-batch", "slide"])
def test_a_gpu_computes_the_gradients_of_the_cpu(output):
    found = []
    for name in ("cpu", "cuda"):
        objective = XmlcMlp(labels=60, features=90, items=400, output=output, active=40, tables=5).build(
            Place(Compute(device=name))
        )
        weights, gradient = objective.initial(5), objective.allocate()
        objective.bind(weights, gradient)
        loss = [objective.gradient(objective.pick(np.arange(k, k + 6))) for k in (0, 6)][-1]
        score = objective.evaluate(weights, 0, objective.validation_size)
        found.append((loss, gradient.cpu(), score))
    (loss, gradient, score), (other, on_gpu, scored) = found
    assert other == pytest.approx(loss, rel=1e-5)
    torch.testing.assert_close(on_gpu, gradient, rtol=1e-4, atol=1e-6)
    assert (scored.correct, scored.count) == (score.correct, score.count)
