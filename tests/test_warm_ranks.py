"""What Hooke and its tests find of a rank in /proc is found of a fork that has its place."""

import json
import os
import signal
import subprocess
import sys

from tests import warm_ranks

TOLD = """
import json, os, signal, sys

def shown(name):
    return open(f"/proc/self/{name}").read().rstrip("\\0").split("\\0")

told = {
    "command": shown("cmdline"),
    "variables": dict(each.split("=", 1) for each in shown("environ")),
    "arguments": sys.argv[1:],
    "folder": os.getcwd(),
    "cores": sorted(os.sched_getaffinity(0)),
    "imported": "torch" in sys.modules,
}
print(json.dumps(told), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_fork_has_the_likeness_and_the_end_of_the_rank_that_it_is_for(tmp_path):
    (tmp_path / "told_by_a_rank.py").write_text(TOLD)
    core = min(os.sched_getaffinity(0))
    own = warm_ranks.environment()
    own |= {"PYTHONPATH": f"{own['PYTHONPATH']}:{tmp_path}", "HOOKE_ATTEMPT": "run_1.1"}
    command = [sys.executable, "-m", "mpi4py", "-m", "told_by_a_rank", "one"]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | own,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    told = json.loads(ended.stdout)
    assert told.pop("variables").items() >= (os.environ | own).items()
    assert told == {
        "command": command,
        "arguments": ["one"],
        "folder": str(tmp_path),
        "cores": [core],
        "imported": True,
    }
