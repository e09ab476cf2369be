"""Makes the interpreter of a rank the client of a process that has imported PyTorch (tests/warm_ranks.py)."""

import os
import sys

if "NETLAB_WARM" in os.environ and sys.orig_argv[1:4] == ["-m", "mpi4py", "-m"]:
    sys.path.insert(0, os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - pathlib takes longer than the rest
    from benchmarks.netlab.warm import client

    client(sys.orig_argv[1:])
