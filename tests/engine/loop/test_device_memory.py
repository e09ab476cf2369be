"""What fits in the memory of virtual devices: by hand, and runs whose batches are bounded by it."""

import numpy as np
import pytest
from hooke.catalogue.expand import expand, experiment_warnings
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.errors import SpecError
from hooke.loop.train import run_spec_virtual
from hooke.methods.split import by_speed
from hooke.spec.devices import PROFILES
from hooke.spec.journal import records

WEIGHTS, SAMPLE = 143_667_240, 2 * 4 * 30_000_000
"""VGG19: weights, as published, and bytes of a sample's activations and their gradients, as the workload says."""
PLAIN = {"latency": 1e-6, "seconds_per_byte": 0, "compute_seconds_per_sample": 1e-3, "compute_jitter": 0.1}


def spec(kinds, name="sync-sgd", batch=8, workload=None, steps=60, **parameters):
    return validate_run(
        {
            "workload": workload or {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
            "algorithm": {"name": name, "parameters": parameters},
            "workers": len(kinds),
            "world": "virtual",
            "virtual": PLAIN | {"devices": [{"kind": kind} for kind in kinds]},
            "batch": batch,
            "budget": {"samples": batch * steps},
            "evaluation": {"every": batch * steps},
        }
    )


def refused(*given, **keywords):
    with pytest.raises(SpecError) as caught:
        spec(*given, **keywords)
    return [fault.message for fault in caught.value.faults]


@pytest.mark.parametrize(("kind", "memory"), [("k80", 12e9), ("v100", 16e9), ("h100", 80e9)])
@pytest.mark.parametrize(("parameters", "vectors"), [({}, 4), ({"momentum": 0.9}, 5), ({"optimizer": "adamw"}, 7)])
def test_the_largest_batch_that_fits_is_accepted_and_one_more_is_not(kind, memory, parameters, vectors):
    """Weights, gradient twice, a message, and what the optimizer keeps."""
    fits = int((memory - vectors * 4 * WEIGHTS) // SAMPLE)
    vgg = {"name": "imagenet-vgg19"}
    assert spec(["cpu-28", kind], batch=fits, workload=vgg, **parameters).batch == fits
    (why,) = refused(["cpu-28", kind, kind], batch=fits + 1, workload=vgg, **parameters)
    needed = vectors * 4 * WEIGHTS + (fits + 1) * SAMPLE
    assert why.startswith(f"worker 1 ({kind}) needs about {needed:,} bytes")
    assert f"its device has {int(memory):,}: the largest batch that fits has {fits:,} samples" in why


def test_cpus_and_real_workers_have_no_such_bound():
    vgg = {"name": "imagenet-vgg19"}
    assert spec(["cpu-28", "cpu"], batch=4096, workload=vgg).batch == 4096


def needs(name, memory_of):
    """Return the bytes of a worker with some batches of 8 samples; digits with layers of 64, 4, 4 and 10."""
    weights, activations = 64 * 4 + 4 + 4 * 4 + 4 + 4 * 10 + 10, 64 + 2 * (4 + 4) + 10
    vectors = {"hogbatch": 6, "adaptive-sgd": 5, "weighted-sync-sgd": 5}[name]
    return 4 * weights * vectors + 8 * activations * 8 * memory_of


def small(monkeypatch, name, batches):
    """Give a v100 memory for so many batches of 8, and not for one more by a byte."""
    memory = needs(name, batches + 1) - 1
    monkeypatch.setitem(PROFILES, "v100", PROFILES["v100"]._replace(memory=memory))


def ended(folder, chosen):
    folder.mkdir()
    weights = run_spec_virtual(chosen, folder)[-1].weights
    first = [next(iter(records(folder / f"journal.{rank}.jsonl"))) for rank in range(chosen.workers)]
    return weights, [record.notes.get("batches that fit") for record in first]


def test_bounds_of_hogbatch_are_what_fits_and_the_journal_says_so(monkeypatch, tmp_path):
    given, told = ended(tmp_path / "given", spec(["cpu-28", "v100"], "hogbatch", largest_of=[16, 3]))
    assert told == [None, None]
    free, _ = ended(tmp_path / "free", spec(["cpu-28", "v100"], "hogbatch"))
    small(monkeypatch, "hogbatch", 3)
    bounded, told = ended(tmp_path / "bounded", spec(["cpu-28", "v100"], "hogbatch"))
    assert np.array_equal(bounded, given)
    assert not np.array_equal(free, given), "the bound has an effect"
    assert told == 2 * ["worker 1 (v100): at most 3 batches of 8 samples at once instead of 16, by its memory"]


def test_so_are_those_of_adaptive_sgd(monkeypatch, tmp_path):
    given, _ = ended(tmp_path / "given", spec(2 * ["v100"], "adaptive-sgd", largest=3, mega_batch=20))
    small(monkeypatch, "adaptive-sgd", 3)
    bounded, told = ended(tmp_path / "bounded", spec(2 * ["v100"], "adaptive-sgd", largest=8, mega_batch=20))
    assert np.array_equal(bounded, given)
    assert "worker 0 (v100): at most 3" in told[0] and "worker 1 (v100): at most 3" in told[0]


def test_sizes_that_are_given_and_do_not_fit_are_refused(monkeypatch):
    small(monkeypatch, "hogbatch", 3)
    assert spec(["v100", "cpu-28"], "hogbatch", sizes=[3, 16], alpha=1)
    for wrong in ({"sizes": [4, 1]}, {"sizes": [4, 1], "alpha": 1}):
        (why,) = refused(["v100", "cpu-28"], "hogbatch", **wrong)
        assert "worker 0 (v100) needs" in why
        assert f"its device has {needs('hogbatch', 4) - 1:,}" in why
    small(monkeypatch, "weighted-sync-sgd", 3)
    assert spec(["v100", "cpu-28"], "weighted-sync-sgd", sizes=[3, 5])
    assert "worker 0 (v100)" in refused(["v100", "cpu-28"], "weighted-sync-sgd", sizes=[4, 4])[0]


def test_a_measured_split_stays_within_what_fits(monkeypatch, tmp_path):
    """A v100 is about eight times as fast as the CPU, but three of the eight batches fit."""
    small(monkeypatch, "weighted-sync-sgd", 3)
    measured = {"split": "measured", "mean": 4}
    measured_split, _ = ended(tmp_path / "a", spec(["v100", "cpu-28"], "weighted-sync-sgd", steps=64, **measured))
    given, _ = ended(tmp_path / "b", spec(["v100", "cpu-28"], "weighted-sync-sgd", steps=64, sizes=[3, 5]))
    assert np.array_equal(measured_split, given)
    (why,) = refused(["v100", "v100"], "weighted-sync-sgd", **measured)
    assert "a step has 8 batches of 8 samples, but 6 fit" in why


def test_sizes_by_speed_within_bounds():
    assert by_speed([4, 1], 5) == by_speed([4, 1], 5, [8, 9]) == [8, 2]
    assert by_speed([4, 1], 5, [6, 9]) == [6, 4]
    assert by_speed([8, 1, 3], 4, [4, 9, 9]) == [4, 2, 6], "the others share by their speeds"
    assert by_speed([8, 4, 1], 4, [5, 4, 9]) == [5, 4, 3], "a second one may be above its bound then"
    assert by_speed([8, 1], 3, [3, 3]) == [3, 3]


def experiment(**parameters):
    return validate_experiment(
        {
            "name": "memory",
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
            "variants": [{"name": "a", "algorithm": "hogbatch", "parameters": parameters}],
            "baseline": "a",
            "batch": 8,
            "budget": {"samples": 1000},
            "evaluation": {"every": 500},
            "clusters": [{"name": "box", "computed_on": "local", "workers": [{"kind": "v100"}], "virtual": PLAIN}],
        }
    )


def test_an_experiment_is_refused_or_warned_of_as_its_runs(monkeypatch):
    small(monkeypatch, "hogbatch", 3)
    with pytest.raises(SpecError) as caught:
        expand(experiment(sizes=[4]), {"local": 4})
    (fault,) = caught.value.faults
    assert fault.pointer == "/variants/0/parameters"
    assert "the largest batch that fits has 31 samples" in fault.message
    chosen = experiment()
    warned = [each.message for each in experiment_warnings(chosen, expand(chosen, {"local": 4}))]
    assert any("at most 3 batches of 8 samples at once instead of 16" in each for each in warned)
