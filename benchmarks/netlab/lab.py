"""Emulated hosts on this machine.

A host is a network namespace `hooke-<lab>-<n>` with one interface `eth0`, 10.77.0.<n>, and a separate UTS
namespace for every program started there, so that `hostname` returns `<lab>-<n>`. All hosts are connected to a
bridge in the namespace `hooke-<lab>-switch`. Each link is shaped in both directions by a token bucket, at the host
and at the switch. Nothing is created outside of these namespaces, so deleting them deletes everything, and a later
start finds remains of an earlier one by their names.

A lab in use is locked by a file lock, which the kernel releases when its user dies.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = Path("/run/hooke-netlab")
PROGRAMS = ("ip", "tc", "unshare")
MOST_HOSTS = 200
BURST = "128kb"
"""Of a token bucket: two of the largest packets that the kernel hands over at once (64 kB)."""
QUEUE = "100ms"
PREFIX = "hooke"


class LabError(Exception):
    """An operation on the lab failed; the message contains the reason and the remedy."""


TRIAL = f"""
ip link add near type veth peer name far && ip link add bridge type bridge &&
tc qdisc add dev near root tbf rate 1gbit burst {BURST} latency {QUEUE}
"""
"""What a lab is made of, tried in a namespace that goes with the trial."""


@functools.cache
def lacking() -> str:
    """Return the reason why a lab is not possible here, or an empty string."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"{', '.join(missing)} not installed (packages iproute2 and util-linux)"
    if os.geteuid() != 0:
        return "emulated hosts are network namespaces, which only root may make: run this as root"
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--uts", "sh", "-c", TRIAL], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        return f"root, but without the rights or the kernel modules that a lab needs: {tried.stderr.strip()}"
    return ""


@dataclass(frozen=True)
class Traffic:
    """What hosts have sent. `frames` as the interfaces count it: a burst of segments has one header there.

    `wire` as the token bucket counts it, with the headers of every segment: what the rate applies to.
    """

    frames: int
    wire: int
    dropped: int

    def since(self, before: Traffic) -> Traffic:
        """Return what was added after `before`."""
        return Traffic(self.frames - before.frames, self.wire - before.wire, self.dropped - before.dropped)


@dataclass(frozen=True)
class Lab:
    """A set of hosts that is up: hosts are numbered from 1."""

    name: str
    hosts: int
    rate: str

    def namespace(self, host: int | str) -> str:
        """Return the name of a host's network namespace (`switch`: the bridge's)."""
        return f"{PREFIX}-{self.name}-{host}"

    @staticmethod
    def address(host: int) -> str:
        """Return a host's address."""
        return f"10.77.0.{host}"

    @property
    def bits_per_second(self) -> float:
        """Return the rate of a link in one direction."""
        return parse_rate(self.rate)

    def inside(self, host: int, command: Sequence[str]) -> list[str]:
        """Return the command line that runs `command` on a host; the process is replaced, never forked."""
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"{self.name}-{host}"]
        return ["ip", "netns", "exec", self.namespace(host), *named, *command]

    def traffic(self) -> dict[int, Traffic]:
        """Return what each host has sent so far."""
        return {host: self._sent(host) for host in range(1, self.hosts + 1)}

    def _sent(self, host: int) -> Traffic:
        link = json.loads(_run("ip", "-n", self.namespace(host), "-s", "-j", "link", "show", "dev", "eth0"))
        bucket = json.loads(_run("tc", "-n", self.namespace(host), "-s", "-j", "qdisc", "show", "dev", "eth0"))
        sent = link[0]["stats64"]["tx"]
        return Traffic(sent["bytes"], bucket[0]["bytes"], sent["dropped"] + bucket[0]["drops"])


def parse_rate(rate: str) -> float:
    """Return bits per second of `1gbit`, `200mbit`, `64kbit`; raises LabError for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(k|m|g)bit", rate)
    if not found or float(found[1]) <= 0:
        raise LabError(f"a rate is a number and kbit, mbit or gbit, as in 1gbit; not {rate!r}")
    return float(found[1]) * {"k": 1e3, "m": 1e6, "g": 1e9}[found[2]]


def up(hosts: int, rate: str, name: str = "lab") -> Lab:
    """Create the hosts, after removing the remains of an earlier lab of this name; call it with the lab locked."""
    if reason := lacking():
        raise LabError(reason)
    parse_rate(rate)
    if not 1 <= hosts <= MOST_HOSTS:
        raise LabError(f"between 1 and {MOST_HOSTS} hosts, not {hosts}")
    down(name)
    lab = Lab(name, hosts, rate)
    try:
        _build(lab)
    except BaseException:  # also Ctrl-C: remove an incomplete lab before passing it on
        down(name)
        raise
    _state(name).write_text(json.dumps(asdict(lab)))
    return lab


def _build(lab: Lab) -> None:
    switch = lab.namespace("switch")
    shape = f"root tbf rate {lab.rate} burst {BURST} latency {QUEUE}"
    _run(
        "ip", "-batch", "-", given=[f"netns add {lab.namespace(n)}" for n in ("switch", *range(1, lab.hosts + 1))]
    )
    wires, sockets = ["link add bridge type bridge", "link set bridge up"], []
    for host in range(1, lab.hosts + 1):
        wires += [
            f"link add port{host} type veth peer name eth0 netns {lab.namespace(host)}",
            f"link set port{host} master bridge up",
        ]
        sockets.append(f"qdisc add dev port{host} {shape}")
    _run("ip", "-n", switch, "-batch", "-", given=wires)
    _run("tc", "-n", switch, "-batch", "-", given=sockets)
    for host in range(1, lab.hosts + 1):
        plugs = [f"addr add {lab.address(host)}/24 dev eth0", "link set eth0 up", "link set lo up"]
        _run("ip", "-n", lab.namespace(host), "-batch", "-", given=plugs)
        _run("tc", "-n", lab.namespace(host), "-batch", "-", given=[f"qdisc add dev eth0 {shape}"])


def down(name: str = "lab") -> list[str]:
    """Kill every process on the lab's hosts and remove them, also incomplete ones.

    Return the removed namespaces.
    """
    namespaces = leftovers(name)
    until = time.monotonic() + 10
    while pids := [int(pid) for ns in namespaces for pid in _run("ip", "netns", "pids", ns).split()]:
        if time.monotonic() > until:
            raise LabError(f"processes {pids} on the hosts of {name!r} resist SIGKILL")
        for pid in pids:
            _kill(pid)
        time.sleep(0.02)
    for namespace in namespaces:
        _run("ip", "netns", "del", namespace)
    _state(name).unlink(missing_ok=True)
    return namespaces


def leftovers(name: str) -> list[str]:
    """Return the namespaces with the lab's name."""
    listed = [line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line.strip()]
    return [ns for ns in listed if re.fullmatch(rf"{PREFIX}-{re.escape(name)}-(switch|\d+)", ns)]


def find(name: str = "lab") -> Lab:
    """Return the lab that is up, or raise LabError."""
    if reason := lacking():
        raise LabError(reason)
    try:
        lab = Lab(**json.loads(_state(name).read_text()))
    except FileNotFoundError:
        raise LabError(f"no lab {name!r} is up: python -m benchmarks.netlab up --hosts 8 --rate 1gbit") from None
    there = set(leftovers(name))
    wanted = {lab.namespace(host) for host in ("switch", *range(1, lab.hosts + 1))}
    if not wanted <= there:
        raise LabError(f"lab {name!r} lacks {', '.join(sorted(wanted - there))}: take it down and up again")
    return lab


@contextmanager
def locked(name: str = "lab") -> Iterator[None]:
    """Lock the lab in the body. Raises LabError if it is in use."""
    if reason := lacking():
        raise LabError(reason)
    if not re.fullmatch(r"[a-z][a-z0-9]{0,19}", name):
        raise LabError(f"the name of a lab is up to 20 lower-case letters and digits, not {name!r}")
    HOME.mkdir(mode=0o700, exist_ok=True)
    with (HOME / f"{name}.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise LabError(f"lab {name!r} is in use by process {file.read().strip()}") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextmanager
def held(hosts: int, rate: str, name: str = "lab") -> Iterator[Lab]:
    """Create a lab for the body. A keeper process removes it at the end, also when this process is killed."""
    with locked(name):
        keeper = subprocess.Popen(
            [sys.executable, __file__, name], stdin=subprocess.PIPE, start_new_session=True, close_fds=True
        )
        try:
            yield up(hosts, rate, name)
        finally:
            down(name)
            keeper.communicate()  # it waits for the end of its input


def keep(name: str) -> None:
    """Wait until the process at the other end of stdin has ended, then remove its lab.

    If the lab is locked again, its holder or a successor removes it.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    with suppress(LabError), locked(name):
        down(name)


def _state(name: str) -> Path:
    return HOME / f"{name}.json"


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _run(*command: str, given: Sequence[str] = ()) -> str:
    done = subprocess.run(command, input="\n".join(given), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


if __name__ == "__main__":
    keep(sys.argv[1])
