"""Ideas that were tried beside methods: their limits, as own algorithms."""

import json
import os
import subprocess
import sys

from tests.checkout import ROOT

PROGRAM = """
import json, sys
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
made = json.load(sys.stdin)
told = []
for name, parameters in made:
    spec = {
        "schema": "hooke.run/1", "workload": {"name": "digits-mlp"}, "batch": 16, "workers": 2, "seed": 1,
        "algorithm": {"name": name, "parameters": {"lr": 0.2, **parameters}}, "world": "virtual", "virtual": {},
        "budget": {"samples": 1600}, "evaluation": {"every": 400},
    }
    outcomes = run_spec_virtual(validate_run(spec))
    told.append([outcomes[0].done.messages, [each.loss for each in outcomes[0].evaluations]])
json.dump(told, sys.stdout)
"""


def test_ideas_have_their_limits():
    """After every step the mean is that of equal workers; a growing period exchanges less, and begins alike."""
    runs = [
        *(("local-sgd", {"period": 1}), ("mean-local-sgd", {"period": 1})),
        *(("sync-easgd", {"period": 2}), ("mean-sync-easgd", {"period": 2})),
        *(("slowmo", {"period": 4}), ("growing-slowmo", {"period": 4})),
        *(("local-sgd", {"period": 4}), ("growing-local-sgd", {"period": 4})),
    ]
    own = os.environ | {"HOOKE_PATH": str(ROOT / "benchmarks" / "ideas"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, input=json.dumps(runs), capture_output=True, text=True, check=True, env=own, cwd=ROOT
    )
    plain, mean, center, workers, slow, growing, local, grown = json.loads(done.stdout)
    assert mean == plain
    assert workers[0] == center[0], "only what is evaluated differs"
    assert workers[1][0] == center[1][0]
    assert workers[1][1:] != center[1][1:]
    for constant, more in ((slow, growing), (local, grown)):
        assert 0 < more[0] < constant[0]
