"""The launcher of a host list, on emulated hosts: over a real sshd, without ssh, and cut off the network."""

import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from hooke.calibration.starting import calibrate
from hooke.cluster import local_run
from hooke.cluster.launchers.hosts import HostsLauncher
from hooke.cluster.launchers.settings import HostsSettings
from hooke.cluster.processes import members
from hooke.spec.specification import RunSpec

from benchmarks.netlab.starting import AGENT
from tests.cluster.bench import PROGRAM, spec
from tests.waiting import wait_for

SSHD = """
Port 22
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
"""


class OnHostOne(HostsLauncher):
    """mpirun on the first host: this one has no link to the others."""

    def __init__(self, lab, agent, silent=30.0, mpirun=None):
        hosts = [{"address": lab.address(host)} for host in (1, 2)]
        settings = {"kind": "hosts", "hosts": hosts, "agent": agent, "silent_seconds": silent, "mpirun": mpirun}
        super().__init__(HostsSettings.model_validate(settings))
        self._lab = lab

    def command(self, launch):
        return self._lab.inside(1, super().command(launch))


@pytest.fixture(scope="module")
def ssh(lab, tmp_path_factory):
    """Return the command that reaches a host over ssh, from the first one."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("NOT TESTED HERE: sshd is not installed (package openssh-server)")
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd").write_text(SSHD.format(folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=2",
               "BatchMode=yes", f"IdentityFile={folder / 'key'}"]  # fmt: skip
    command = ["ip", "netns", "exec", lab.namespace(1), "ssh", "-F", "none"]
    command += [word for option in options for word in ("-o", option)]
    with ExitStack() as stack:
        for host in (1, 2):
            daemon = subprocess.Popen(lab.inside(host, [sshd, "-D", "-f", str(folder / "sshd")]))
            stack.callback(daemon.wait)
            stack.callback(daemon.kill)
        for host in (1, 2):
            wait_for(
                lambda h=host: subprocess.run([*command, lab.address(h), "true"], check=False).returncode == 0,
                "sshd",
            )
        yield tuple(command)


def started(folder, launcher, steps):
    run = RunSpec.model_validate(spec())
    local_run.prepare(folder, run)
    program = ("-m", "mpi4py", PROGRAM, "--steps", str(steps))
    return local_run.start(folder, run, program=program, launcher=launcher)


def finished(run):
    while run.poll():
        time.sleep(0.05)
    return run.finish()


def killers(attempt):
    named = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [line for line in named if attempt in line and "hooke.cluster.launchers.later" in line]


def test_ranks_run_on_hosts_without_ssh(lab, tmp_path):
    run = started(tmp_path / "run", OnHostOne(lab, ("env", f"NETLAB={lab.name}", str(AGENT))), 20)
    report = finished(run)
    assert report.state == "succeeded", report.why
    assert [run.witness.started[rank].host for rank in (0, 1)] == [f"{lab.name}-1", f"{lab.name}-2"]


def test_a_host_cut_off_in_mid_run_is_told_as_such_and_nothing_is_left(lab, ssh, tmp_path):
    launcher = OnHostOne(lab, ssh, silent=12.0)  # a busy machine keeps answers for seconds
    run = started(tmp_path / "run", launcher, 100_000)
    wait_for(lambda: run.poll() and run.witness.all_started and run.witness.stepped, "steps")
    assert [run.witness.started[rank].host for rank in (0, 1)] == [f"{lab.name}-1", f"{lab.name}-2"]
    assert "still running on host 10.77.0.2" in launcher.alive([run.folder.id])
    link = ["ip", "-n", lab.namespace(2), "link", "set", "eth0"]
    subprocess.run([*link, "down"], check=True)
    try:
        report = finished(run)
        assert (report.state, "host 10.77.0.2 has not answered" in report.why) == ("failed_infra", True), (
            report.why
        )
        assert "10.77.0.2 is unknown" in launcher.alive([run.folder.id]), "no proof of death without the host"
    finally:
        subprocess.run([*link, "up"], check=True)
    wait_for(lambda: launcher.alive([run.folder.id]) == "", "the end of every process", ignoring=(OSError,))
    assert members([run.folder.id]) == []
    wait_for(lambda: not killers(run.folder.id), "the end of the process that kills on the host cut off")


def test_a_calibration_measures_between_the_hosts_in_a_folder_that_both_see(lab, tmp_path):
    launcher = OnHostOne(lab, ("env", f"NETLAB={lab.name}", str(AGENT)))
    found = calibrate(2, [], 1, launcher, starts=1, place=tmp_path)
    assert (found.hosts, found.workers) == (2, 2)
    (point,) = [p for p in found.curve("message").points if p.bytes == 2 << 20]
    assert point.seconds > 0.9 * (2 << 20) * 8 / 400e6, "no faster than the link of 400 Mbit/s"
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_daemon_on_a_host_is_named(lab, tmp_path):
    """Open MPI's `orted` is told likewise, at 50 s of processor time: its ranks never sleep (decision 53)."""
    name = "hydra_pmi_proxy"
    launcher = OnHostOne(lab, ("env", f"NETLAB={lab.name}", str(AGENT)))
    run = started(tmp_path / "run", launcher, 100_000)
    wait_for(lambda: run.poll() and run.witness.all_started and run.witness.stepped, "steps")
    ids = [run.folder.id]
    daemon = next(p for p in map(psutil.Process, members(ids)) if p.name() == name)
    assert launcher.stopped(ids) == []
    daemon.suspend()
    try:
        told = launcher.stopped(ids)
        assert f"{name} (pid {daemon.pid}) is stopped by a signal on host 10.77.0.2" in told
    finally:
        daemon.kill()
        run.kill()
        assert run.finish().state == "failed_infra"
    wait_for(lambda: launcher.alive(ids) == "", "the end of every process")
