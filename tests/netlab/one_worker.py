"""Train one worker by every peer and by Hooke's SGD, in one process; write all weights: one_worker.py FOLDER."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual

from benchmarks.peers.settings import METHODS, Settings
from benchmarks.peers.training import Worker

STEPS = 50
SETTINGS = Settings("plain", samples=16 * STEPS, every=16 * 25, target=None, lr=0.05, seed=3, period=4, warmup=20)


def main():
    folder = Path(sys.argv[1])
    found, evaluations = {}, {}
    for method in METHODS:
        place = folder / method
        place.mkdir()
        outcome = Worker(replace(SETTINGS, method=method), place, 0).train()
        assert outcome.steps == STEPS
        found[method], evaluations[method] = outcome.weights, [(s[0], s[2]) for s in outcome.evaluations]
    document = SETTINGS.spec().model_dump(mode="json", by_alias=True)
    document |= {
        "algorithm": {"name": "sgd", "parameters": {"lr": SETTINGS.lr}},
        "world": "virtual",
        "virtual": {},
    }
    (outcome,) = run_spec_virtual(validate_run(document))
    found["hooke"], evaluations["hooke"] = outcome.weights, [(s.samples, s.loss) for s in outcome.evaluations]
    initial = Worker(replace(SETTINGS, samples=16), folder, 0).objective.initial(SETTINGS.seed).numpy()
    np.savez(folder / "weights.npz", initial=initial, **found)
    np.savez(folder / "evaluations.npz", **{name: np.array(of) for name, of in evaluations.items()})


if __name__ == "__main__":
    main()
