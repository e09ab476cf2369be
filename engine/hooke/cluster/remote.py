"""Looks for the processes of attempts on the host where it runs: `python -m hooke.cluster.remote WHAT ID...`.

WHAT is `list`, `kill` or `stopped`. The launch agent of a host list runs it on every host, where /proc is that of
the host. It prints one line of JSON: {"host": ..., "pids": [...], "stopped": [...]}, the processes found, or those
left after killing them, and a sentence for each process that starts ranks and that a signal has stopped. With
`machine`, and no ID, it prints {"machine": ...}, the identity of the machine.
"""

from __future__ import annotations

import json
import os
import sys

from hooke.cluster.processes import members, stopped, sweep
from hooke.hardware.machine import machine


def main(arguments: list[str]) -> None:
    """List or kill, and print the answer."""
    what, *ids = arguments or [""]
    if what == "machine" and not ids:
        sys.stdout.write(json.dumps({"machine": machine()}) + "\n")
        return
    if what not in ("list", "kill", "stopped") or not ids:
        sys.exit("usage: python -m hooke.cluster.remote (machine | (list | kill | stopped) ID...)")
    answer = {
        "host": os.uname().nodename,
        "pids": sweep(ids, mercy=0.0) if what == "kill" else members(ids),
        "stopped": stopped(ids) if what == "stopped" else [],
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
