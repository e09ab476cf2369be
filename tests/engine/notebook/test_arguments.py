"""What `hooke.compare` and `hooke.Network` refuse: each sentence names the argument."""

import hooke
import numpy as np
import pytest
import torch
from hooke.errors import ArgumentError
from torch import nn

from tests.architecture.test_cold_starts import COMPUTE, WEB, loaded
from tests.engine.notebook.data import GIVEN, METHODS, QUICK, TEST, TRAIN, model

PROPER = {"methods": METHODS, "target": 0.8, **GIVEN, **QUICK}
FLOATS = TRAIN[0], TRAIN[1].astype(np.float32)
ONE, BODY = model(), nn.Linear(2, 16)


class Triples:
    """A data set of items that are not pairs."""

    def __len__(self):
        return 30

    def __getitem__(self, index):
        return TRAIN[0][index], 0, 0


def same():
    """Return the same model each time."""
    return ONE


def shared():
    """Return models that share a layer."""
    return nn.Sequential(BODY, nn.Linear(16, 2))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"methods": {}}, "`methods` maps the name of each method to its settings"),
        ({"methods": "sgd"}, "`methods` maps the name of each method to its settings"),
        ({"progress": "no"}, "`progress` is True, False or a function of a Progress, not 'no'"),
        ({"methods": ["sgd", "sgd"]}, "`methods` lists a name twice"),
        ({"methods": [{"sgd": {"lr": 0.1}}]}, "`methods` maps the name of each method to its settings"),
        ({"methods": [["sgd"]]}, "`methods` maps the name of each method to its settings"),
        ({"methods": {"sgd": 0.1}}, r"`methods\['sgd'\]` is a mapping of settings"),
        ({"methods": {"sdg": {}}}, r"`methods\['sdg'\]\['algorithm'\]`: no algorithm is called 'sdg'"),
        (
            {"methods": {"slowmo": {"perod": 3}}},
            r"`methods\['slowmo'\]\['perod'\]`: this name is unknown here; did you mean period\?",
        ),
        (
            {"methods": {"slowmo": {"period": 0}}},
            r"`methods\['slowmo'\]\['period'\]`: .* greater than or equal to 1",
        ),
        ({"methods": {"sgd": {"communication": {"wire": "fp8"}}}}, r"\['sgd'\]\['communication'\]\['wire'\]`: "),
        ({"communication": {"collective": "library"}}, r"\['collective'\]`: a virtual cluster has no MPI library"),
        ({"baseline": "sgd"}, "`baseline`: no variant has this name"),
        ({"target": 98}, r"`target`: an accuracy lies in \(0, 1\]"),
        ({"target": "90%"}, "`target` is a number, such as 0.98, not '90%'"),
        ({"target": True}, "`target` is a number, such as 0.98, not True"),
        ({"target": np.True_}, "`target` is a number, such as 0.98, not (np.)?True"),
        ({"target": np.array(True)}, r"`target` is a number, such as 0.98, not array\(True\)"),
        ({"target": torch.tensor(True)}, r"`target` is a number, such as 0.98, not tensor\(True\)"),
        ({"target": np.array([0.9])}, r"`target` is a number, such as 0.98, not array\(\[0.9\]\)"),
        ({"target": np.complex64(0.9)}, "`target` is a number, such as 0.98, not "),
        ({"target": np.float32("nan")}, "`target`: "),
        ({"seconds_per_sample": np.True_}, "`seconds_per_sample` is a number, such as 2e-5, not (np.)?True"),
        ({"metric": "f1"}, '`metric` is "accuracy" or "loss"'),
        ({"workers": 0}, "^`workers`: Input should be greater than or equal to 1$"),
        ({"seeds": 0}, "`seeds`: "),
        ({"trials": 1}, "`trials`: "),
        ({"batch": 0}, "`batch`: "),
        ({"samples": 0}, "`samples`: "),
        ({"evaluate_every": 0}, "`evaluate_every`: "),
        ({"seconds_per_sample": 0}, "`seconds_per_sample`: "),
        ({"network": hooke.Network("1Gb/s", jitter=-1)}, "`network`: "),
        ({"network": 10}, "`network` is a hooke.Network or its bandwidth"),
        ({"world": "real"}, '`world` is "virtual"'),
        ({"name": None}, '`name` is a text, such as "my-net", not None'),
        ({"name": "My net"}, "`name`: a name has 1 to 63 lower-case letters"),
        ({"name": "digits-mlp"}, "the name 'digits-mlp' is that of another workload, or of a comparison that is"),
        ({"model": model()}, "`model` is a function that returns a new nn.Module, .* not Sequential"),
        ({"model": lambda: 3}, r"model\(\) must return an nn.Module with parameters, not int"),
        (
            {"model": lambda: nn.Linear(3, 2)},
            "the first gradient failed, so that `model`, `train` and `loss` do not",
        ),
        ({"test": None}, "`test` is missing"),
        ({"workload": "digits-mlp"}, "give `workload`, or `model`, `train` and `test`, not both"),
        ({"train": TRAIN[0]}, r"train must be \(inputs, labels\), two tensors or arrays, or a map-style data set"),
        ({"train": (TRAIN[0], TRAIN[1][:5])}, "train has 600 inputs and 5 labels"),
        ({"test": (TEST[0] * 1j, TEST[1])}, "test has complex numbers"),
        (
            {"train": (np.zeros((5, 2)), np.zeros(5))},
            "no validation part can be split off 5 training items: give `val",
        ),
        ({"workers": "4"}, "`workers` is a whole number, such as 4, not '4'"),
        ({"workers": 2.5}, "`workers` is a whole number, such as 4, not 2.5"),
        ({"workers": []}, r"`workers` is a number, or lists kinds of workers, such as .*, not \[\]"),
        ({"workers": [4]}, r"`workers` is a number, or lists kinds of workers, such as .*, not \[4\]"),
        ({"workers": [{"kind": "cpu", "count": "2"}]}, "`count` is a whole number, such as 4, not '2'"),
        ({"workers": [{"kind": "cpu", "count": 0}]}, "^`workers`: Input should be greater than or equal to 1$"),
        ({"workers": [{"kind": "gpu"}]}, "^`workers`: Input should be 'cpu', 'hogwild-cpu', 'cuda', "),
        ({"workers": [{"kind": ["cpu"]}]}, "^`workers`: Input should be 'cpu'"),
        ({"workers": [{"count": 2}]}, "^`workers`: this field is missing$"),
        ({"workers": [{"kind": "cuda"}]}, "^`workers`: .*there is no virtual device cuda: choose one of cpu, "),
        (
            {"workers": [{"kind": "cpu-28"}, {"kind": "v100"}], "seconds_per_sample": None},
            r"^`seconds_per_sample` is missing: with devices \(cpu-28, v100\) it is the time of a sample on a ",
        ),
        (
            {"workers": [{"kind": "cpu", "speed": 2}], "world": "mpi", "seconds_per_sample": None},
            "^`workers`: a real worker can only be slowed down",
        ),
        (
            {"workers": [{"kind": "k80"}], "world": "mpi", "seconds_per_sample": None},
            "^`workers`: a real cluster has no device k80, which is simulated",
        ),
        ({"seeds": True}, "`seeds` is a whole number"),
        ({"seeds": np.True_}, "`seeds` is a whole number"),
        ({"workers": torch.tensor(True)}, r"`workers` is a whole number, such as 4, not tensor\(True\)"),
        ({"workers": np.array([2])}, r"`workers` is a whole number, such as 4, not array\(\[2\]\)"),
        ({"batch": np.float32(2.5)}, "`batch` is a whole number"),
        ({"methods": {"sgd": {"lr": np.True_}}}, r"`methods\['sgd'\]\['lr'\]`: a number is needed, not true"),
        ({"methods": {"slowmo": {"period": True}}}, r"\['period'\]`: a number is needed, not true"),
        ({"samples": "many"}, "`samples` is a whole number"),
        ({"trials": "many"}, "`trials` is a whole number"),
        ({"communication": "bf16"}, "`communication` is a mapping of settings, such as .*'wire'.* not 'bf16'"),
        (
            {"methods": {"sgd": {"communication": "bf16"}}},
            r"`methods\['sgd'\]\['communication'\]` is a mapping of settings, .* not 'bf16'",
        ),
        (
            {"methods": {"sgd": {"search": "x"}}},
            r"`methods\['sgd'\]\['search'\]` maps parameters to their search spaces, .* not 'x'",
        ),
        ({"search": "grid", "trials": 4}, '`search` is "quasi-random", "halving" or "optuna", not \'grid\''),
        (
            {"trials": 4, "methods": {"sgd": {"search": {"lr": {"low": 1, "high": 0.1}}}}},
            r"`methods\['sgd'\]\['search'\]\['lr'\]`: `low` must be less than `high`",
        ),
        (
            {"trials": 4, "methods": {"sgd": {"search": {"lr": {"low": 0, "high": 1, "scale": "log"}}}}},
            r"`methods\['sgd'\]\['search'\]\['lr'\]`: a log scale needs `low` > 0",
        ),
        ({"search": "halving"}, "`search`: no effect without `trials`"),
        ({"sampler": "gp"}, "`sampler`: no effect without `trials`"),
        ({"sampler": "gp", "trials": 4}, '`sampler`: no effect without `search="optuna"`'),
        ({"sampler": "x", "trials": 4, "search": "optuna"}, "`sampler` is one of tpe, gp, random, qmc, not 'x'"),
        ({"target": None, "metric": "loss"}, "`metric`: no effect without `target`"),
        (
            {"trials": 4, "methods": {"sgd": {"search": {"rate": {"low": 0, "high": 1}}}}},
            r"^`methods\['sgd'\]\['search'\]\['rate'\]`: the algorithm has no parameter of this name$",
        ),
        ({"trials": 2, "trial_samples": 0}, "`trial_samples`: "),
        ({"tuning_seeds": 3, "search": "halving"}, "`search`, `tuning_seeds`: no effect without `trials`"),
        ({"world": "mpi"}, '`seconds_per_sample`: no effect with world="mpi", whose times are real'),
        (
            {"world": "mpi", "seconds_per_sample": None, "network": "1Gb/s"},
            '`network`: no effect with world="mpi"',
        ),
        ({"train": (TRAIN[0].astype(object), TRAIN[1])}, "train: an array of numbers is needed, not of object"),
        ({"train": (TRAIN[0], TRAIN[1].astype(str))}, "train: an array of numbers is needed, not of <U"),
        ({"test": Triples()}, r"test: item 0 must be \(input, label\), not a tuple of 3"),
        ({"score": lambda output, labels: 24.3}, "`score` returns the share of a batch .* 0 to 1, not 24.3"),
        ({"score": lambda output, labels: 1 / 0}, "first score of the validation part failed: .* ZeroDivisionErr"),
        ({"test": (TEST[0][:, :1], TEST[1])}, "the first score of the test part failed: .* RuntimeError: "),
        (
            {"train": FLOATS, "loss": lambda output, labels: (output[:, 0] - labels).square().mean()},
            "`score`: labels of type float32 are not classes, .* give `score`, or integer labels, or a ",
        ),
        ({"model": shared}, r"`model`: `0.weight` is that of another model .*copy.deepcopy"),
        ({"model": same}, "`model`: `0.weight` is that of another model .*copy.deepcopy"),
    ],
)
def test_a_bad_argument_is_named(changed, said):
    with pytest.raises(ArgumentError, match=said):
        hooke.compare(**PROPER | changed)


@pytest.mark.parametrize("argument", ["validation", "loss", "score"])
def test_a_workload_has_its_own(argument):
    with pytest.raises(ArgumentError, match=f"`{argument}`: no effect with `workload`, which has its own"):
        hooke.compare(METHODS, workload="digits-mlp", **QUICK, **{argument: TEST})


def test_an_unknown_workload_is_named():
    with pytest.raises(ArgumentError, match="^`workload`: no workload is called 'nope'"):
        hooke.compare(METHODS, workload="nope", **QUICK)


def test_whole_numbers_of_other_types():
    given = PROPER | {"methods": ["sgd"], "workers": np.int64(2), "samples": 1.6e2, "evaluate_every": 80.0}
    given |= {"seeds": np.array(1), "batch": np.float32(8), "first_seed": torch.tensor(3)}
    given |= {"target": np.float32(0.75), "seconds_per_sample": np.array(2e-5)}
    given |= {"communication": {"error_feedback": np.False_, "bucket_bytes": np.uint16(2048)}}
    spec = hooke.compare(**given).specification
    assert (spec.clusters[0].workers, spec.budget.samples, spec.evaluation.every) == ([2], 160, 80)
    assert (spec.clusters[0].seeds, spec.batch, spec.first_seed, spec.target.value) == (1, 8, 3, 0.75)
    assert spec.clusters[0].virtual.compute_seconds_per_sample == 2e-5
    sent = spec.variants[0].communication
    assert (sent.error_feedback, sent.bucket_bytes) == (False, 2048)
    assert hooke.Network("1Gb/s", jitter=np.float16(0.5)).jitter == 0.5


def test_float_labels_with_a_loss_as_target_need_no_score():
    given = {"loss": lambda output, labels: (output[:, 0] - labels).square().mean(), "metric": "loss"}
    parts = {"train": FLOATS, "test": (TEST[0], TEST[1].astype(float))}
    found = hooke.compare(**PROPER | given | parts | {"methods": ["sgd"], "samples": 160})
    assert str(found.runs[0].figures.state) == "succeeded"


def test_a_missing_package_is_named(monkeypatch):
    found = hooke.compare(**PROPER | {"methods": ["sgd"], "samples": 16, "evaluate_every": None})
    for module, ask in (("pandas", lambda: found.table), ("matplotlib.pyplot", found.plot)):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(ArgumentError, match=r"needs (pandas|matplotlib): pip install .*'engine\[notebook\]'"):
            ask()


@pytest.mark.parametrize(
    ("given", "bytes_per_second", "latency"),
    [
        (("1Gb/s",), 1.25e8, 50e-6),
        (("100 Mbit/s", "1ms"), 1.25e7, 1e-3),
        (("12.5GB/s", "700 ns"), 1.25e10, 0.7e-6),
        (("2.5 Gbps", "7.2 µs"), 3.125e8, 7.2e-6),
        (("10gbe",), 1 / 0.9e-9, 7.2e-6),
        (("FDR", "2us"), 5e9, 2e-6),
    ],
)
def test_the_units_of_a_network(given, bytes_per_second, latency):
    network = hooke.Network(*given)
    assert 1 / network.seconds_per_byte == pytest.approx(bytes_per_second)
    assert network.seconds_per_message == pytest.approx(latency)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("fast",), "`bandwidth` of a network is a rate such as .* not 'fast'"),
        (("1Gb",), "`bandwidth` of a network is a rate"),
        ((1e9,), "`bandwidth` of a network is a rate"),
        (("1e400Gb/s",), "`bandwidth` of a network is a rate"),
        (("0Gb/s",), "`bandwidth` of a network is a rate"),
        (("1.2.3Gb/s",), "`bandwidth` of a network is a rate"),
        (("1Gb/s", "50"), "`latency` of a network is a time such as .* not '50'"),
        (("1Gb/s", None, "slow"), "`to_server` of a network is a rate"),
        (("1Gb/s", None, None, np.True_), "`jitter` is a number, such as 0.05, not (np.)?True"),
    ],
)
def test_a_bad_unit_is_refused(given, said):
    with pytest.raises(ArgumentError, match=said):
        hooke.Network(*given)


def test_a_network_has_a_name_in_the_verdict():
    assert hooke.Network("1Gb/s", "50 µs").name == "1gb-s-50us"
    assert hooke.Network("1GB/s", "50us").name == "1gbyte-s-50us", "eight times as fast as 1Gb/s"
    assert hooke.Network("10GbE").name == "10gbe"


def test_importing_the_package_costs_nothing():
    light = loaded("-c", "import hooke; hooke.Network('1Gb/s')")
    assert light & (COMPUTE | WEB | {"numpy", "pydantic", "typer", "pandas", "matplotlib"}) == set()
    with pytest.raises(AttributeError, match="no attribute 'comparison_'"):
        hooke.comparison_  # noqa: B018 - reading it is the test
    assert set(hooke.__all__) <= set(dir(hooke))
    assert all(getattr(hooke, name) is not None for name in hooke.__all__)
