"""Warm hosts: a process on every emulated host that has imported PyTorch, of which each rank of a run is a fork.

    with warm.kept(lab):
        ...                      runs on the lab's hosts (`starting.command`) begin without imports

A start of eight ranks costs 4 to 5 s of imports, as long as a short run trains. What a rank computes, sends and
times is the same: mpirun, its proxies and the guards start as ever; in place of `python -m MODULE ...` a guard
starts a client, which hands its descriptors, environment and folder to the process of its host and ends as the
fork ends. The processes, and so the ranks, are pinned to a core each, in turn; they go with this program.

    python -SE benchmarks/netlab/warm.py -m MODULE ...       the client, in the environment of a rank
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from benchmarks.netlab.lab import Lab

FOLDER = "NETLAB_WARM"
"""Environment variable: the folder with the sockets of the hosts' processes; without it ranks start as ever."""
MODULES = (
    *(
        "hooke.loop.train",
        "hooke.comm.wrappers.timed",
        "hooke.workloads.fashion_lenet",
        "benchmarks.peers.training",
    ),
    *("torch.nn.parallel", "torch.distributed.optim", "torch.distributed.algorithms.ddp_comm_hooks.default_hooks"),
    *("torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook", "scipy.special", "numba", "pydantic"),
    "torch.distributed.algorithms.model_averaging.hierarchical_model_averager",
)
"""Imported before the forks where they are installed; never `mpi4py.MPI`, whose import begins MPI."""
PASSED = "PMI_FD"
"""Environment variable with a descriptor that a rank inherits beside its standard streams."""
ABOVE = 100
"""Received descriptors are moved to numbers from here before they get their own."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
LENGTH = 4


def client(arguments: Sequence[str]) -> NoReturn:
    """Run a program in a fork of the process of this host; end as it ends."""
    descriptors = [0, 1, 2, *([int(os.environ[PASSED])] if os.environ.get(PASSED, "").isdigit() else [])]
    asked = {"arguments": list(arguments), "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109
    asked |= {"descriptors": descriptors, "cores": sorted(os.sched_getaffinity(0))}
    text = json.dumps(asked).encode()
    path = f"{os.environ[FOLDER]}/{os.uname().nodename}"
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(path)
        socket.send_fds(there, [len(text).to_bytes(LENGTH, "big")], descriptors)
        there.sendall(text)
        for number in FORWARDED:  # before, they mean to this process what they mean to an interpreter that starts
            signal.signal(number, lambda number, _: there.sendall(bytes([number])))
        told = there.recv(LENGTH)
    code = int.from_bytes(told, "big", signed=True) if len(told) == LENGTH else 1
    if code < 0:
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def serve(path: str, core: int | None, parent: int, modules: Sequence[str] = MODULES) -> dict[str, Any]:
    """Serve clients of this host until its parent ends; in a fork, return what it is to run.

    Without a `core` to be pinned to, forks may use the cores of their clients.
    """
    import gc
    import importlib

    from hooke.cluster.guard import die_with_parent
    from hooke.hardware import affinity

    die_with_parent(signal.SIGKILL, parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that keeps it
    if core is not None:
        affinity.pin({core})
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()
    awake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asking = socket.socket(socket.AF_UNIX)
    asking.bind(f"{path}.new")
    asking.listen()
    os.rename(f"{path}.new", path)  # noqa: PTH104 - strings, as in the client
    clients: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([awake, asking, *clients.values()], [], [])
        if asking in ready:
            there, _ = asking.accept()
            if (request := _received(there)) is None:
                there.close()
                continue
            asked, descriptors = request
            server = os.getpid()
            pid = os.fork()
            if pid == 0:
                die_with_parent(signal.SIGKILL, server)
                _become(asked, descriptors, [awake, wake, asking.detach(), there.detach()], clients)
                if core is None:
                    os.sched_setaffinity(0, asked["cores"])
                return asked
            clients[pid] = there
            for each in descriptors:
                os.close(each)
        for pid, one in list(clients.items()):
            if one in ready:
                for number in _signals(one):
                    os.kill(pid, number)  # not yet waited for: its pid cannot have been reused
        _ended(awake, clients)


def _received(there: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return what a client asks for, and its descriptors; None if it ended before it had asked."""
    descriptors: list[int] = []
    with contextlib.suppress(OSError):
        head, descriptors, _, _ = socket.recv_fds(there, LENGTH, 8)
        left, text = int.from_bytes(head, "big"), b""
        while len(text) < left and (more := there.recv(left - len(text))):
            text += more
        if text and len(text) == left:
            return json.loads(text), descriptors
    for each in descriptors:
        os.close(each)
    return None


def _signals(one: socket.socket) -> bytes:
    """Return the signals that a client forwards; SIGKILL of one that has ended, also if it left words unread."""
    try:
        return one.recv(64) or bytes([signal.SIGKILL])
    except OSError:
        return bytes([signal.SIGKILL])


def _ended(awake: int, clients: dict[int, socket.socket]) -> None:
    """Tell the clients of forks that have ended how they ended."""
    with contextlib.suppress(BlockingIOError):
        os.read(awake, 4096)
    for pid in list(clients):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            with clients.pop(pid) as there, contextlib.suppress(OSError):
                there.sendall(os.waitstatus_to_exitcode(status).to_bytes(LENGTH, "big", signed=True))


def _become(asked: dict[str, Any], received: list[int], own: list[int], clients: dict[int, socket.socket]) -> None:
    """Take the descriptors, the environment and the folder of a client, in a new session."""
    import fcntl

    signal.set_wakeup_fd(-1)
    for number in (*FORWARDED, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGUSR1 else signal.SIG_DFL)
    for each in (*own, *(there.detach() for there in clients.values())):
        os.close(each)
    os.setsid()
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD, ABOVE) for each in received]
    for each in received:
        os.close(each)
    for each, wanted in zip(moved, asked["descriptors"], strict=True):
        os.dup2(each, wanted)
        os.close(each)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])


def program(asked: dict[str, Any]) -> None:
    """Run `-m MODULE argument...` as Python would."""
    import runpy

    _, module, *arguments = asked["arguments"]
    further = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [each for each in further if each and each not in sys.path]
    for name in (module, *arguments):
        if name in MODULES:
            sys.modules.pop(name, None)  # it runs as `__main__`, and nothing imports it
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def instead(words: Sequence[str]) -> list[str]:
    """Return the command of a rank with a client in place of its last Python, where hosts are warm."""
    found = list(words)
    if FOLDER in os.environ:
        at = len(found) - 1 - found[::-1].index(sys.executable)
        found[at + 1 : at + 1] = ["-SE", os.path.abspath(__file__)]  # noqa: PTH100
    return found


@contextlib.contextmanager
def kept(lab: Lab, patience: float = 120.0) -> Iterator[None]:
    """Keep a process on every host of a lab during the body; raise LabError if one does not come up."""
    import subprocess
    import tempfile
    import time
    from pathlib import Path

    from benchmarks.netlab.lab import LabError
    from benchmarks.netlab.starting import environment

    cores = sorted(os.sched_getaffinity(0))
    own = environment(lab, os.environ) | {"PYTHONUNBUFFERED": "1", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory(prefix="hooke-warm-") as folder:
        paths = [Path(folder) / f"{lab.name}-{host}" for host in range(1, lab.hosts + 1)]
        started = list[subprocess.Popen[bytes]]()
        for host, path in enumerate(paths, 1):
            words = [sys.executable, "-m", "benchmarks.netlab.warm", "--serve", str(path)]
            words += [str(cores[(host - 1) % len(cores)]), str(os.getpid())]
            started.append(subprocess.Popen(lab.inside(host, words), env=own, stdin=subprocess.DEVNULL))
        try:
            until = time.monotonic() + patience
            while not all(path.exists() for path in paths):
                if time.monotonic() > until or any(each.poll() is not None for each in started):
                    raise LabError("the warm processes of the hosts did not come up: see their messages above")
                time.sleep(0.05)
            os.environ[FOLDER] = folder
            yield
        finally:
            os.environ.pop(FOLDER, None)
            for each in started:
                each.kill()
                each.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        program(serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        client(sys.argv[1:])
