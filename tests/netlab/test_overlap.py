"""A transfer between hosts proceeds while both compute, by the kernel's count of what was sent."""

import json
import sys
from pathlib import Path

from benchmarks.netlab import running

PROGRAM = Path(__file__).with_name("overlap_program.py")
ELEMENTS = 1_724_320
"""Four times LeNet: headers then take longer than the shapers' two bursts can save, and no sum beats the wire."""
VECTOR = 4 * ELEMENTS


def test_a_transfer_between_hosts_proceeds_behind_the_gradient(lab, tmp_path):
    out = tmp_path / "found.json"
    status, _ = running.program(lab, 2, [sys.executable, "-m", "mpi4py", str(PROGRAM), str(out), str(ELEMENTS)])
    assert status == 0
    for rank in json.loads(out.read_text()):
        assert VECTOR < rank["sent behind the gradient"] < 1.1 * VECTOR, "halving sends one vector each way"
        assert rank["complete"]
        at_wire_speed = 8 * VECTOR / lab.bits_per_second
        assert at_wire_speed < rank["hidden"] < rank["computed"]
        assert (rank["host"], rank["machine"]) == (1, 2), "it shares its cores with the other host"
