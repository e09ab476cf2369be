"""Lists or kills the processes of attempts on the host where it runs: `python -m hooke.cluster.remote WHAT ID...`.

WHAT is `list` or `kill`. The launch agent of a host list runs it on every host, where /proc is that of the host.
It prints one line of JSON: {"host": ..., "pids": [...]}, the processes found, or those left after killing them.
"""

from __future__ import annotations

import json
import os
import sys

from hooke.cluster.processes import members, sweep


def main(arguments: list[str]) -> None:
    """List or kill, and print the answer."""
    what, *ids = arguments or [""]
    if what not in ("list", "kill") or not ids:
        sys.exit("usage: python -m hooke.cluster.remote (list | kill) ID...")
    pids = members(ids) if what == "list" else sweep(ids, mercy=0.0)
    sys.stdout.write(json.dumps({"host": os.uname().nodename, "pids": pids}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
