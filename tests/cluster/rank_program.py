"""A rank for tests of the cluster side: writes a journal as hooke.loop.train does, and misbehaves on order.

    python -m mpi4py rank_program.py [--steps N] [--pause S] [--fault RANK:STEP:WHAT] FOLDER...

Step i of rank r has loss 100 * r + i, so a test can tell a lost, doubled or mixed up point. Virtual specs run in
this one process, all ranks in turn, as a batch of folders; real ones run as hooke.loop.train runs them. A file
`enough` in a folder ends a run as its budget would, so that a test decides when, however slow the machine is.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

from hooke.loop.flag import Flag
from hooke.loop.output import write_output_to
from hooke.trace.phases import PHASES
from plain_journal import PlainJournal  # beside this file, which is run by its path

stop = Flag()
requested = []  # a signal that asks for a checkpoint, each


def start(writer, world, ranks):
    clocks = {"unix": time.time(), "monotonic": time.monotonic()}
    told = {"host": os.uname().nodename, "pid": os.getpid(), "world": world, "ranks": ranks, **clocks}
    writer.record("start", role="worker", oversubscribed=False, **told)


def done(writer, reason, step):
    figures = dict.fromkeys(("hidden", "payload", "wire", "messages"), 0)
    phases = dict.fromkeys(PHASES, 0.0)
    writer.record("done", reason=reason, step=step, samples=step, clock=1, wall=1, phases=phases, **figures)


def scored(writer, step):
    numbers = dict.fromkeys(("clock", "wall", "loss", "accuracy", "seconds"), 0.5)
    writer.record("evaluation", step=step, samples=step, reached=False, **numbers)


def checkpoint(writer, step):
    file = {"path": f"checkpoints/{step}", "bytes": 1, "sha256": "0" * 64}
    writer.record("checkpoint", step=step, samples=step, **file)


def row(rank, i):
    return (i, i, i * 0.1, i * 0.1, 100 * rank + i, *[0.0] * len(PHASES), 0.0, 0, 0, 0)


def misbehave(what, rank=0):
    match what:
        case "exit0":
            os._exit(0)
        case "exit4":
            os._exit(4)
        case "raise":
            raise ValueError("the learning rate has gone for a walk")
        case "abort3":
            from mpi4py import MPI

            try:
                raise ValueError("the learning rate has gone for a walk")
            except ValueError:
                import traceback

                traceback.print_exc()
                sys.stderr.flush()
                MPI.COMM_WORLD.Abort(3)
        case "exit3":
            try:
                raise ValueError("the learning rate has gone for a walk")
            except ValueError:
                import traceback

                traceback.print_exc()
                sys.stderr.flush()
                os._exit(3)
        case "segv":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.fork()  # a child of the rank, as a data loader would have
            time.sleep(600)
        case "linger":  # until it is cancelled, and for as long as twenty looks of the supervisor
            while not (Path(options.folders[0]) / "cancel").exists():
                time.sleep(0.01)
            time.sleep(1)
        case "late":  # done, and taken leave of MPI, but here until it is let go
            from mpi4py import MPI

            MPI.Finalize()
            folder = Path(options.folders[0])
            (folder / f"late.{rank}").touch()
            while not (folder / "leave").exists():
                time.sleep(0.01)
            os._exit(0)
        case "garbage":
            (Path(options.folders[0]) / f"journal.{rank}.jsonl").open("a").write("{half a rec\n")
        case "litter":  # as users' code may, in the folder in which it starts
            folder = Path(options.folders[0])
            (folder / "journal.notes.jsonl").write_text("this is mine\n")
            (folder / "journal.7.jsonl").write_text("{}\n")
            (folder / "journal.8.jsonl").symlink_to("journal.8.jsonl")
            (folder / "segments.9").write_bytes(b"/dev/shm/mpich_\0x")
        case "escape":
            if os.fork():
                return
            os.setsid()
            if os.fork():
                os._exit(0)
            (Path(options.folders[0]) / "escaped").write_text(f"{os.getpid()}\n")
            os.closerange(0, 4096)  # mpirun would wait for who holds them
            os.execve("/bin/sleep", ["sleep", "600"], {})
        case "flood":
            for i in range(20000):
                print(f"line {i} " + "x" * 200)
            print("y" * 20000)


REASONS = (None, "budget", "cancelled")


def reason_to_stop(folder):
    """Return the number of the reason for which a run ends now."""
    return 2 if stop.is_set() else int((folder / "enough").exists())


def agreed_reason(comm, folder):
    """Return rank 0's reason on every rank; sleeps instead of spinning."""
    found = bytearray([reason_to_stop(folder)])
    request = comm.Ibcast(found, 0)
    while not request.Test():
        time.sleep(0.002)
    return REASONS[found[0]]


def faults_at(rank, step):
    return [f.split(":")[2] for f in options.fault if f.startswith(f"{rank}:{step}:")]


def run_mpi(folder, comm):
    rank = comm.rank
    writer = PlainJournal(folder / f"journal.{rank}.jsonl")
    for what in faults_at(rank, "start"):
        misbehave(what, rank)
    start(writer, "mpi", comm.size)
    print(f"rank {rank} of {comm.size} is here")
    i, reason = 0, "budget"
    while i < options.steps:
        i += 1
        writer.step(row(rank, i))
        if rank == 0 and i % 10 == 0:
            scored(writer, i)
        if requested:  # every rank says that it was told
            requested.pop()
            checkpoint(writer, i)
        for what in [*faults_at(rank, i), *faults_at(f"{folder.parent.name}/{rank}", i)]:
            misbehave(what, rank)
        time.sleep(options.pause)
        if found := agreed_reason(comm, folder):
            reason = found
            break
    done(writer, reason, i)
    writer.close()


def run_virtual(folder, ranks):
    writers = [PlainJournal(folder / f"journal.{r}.jsonl") for r in range(ranks)]
    for writer in writers:
        start(writer, "virtual", ranks)
    print(f"working on {folder.parent.name}")
    i, reason = 0, "budget"
    while i < options.steps:
        i += 1
        for rank, writer in enumerate(writers):
            writer.step(row(rank, i))
        if requested:
            requested.pop()
            checkpoint(writers[0], i)
        for what in faults_at(folder.parent.name, i):
            misbehave(what, rank)
        time.sleep(options.pause)
        if found := REASONS[reason_to_stop(folder)]:
            reason = found
            break
    for writer in writers:
        done(writer, reason, i)
        writer.close()
    for what in faults_at(folder.parent.name, "done"):
        misbehave(what)


parser = argparse.ArgumentParser()
parser.add_argument("folders", nargs="+", type=Path)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--pause", type=float, default=0.02)
parser.add_argument("--fault", action="append", default=[])
options = parser.parse_args()
for what in faults_at(int(os.environ.get("PMI_RANK", "0")), "birth"):  # before MPI knows it
    misbehave(what)
signal.signal(signal.SIGTERM, lambda *_: stop.set())
signal.signal(signal.SIGUSR1, lambda *_: requested.append(True))


def spec_of(folder):
    return json.loads((folder / "spec.json").read_text())


SERVERS = {"sync-sgd": 0, "sync-easgd": 0, "original-easgd": 1}
"""To ask the catalogue takes longer than these runs do."""


def ranks_of(folder):
    spec = spec_of(folder)
    return spec["workers"] + SERVERS[spec["algorithm"]["name"]]


def run_real():
    from hooke.loop.in_turn import run_in_turn

    run_in_turn(options.folders, stop.is_set, ranks_of, run_mpi)


real = spec_of(options.folders[0])["world"] == "mpi"
if real:
    run_real()
    for what in faults_at(rank := int(os.environ.get("PMI_RANK", "0")), "end"):
        misbehave(what, rank)
for folder in options.folders if not real else ():
    if stop.is_set():
        break
    if (folder / "cancel").exists():
        continue
    if len(options.folders) > 1:
        write_output_to(folder)
    for what in faults_at(folder.parent.name, "before"):
        misbehave(what)
    run_virtual(folder, ranks_of(folder))
