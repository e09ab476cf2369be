"""Train one worker by every peer and by Hooke's SGD, in one process; write all weights: one_worker.py FOLDER."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual

from benchmarks.peers.settings import METHODS, Settings
from benchmarks.peers.training import Worker

STEPS = 50
SETTINGS = Settings("plain", samples=16 * STEPS, every=16 * 25, target=None, lr=0.05, seed=3, period=5, warmup=20)
OUTER = {"outer_lr": 1.0, "outer_momentum": 0.0}
"""With these, torchft's DiLoCo keeps what its worker has learnt."""
ADAMW = {"optimizer": "adamw", "lr": 0.0003, "weight_decay": 0.01}


def main():
    folder = Path(sys.argv[1])
    found, evaluations = {}, {}
    there = [method for method in METHODS if find_spec("torchft") or not method.startswith("torchft")]
    plays = {method: replace(SETTINGS, method=method, **OUTER) for method in there}
    plays["adamw"] = replace(SETTINGS, method="ddp", **ADAMW)
    for name, settings in plays.items():
        place = folder / name
        place.mkdir()
        outcome = Worker(settings, place, 0).train()
        assert outcome.steps == STEPS
        found[name], evaluations[name] = outcome.weights, [(s[0], s[2]) for s in outcome.evaluations]
    for name, parameters in {"hooke": {"lr": SETTINGS.lr}, "hooke-adamw": ADAMW}.items():
        document = SETTINGS.spec().model_dump(mode="json", by_alias=True)
        document |= {
            "algorithm": {"name": "sgd", "parameters": parameters},
            "world": "virtual",
            "virtual": {},
        }
        (outcome,) = run_spec_virtual(validate_run(document))
        found[name], evaluations[name] = outcome.weights, [(s.samples, s.loss) for s in outcome.evaluations]
    initial = Worker(replace(SETTINGS, samples=16), folder, 0).objective.initial(SETTINGS.seed).numpy()
    np.savez(folder / "weights.npz", initial=initial, **found)
    np.savez(folder / "evaluations.npz", **{name: np.array(of) for name, of in evaluations.items()})


if __name__ == "__main__":
    main()
