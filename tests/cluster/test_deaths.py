"""kill -9 of everything an MPI attempt consists of, and ranks that end wrongly by themselves."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from hooke.cluster.launchers.settings import LocalSettings
from hooke.cluster.processes import children
from hooke.cluster.runner import _PROXY_GRACE, PROXY
from hooke.cluster.witness import Witness

from tests.cluster.bench import BRIEF, Tree, kill9, only_child
from tests.waiting import wait_for

TWO_HOSTS = LocalSettings(options=("-hosts", "localhost:1,127.0.0.1:1"))
"""To mpirun these are two: each has a proxy with one rank."""


def started(bench, *options, **more):
    run, supervisor = bench.start("--steps", "100000", *options, **more)
    bench.running(run)
    return run, supervisor


def segments_of(pid):
    """Return the files of MPICH's shared memory that a process has mapped."""
    names = re.findall(r"/dev/shm/mpich_\S+$", Path(f"/proc/{pid}/maps").read_text(), re.MULTILINE)
    return {Path(name) for name in names}


@pytest.mark.parametrize(("victim", "rank"), [("rank", 0), ("rank", 1), ("guard", 0), ("witness", 1)])
def test_kill_of_any_rank_or_guard(bench, rank, victim):
    run, supervisor = started(bench)
    tree = Tree(supervisor.pid)
    segments = {name for pid in tree.ranks.values() for name in segments_of(pid)}
    kill9({"rank": tree.ranks, "guard": tree.guards, "witness": tree.witnesses}[victim][rank])
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "failed_infra"
    if victim == "rank":
        assert (end.rank, end.signal) == (rank, signal.SIGKILL)
        assert end.host and f"rank {rank}" in end.why and "SIGKILL" in end.why
    else:
        assert "a guard (process" in end.why and "was killed by SIGKILL (9), mpirun says" in end.why
    bench.assert_complete(run)
    assert segments and not any(name.exists() for name in segments), "MPICH's shared memory is left"


def test_kill_of_mpirun(bench):
    run, supervisor = started(bench)
    kill9(Tree(supervisor.pid).mpirun)
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, end.signal) == ("failed_infra", signal.SIGKILL)
    assert "mpirun was killed" in end.why
    bench.assert_complete(run)


def test_kill_of_hydras_proxy(bench):
    run, supervisor = started(bench)
    kill9(Tree(supervisor.pid).proxy)
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "failed_infra"
    assert "hydra_pmi_proxy" in end.why
    bench.assert_complete(run)


@pytest.mark.parametrize("which", [0, 1])
def test_kill_of_the_proxy_of_one_of_two_hosts(bench, which):
    """Of either: mpirun waits for the other one, and for the ranks that are left."""
    run, supervisor = started(bench, launcher=TWO_HOSTS)
    mpirun = wait_for(lambda: children(supervisor.pid, "mpirun"), "mpirun")[0]
    proxies = wait_for(lambda: len(found := children(mpirun.pid, PROXY)) == 2 and found, "both proxies")
    kill9(sorted(proxies, key=lambda each: each.pid)[which].pid)
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, PROXY in end.why) == ("failed_infra", True), end.why


def late(bench, run, *ranks):
    """Wait until these ranks, with the fault `late`, are done and have only to end."""
    wait_for(lambda: all((bench.folder(run).path / f"late.{r}").exists() for r in ranks), "ranks that linger")


def ended(bench, run, *ranks):
    """Wait until these ranks have ended with status 0."""
    witness = Witness(bench.folder(run), 2)
    wait_for(lambda: witness.exits().keys() >= set(ranks), f"the end of ranks {ranks}")
    assert all(witness.exits()[rank].code == 0 for rank in ranks)


def test_a_proxy_that_ends_with_its_ranks_before_those_of_another_host(bench):
    """As on hosts under load: the ranks of one take seconds longer to end than all others."""
    run, supervisor = bench.start("--fault", "1:end:late", launcher=TWO_HOSTS)
    late(bench, run, 1)
    mpirun = wait_for(lambda: children(supervisor.pid, "mpirun"), "mpirun")[0]
    ended(bench, run, 0)
    wait_for(lambda: len(children(mpirun.pid, PROXY)) == 1, "the end of the proxy of rank 0")
    time.sleep(1.5 * _PROXY_GRACE)  # the supervisor looks meanwhile, and must do nothing
    (bench.folder(run).path / "leave").touch()
    bench.finish(supervisor)
    assert bench.api.end(run).state == "succeeded", bench.api.end(run).why
    bench.assert_complete(run)


def test_kill_of_a_proxy_whose_ranks_have_completed(bench):
    run, supervisor = bench.start("--fault", "0:end:late", "--fault", "1:end:late")
    late(bench, run, 0, 1)
    proxy = Tree(supervisor.pid).proxy
    os.kill(proxy, signal.SIGSTOP)  # it does not notice how they end
    (bench.folder(run).path / "leave").touch()
    ended(bench, run, 0, 1)
    kill9(proxy)
    bench.finish(supervisor)
    assert bench.api.end(run).state == "succeeded", bench.api.end(run).why
    bench.assert_complete(run)


@pytest.mark.parametrize("rank", [0, 1])
def test_exit_0_too_early_is_a_failure(bench, rank):
    run, supervisor = bench.start("--steps", "100000", "--fault", f"{rank}:5:exit0")
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, end.rank, end.exit_code) == ("failed_infra", rank, 0)
    assert "exited too early" in end.why


def test_exit_0_that_mpirun_does_not_notice(bench):
    """Hydra waits forever for the others, which wait for it: always before MPI_Init, sometimes after it."""
    run, supervisor = bench.start("--fault", "0:birth:exit0")
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, end.rank, end.exit_code) == ("failed_infra", 0, 0)
    assert "exited too early" in end.why


@pytest.mark.parametrize("how", ["exit3", "abort3"])
def test_a_user_error_quotes_its_traceback(bench, how):
    run, supervisor = bench.start("--steps", "100000", "--fault", f"1:5:{how}")
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, end.rank, end.exit_code) == ("failed_user", 1, 3)
    assert end.why.startswith("rank 1 raised ValueError: the learning rate has gone for a walk")
    assert "rank_program.py" in end.why


def test_an_uncaught_exception_or_odd_status_is_infrastructure_with_its_words(bench):
    run, supervisor = bench.start("--steps", "100000", "--fault", "1:5:raise")
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, end.rank) == ("failed_infra", 1)
    assert "ValueError" in end.why


def test_a_crash_before_the_first_record(bench):
    run, supervisor = bench.start("--fault", "1:start:segv")
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, end.rank, end.signal) == ("failed_infra", 1, signal.SIGSEGV)
    assert "running" not in bench.api.states(run)


def test_children_of_ranks_are_swept(bench):
    run, supervisor = bench.start("--steps", "100000", "--fault", "1:5:deaf", timing=BRIEF)
    tree = Tree(supervisor.pid)
    wait_for(lambda: only_child(tree.ranks[1]), "the child of a rank")
    kill9(tree.ranks[0])
    bench.finish(supervisor)
    assert bench.api.end(run).rank == 0
