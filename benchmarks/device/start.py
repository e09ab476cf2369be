"""Seconds that a rank takes before its first step: imports, the device, the model, the recorded gradient.

Each in a process of its own, in which it is the first: the difference of two lines is what the second one adds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

WAYS = {
    "python": "pass",
    "import torch": "import torch",
    "import hooke.loop.train": "import hooke.loop.train",
    "device": "import torch; torch.ones(1, device={device!r}).sum().item()",
    "model": (
        "from hooke.catalogue.workload import Place, workload; from hooke.spec.specification import Compute\n"
        "o = workload('digits-mlp')().build(Place(Compute(device={device!r})))\n"
        "w, g = o.initial(0), o.allocate()\n"
        "o.bind(w, g)"
    ),
    "recorded gradient": "\no.warm(64)",
    "first steps": "\nfor _ in range(5): o.gradient(o.pick(range(64)))",
}


def measure(device: str) -> Iterator[dict[str, Any]]:
    model = WAYS["model"]
    for name, code in WAYS.items():
        whole = model + code if code.startswith("\n") else code
        began = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-c", whole.format(device=device)], check=False, capture_output=True, text=True
        )
        found = {"way": name, "seconds": time.perf_counter() - began}
        yield found | ({"error": ended.stderr[-300:]} if ended.returncode else {})
