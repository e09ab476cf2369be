"""Peers: other implementations, on the same emulated hosts, data order, model and target.

    python -m benchmarks.netlab up --hosts 8 --rate 1gbit
    python -m benchmarks.peers --method ddp|post-local|hierarchical|mpi4py --hosts 8 --seed 0 --lr 0.1 [--out FILE]
    python -m benchmarks.peers --method plain

Prints (or writes) one JSON object with the fields of `hooke run --json`; values that a peer cannot provide are
null. `--here`: ranks on this machine, without emulated hosts. Needs HOOKE_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

from benchmarks.netlab import lab as labs
from benchmarks.peers.running import run
from benchmarks.peers.settings import METHODS, Settings


def main() -> int:
    """Run one peer once; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--hosts", type=int, default=1, help="workers, one on each emulated host")
    parser.add_argument("--here", action="store_true", help="on this machine instead")
    parser.add_argument("--name", default="lab", help="of the lab")
    parser.add_argument("--out", type=Path, help="write the result there instead of printing it")
    for field in fields(Settings):
        if field.name not in ("method", "workers"):
            kind = type(field.default)
            parser.add_argument(f"--{field.name}", type=kind, default=field.default)
    options = parser.parse_args()
    settings = Settings(
        **{f.name: getattr(options, f.name) for f in fields(Settings) if f.name != "workers"}
        | {"workers": options.hosts}
    )
    here = options.here or settings.method == "plain"
    try:
        with contextlib.nullcontext() if here else labs.locked(options.name):
            lab = None if here else labs.find(options.name)
            with tempfile.TemporaryDirectory(prefix="hooke-peer-") as folder:
                found = run(settings, lab, Path(folder))
    except labs.LabError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    text = json.dumps(found)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n")
    else:
        print(text)
    return 0 if found["state"] == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
