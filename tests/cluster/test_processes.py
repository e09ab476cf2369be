"""The processes of an attempt, as /proc tells of them."""

import os
import signal
import subprocess

from hooke.cluster.processes import members, stopped

from tests.waiting import wait_for


def test_a_stopped_parent_of_an_attempts_processes_is_named_though_it_is_not_of_the_attempt():
    """Open MPI's daemon on another host: a launch agent starts it without the variables of the attempt."""
    script = "HOOKE_ATTEMPT=run_stopped.1 sleep 60 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as daemon:
        child = int(daemon.stdout.readline())
        try:
            wait_for(lambda: members(["run_stopped.1"]) == [child], "the child")
            assert stopped(["run_stopped.1"]) == []
            os.kill(daemon.pid, signal.SIGSTOP)
            wait_for(lambda: stopped(["run_stopped.1"]), "the state of its parent")
            assert stopped(["run_stopped.1"]) == [f"sh (pid {daemon.pid}) is stopped by a signal"]
        finally:
            os.kill(child, signal.SIGKILL)
            daemon.kill()
