"""All-reduces side by side: measured on real ranks, and compared within a round."""

import json
import sys

from benchmarks.netlab.running import program
from benchmarks.netlab.schedules import summary
from tests.checkout import ROOT


def test_every_schedule_and_gloo_are_measured_on_real_ranks(tmp_path):
    found, store = tmp_path / "found.json", tmp_path / "store"
    words = ["env", f"PYTHONPATH={ROOT}", "GLOO_SOCKET_IFNAME=lo", sys.executable, "-m", "mpi4py"]
    words += ["-m", "benchmarks.netlab.schedules", str(found), "--sizes", "4", "4096", "--rounds", "3"]
    status, _ = program(None, 2, [*words, "--gloo", str(store)])
    assert status == 0
    told = json.loads(found.read_text())
    assert told["ranks"] == 2
    assert {size: list(each) for size, each in told["seconds"].items()} == dict.fromkeys(
        ("4", "4096"), ["tree", "halving", "ring", "gloo"]
    )
    seconds = [each for of_size in told["seconds"].values() for of in of_size.values() for each in of]
    assert len(seconds) == 2 * 4 * 3 and min(seconds) > 0


def test_ratios_are_those_of_the_same_round():
    """A machine that is ten times as slow in one round changes the seconds, and no ratio."""
    seconds = {"tree": [0.002, 0.02, 0.002], "halving": [0.001, 0.01, 0.001]}
    tree, halving = summary({"4096": seconds})
    assert tree.endswith("2.000 ms  2.00x (2.00 to 2.00)")
    assert halving.endswith("1.000 ms  1.00x (1.00 to 1.00)")
