"""A transfer between hosts proceeds while both compute, by the kernel's count of what was sent."""

import json
import sys
from pathlib import Path

from benchmarks.netlab import running

PROGRAM = Path(__file__).with_name("overlap_program.py")
VECTOR = 4 * 431_080
BURST = 128 * 1024
"""What the shaper, when it has rested, lets through at once (`benchmarks.netlab.lab.BURST`)."""


def test_a_transfer_between_hosts_proceeds_behind_the_gradient(lab, tmp_path):
    out = tmp_path / "found.json"
    status, _ = running.program(lab, 2, [sys.executable, "-m", "mpi4py", str(PROGRAM), str(out)])
    assert status == 0
    for rank in json.loads(out.read_text()):
        assert VECTOR < rank["sent behind the gradient"] < 1.1 * VECTOR, "halving sends one vector each way"
        assert rank["complete"]
        least = 8 * (VECTOR - 2 * BURST) / lab.bits_per_second  # in either round a burst may have been let through
        assert least < rank["hidden"] < 0.5
        assert (rank["host"], rank["machine"]) == (1, 2), "it shares its cores with the other host"
