"""Records of the comparison of output layers, made up."""

from benchmarks.slide.conditions import FULL, PROBLEMS, SPACES

FINNA = PROBLEMS["finna-yso-en"]
FURTHER = {"p_at_3": 0.05, "table_recall": 0.4, "table_stored": 1.0, "active_labels": 1000.0}
FURTHER |= {"bucket_largest": 90.0, "bucket_mean": 41.0, "table_builds": 5.0, "table_seconds": 0.5}


def result(seconds, samples=48_000, missed=False):
    """A run that met its target in its last evaluation, or missed it; evaluations 1% before one another."""
    ends = [0.99, 1.0]
    scored = [{"samples": int(samples * s), "train_seconds": seconds * s, "further": FURTHER} for s in ends]
    return {
        "state": "succeeded",
        "diverged": False,
        "time_to_target": None if missed else seconds,
        "samples_to_target": None if missed else samples,
        "validation_accuracy": 0.08 if missed else 0.11,
        "test_accuracy": 0.1,
        "test_further": FURTHER,
        "samples": samples,
        "train_seconds": seconds,
        "evaluations": scored,
    }


def record(layer, seed, seconds, *, rung=None, busy=0.0, **changes):
    return {
        "problem": FINNA.name,
        "size": "first",
        "target": 0.1,
        "trials": 6,
        "layer": layer,
        "trial": 1,
        "rung": rung,
        "seed": seed,
        "setting": {"lr": 0.123456},
        "edges": ["lr"],
        "hardware": {"cpu": "x", "cores": 2, "generation": None, "bf16": "emulated"},
        "commit": "0",
        "machine_ms": 2.0,
        "busy": busy,
        "result": result(seconds, **changes),
    }


def records(seconds, **changes):
    """Three seeds of layers with these typical times."""
    return [
        record(layer, seed, typical * factor, **changes)
        for layer, typical in seconds.items()
        for seed, factor in enumerate((0.97, 1.0, 1.02))
    ]


def tried(layer, trial, rate, samples, rung=0, **further):
    found = record(layer, 1_000_003, 5.0, rung=rung, samples=samples or 1, missed=samples is None)
    found["result"]["evaluations"][-1]["further"] = {**FURTHER, **further}
    return {**found, "trial": trial, "setting": {"lr": rate}}


def sized(run, beside=100):
    """A record of the present spaces; with a set, unless it is of the layer `full`."""
    setting = run["setting"] if run["layer"] == FULL else {**run["setting"], "beside": beside}
    document = {"workload_settings": {"active": FINNA.own + beside}}
    return {**run, "spaces": SPACES, "setting": setting, "document": document}
