"""Weights in bfloat16: steps rounded at random, against Python's integers, the binomial law and float32."""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.catalogue.workload import Place
from hooke.comm.base import Slice
from hooke.comm.touched import Rows, Touched
from hooke.errors import SpecError
from hooke.loop.train import run_spec_virtual
from hooke.methods.rowwise import LazyAdamStep, RowAdamStep, RowStep
from hooke.methods.steps import LocalStep
from hooke.objective.wide import RETURNED
from hooke.spec.specification import Compute
from hooke.workloads.xmlc_mlp import XmlcMlp

RUN = {
    "schema": "hooke.run/1",
    "workload": {
        "name": "xmlc-mlp",
        "parameters": {"labels": 300, "features": 500, "items": 800, "hidden": 6, "validation_items": 50},
    },
    "workload_settings": {"weights": "bf16", "output": "random-active", "active": 40},
    "algorithm": {"name": "sgd", "parameters": {"lr": 0.5}},
    "batch": 4,
    "seed": 4,
    "workers": 1,
    "budget": {"samples": 96},
    "evaluation": {"every": 48},
    "world": "virtual",
    "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
}
SETTINGS = {
    "in-batch": {"output": "in-batch"},
    "random-active": {"output": "random-active", "active": 40},
    "sampled": {"output": "sampled", "active": 40},
    "slide": {"output": "slide", "active": 60, "hashes": 4, "tables": 6, "first_rebuild": 3},
    "items": {"output": "random-active", "active": 60, "sets": "item"},
    "slide, items": {
        "output": "slide",
        "active": 60,
        "hashes": 4,
        "tables": 6,
        "first_rebuild": 3,
        "sets": "item",
    },
}
ROWS, WIDTH = 3000, 9
PARTS = (Slice("matrix", 0, ROWS * WIDTH, (ROWS, WIDTH)), Slice("bias", ROWS * WIDTH, ROWS * (WIDTH + 1), (ROWS,)))


class Alone:
    """As much of a rank as a step needs: all weights are 1.5; some rows have a gradient."""

    def __init__(self, rows=None, told=True, seed=3):
        self.layout, self.t, self.told = PARTS, 0, told
        self.spec = SimpleNamespace(seed=seed)
        self.params = torch.full((PARTS[-1].stop,), 1.5, dtype=torch.bfloat16)
        self.ids = torch.arange(ROWS) if rows is None else torch.from_numpy(rows)

    def state(self, name, like=None):
        return torch.zeros(len(self.params))

    def stepped(self, elements):
        pass

    def touched(self, g):
        return Touched(tuple(Rows(part, self.ids) for part in PARTS)) if self.told else None

    def gradient(self, value):
        """A gradient with this value in every element of the rows."""
        g = torch.zeros(len(self.params))
        for part in PARTS:
            Rows(part, None).matrix(g)[self.ids] = value
        return g


def words_of(seed, place, step, row, column, width):
    """The 16 random bits of an element: SplitMix64 in Python's integers, a word for four columns."""
    wrap, words = 1 << 64, -(-width // 4)
    key = int(np.random.SeedSequence((seed, 0x4A20, place, step)).generate_state(1, np.uint64)[0])
    z = (key + (row * words + column // 4 + 1) * 0x9E3779B97F4A7C15) % wrap
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % wrap
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % wrap
    return ((z ^ (z >> 31)) >> 16 * (column % 4)) & 0xFFFF


@pytest.mark.parametrize("told", [True, False])
def test_a_step_rounds_every_element_by_its_own_bits(told):
    rows = np.array([0, 7, 8, 2999])
    r = Alone(rows, told)
    r.t = 5
    LocalStep(r, 1.0).apply(r.gradient(0.001))
    exact = int((torch.tensor(1.5) - torch.tensor(0.001)).view(torch.int32))
    found = r.params.view(torch.int16).numpy().view(np.uint16)
    for place, part in enumerate(PARTS):
        matrix = found[part.start : part.stop].reshape(ROWS, -1)
        for row, column in np.ndindex(4, matrix.shape[1]):
            expected = (exact + words_of(3, place, 5, int(rows[row]), column, matrix.shape[1])) >> 16
            assert matrix[rows[row], column] == expected
        left = np.delete(matrix, rows, axis=0)
        assert (left == 0x3FC0).all(), "1.5: rows without a gradient keep every bit"


@pytest.mark.parametrize("share", [1 / 64, 0.25, 0.5, 0.9])
def test_the_expectation_of_a_step_is_the_exact_one(share):
    """Of n elements n p become the neighbour below, within 4 standard deviations."""
    r = Alone()
    LocalStep(r, 0.5).apply(r.gradient(2 * share * 2.0**-7))
    values, n = r.params.float(), len(r.params)
    assert set(values.tolist()) <= {1.5, 1.5 - 2.0**-7}
    away = int((values != 1.5).sum())
    assert abs(away - n * share) < 4 * math.sqrt(n * share * (1 - share))


@pytest.mark.parametrize("kind", [LocalStep, RowStep, RowAdamStep, LazyAdamStep])
def test_small_steps_add_up(kind):
    """40 steps of less than 1/100 of the distance of neighbours: the mean is that of float32 within 4 sigma.

    Rounded to the nearest value no weight would have moved.
    """
    exact, r, steps = Alone(), Alone(), 40
    exact.params = exact.params.float()
    lr = {LocalStep: 2e-5, RowStep: 2e-4}.get(kind, 5e-5)
    for each in (exact, r):
        step = kind(each, lr)
        for each.t in range(steps):
            step.apply(each.gradient(1.0))
    moved = 1.5 - float(exact.params.mean())
    assert moved / steps < 2.0**-7 / 100
    p = moved / steps / 2.0**-7
    sigma = 2.0**-7 * math.sqrt(steps * p * (1 - p) / len(r.params))
    assert abs(float(r.params.double().mean()) - float(exact.params.double().mean())) < 4 * sigma


# -- the network -------------------------------------------------------------------------------------------


def built(name, weights, threads=1):
    parameters = RUN["workload"]["parameters"] | SETTINGS[name] | {"weights": weights}
    return XmlcMlp(**parameters).build(Place(Compute(threads=threads), 4))


@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_and_scores_are_those_of_float32_at_the_same_weights(name):
    narrow, wide = built(name, "bf16"), built(name, "fp32")
    weights = narrow.initial(4)
    assert weights.dtype == torch.bfloat16
    assert weights.equal(wide.initial(4).bfloat16()), "rounded to the nearest"
    gradients = []
    for each, at in ((narrow, weights), (wide, weights.float())):
        gradients.append(each.allocate())
        each.bind(at, gradients[-1])
    for start in range(RETURNED + 2):  # tables are built anew on the way, and memory is given back
        losses = [each.gradient(each.pick(np.arange(start, start + 6))) for each in (narrow, wide)]
        assert losses[0] == losses[1]
        assert gradients[0].numpy().tobytes() == gradients[1].numpy().tobytes()
    one, other = narrow.evaluate(weights, 0, 50), wide.evaluate(weights.float(), 0, 50)
    assert (one.correct, one.count) == (other.correct, other.count)
    assert one.loss_sum == pytest.approx(other.loss_sum, rel=1e-6)


def resident(vector):
    """Bytes of the vector's mapping that are in memory, as the kernel counts them."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(match[1], 16) <= vector.data_ptr() < int(match[2], 16)
        elif inside and line.startswith("Rss:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("no mapping holds the vector")


@pytest.mark.skipif(sys.platform != "linux", reason="NOT VERIFIED: no /proc")
def test_the_memory_of_the_gradient_is_given_back():
    """A gradient of 40,000 rows of which each step touches a few."""
    parameters = {"labels": 20_000, "features": 20_000, "items": 500, "hidden": 32, "output": "in-batch"}
    objective = XmlcMlp(**parameters, weights="bf16").build()
    gradient = objective.allocate()
    objective.bind(objective.initial(0), gradient)
    held = []
    for step in range(2 * RETURNED + 1):
        objective.gradient(objective.pick([step]))
        held.append(resident(gradient))
    assert held[RETURNED] < held[RETURNED - 1] / 4 and held[-1] < held[-2] / 4
    assert max(held) < gradient.nbytes
    gradient.fill_(1.0)  # by someone else
    objective.gradient(objective.pick([0]))
    left = gradient.clone()
    objective.touched.clear(left)
    assert not left.any()


def outcomes(folder=None, resume=False, settings=(), rows="all", optimizer="sgd", **changes):
    document = json.loads(json.dumps(RUN)) | changes | {"communication": {"rows": rows}}
    document["workload_settings"] |= dict(settings)
    document["algorithm"]["parameters"]["optimizer"] = optimizer
    if document["workers"] > 1:
        document["algorithm"]["name"] = "sync-sgd"
    return run_spec_virtual(validate_run(document), folder, resume=resume)


@pytest.mark.parametrize("optimizer", ["sgd", "row-adagrad", "row-adam", "lazy-adam"])
@pytest.mark.parametrize("workers", [2, 3])
def test_touched_rows_are_exchanged_to_the_bits_of_whole_vectors(workers, optimizer):
    whole = outcomes(workers=workers, optimizer=optimizer)
    touched = outcomes(workers=workers, optimizer=optimizer, rows="touched")
    assert len({each.weights.tobytes() for each in (*whole, *touched)}) == 1, "replicas, too"
    assert sum(each.done.wire for each in touched) < sum(each.done.wire for each in whole)
    weights = whole[0].weights
    assert weights.dtype == np.float32 and not (weights.view(np.uint32) & 0xFFFF).any(), "values of bfloat16"
    assert weights.tobytes() != outcomes(workers=workers, optimizer=optimizer, seed=5)[0].weights.tobytes()


@pytest.mark.parametrize("name", ["slide", "slide, items"])
def test_threads_change_no_bit(name):
    one, two = (outcomes(settings=SETTINGS[name].items(), compute={"threads": n})[0] for n in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()


@pytest.mark.parametrize(("workers", "name"), [(1, "slide"), (2, "items")])
def test_a_resumed_run_has_the_bits_of_an_undisturbed_one(tmp_path, workers, name):
    given = {"workers": workers, "settings": SETTINGS[name].items(), "optimizer": "row-adagrad", "rows": "touched"}
    given |= {"checkpoint": "always", "checkpoint_every": 40}
    straight = outcomes(tmp_path, **given)
    places = sorted((tmp_path / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert 0 < int(places[0].name) < 96
    for later in places[1:]:
        (later / "complete.json").unlink()
    with np.load(places[0] / "rank.0.npz") as held:
        assert held["params"].dtype == np.uint16, "two bytes for each weight"
    for one, other in zip(straight, outcomes(tmp_path, resume=True, **given), strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
    with np.load(tmp_path / "final.0.npz") as final:
        assert final["weights"].dtype == np.float32


def test_it_learns_as_float32_does():
    """The same batches and negatives: after 375 steps a tenth of the items at most is scored otherwise."""
    parameters = RUN["workload"]["parameters"] | {"hidden": 32}
    long = {"budget": {"samples": 6000}, "evaluation": {"every": 6000}, "batch": 16, "optimizer": "row-adagrad"}
    long["workload"] = {"name": "xmlc-mlp", "parameters": parameters}
    low = outcomes(**long)[0].evaluations[-1].accuracy
    high = outcomes(**long, settings={"weights": "fp32"}.items())[0].evaluations[-1].accuracy
    assert high > 0.3
    assert abs(low - high) <= 0.1


# -- what cannot have them ---------------------------------------------------------------------------------


def refused(document):
    with pytest.raises(SpecError) as raised:
        validate_run(document)
    return {fault.pointer: fault.message for fault in raised.value.faults}


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        (
            {"name": "local-sgd", "parameters": {}},
            "local-sgd changes them in other ways, too: choose sgd, sync-sgd",
        ),
        ({"name": "sync-easgd3", "parameters": {}}, "sync-easgd3 changes them in other ways"),
        ({"name": "sync-sgd", "parameters": {"momentum": 0.5}}, "SGD with momentum moves all rows"),
        ({"name": "sync-sgd", "parameters": {"optimizer": "adamw", "lr": 0.01}}, "adamw moves all rows"),
        ({"name": "sgd", "parameters": {"optimizer": "muon", "lr": 0.01}}, "muon moves all rows"),
    ],
)
def test_methods_and_optimizers_that_would_round_otherwise_are_refused(algorithm, said):
    found = refused(RUN | {"algorithm": algorithm})
    assert list(found) == ["/workload_settings/weights"]
    assert said in found.popitem()[1]


def test_threads_that_share_weights_are_refused():
    found = refused(
        RUN
        | {
            "algorithm": {"name": "sync-sgd", "parameters": {}},
            "world": "mpi",
            "virtual": None,
            "groups": [{"kind": "hogwild-cpu", "threads": 2}],
        }
    )
    assert "threads that share weights update them in place" in found["/workload_settings/weights"]


def test_the_whole_softmax_is_refused_and_an_experiment_says_where():
    found = refused(RUN | {"workload_settings": {"weights": "bf16"}})
    assert "`full` reads all of them" in " ".join(found.values())
    variant = {"algorithm": "local-sgd", "workload_settings": {"weights": "bf16", "output": "in-batch"}}
    plain = {"name": "plain", "algorithm": "sync-sgd", "workload_settings": variant["workload_settings"]}
    document = {
        "name": "output layers",
        "workload": RUN["workload"],
        "variants": [plain, variant | {"name": "local"}],
        "baseline": "plain",
        "clusters": [{"name": "local", "workers": [2], "seeds": 1}],
        "budget": {"samples": 1000},
        "evaluation": {"every": 500},
    }
    with pytest.raises(SpecError) as raised:
        validate_experiment(document)
    assert [fault.pointer for fault in raised.value.faults] == ["/variants/1/workload_settings/weights"]
    validate_experiment(document | {"variants": [plain]})
    tuned = document | {"variants": [plain], "tuning": {"trials": 4}, "target": {"value": 0.5}}
    with pytest.raises(SpecError, match="momentum 0, not searched"):
        validate_experiment(tuned)
    validate_experiment(tuned | {"variants": [plain | {"parameters": {"momentum": 0.0}}]})
    searching = {"search": {"workload.weights": {"choices": ["fp32", "bf16"]}}, "parameters": {"momentum": 0.0}}
    searching["workload_settings"] = {"output": "in-batch"}
    validate_experiment(tuned | {"variants": [plain | searching]})
    with pytest.raises(SpecError, match="local-sgd changes them in other ways"):
        validate_experiment(tuned | {"variants": [plain | searching | {"algorithm": "local-sgd"}]})
