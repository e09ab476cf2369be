"""Steps and copies on a CUDA device: `python -m benchmarks.device [--seconds S] [--out FILE] [PART...]`.

Parts: `steps`, the loop of one rank against plain PyTorch; `copies`, vectors to the host and back; `start`, what a
rank takes before its first step. Each measurement is a line of JSON in FILE as soon as it is there. After S
seconds nothing more is begun. `--device cpu` tries the program where there is no device; its figures say nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from hooke.hardware.description import describe

from benchmarks.common.records import add
from benchmarks.device import copies, start, steps

PARTS = {"steps": steps.measure, "copies": copies.measure, "start": start.measure}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.device", description="Measure a CUDA device.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=120.0, help="begin nothing after so many")
    parser.add_argument("--out", type=Path, default=Path(".results/device/device.jsonl"))
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        sys.exit(f"there is no part called {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")
    until = time.monotonic() + options.seconds
    hardware, versions = describe()
    add(options.out, {"part": "machine", "unix": time.time(), **about(options.device), **hardware, **versions})
    for name in options.parts or PARTS:
        for found in PARTS[name](options.device):
            add(options.out, {"part": name, **found})
            print(name, *(f"{key} {shown(value)}" for key, value in found.items()), sep="  ", flush=True)
            if time.monotonic() > until:
                print(f"the time is over: {name} and what follows is not complete", flush=True)
                return 0
    return 0


def about(device: str) -> dict[str, Any]:
    """Return what identifies the device."""
    import torch

    if device == "cpu":
        return {"device": "cpu"}
    found = torch.cuda.get_device_properties(0)
    return {"device": found.name, "device_memory": found.total_memory, "cuda": torch.version.cuda}


def shown(value: Any) -> str:
    """Return a value for people."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
