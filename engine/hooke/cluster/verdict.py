"""Determines how an attempt ended, as a pure function of the evidence."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hooke.cluster.disk_faults import disk_fault
from hooke.cluster.tail import own_words
from hooke.cluster.witness import completed, lost
from hooke.spec.events import Done, RankExit, StateReport
from hooke.spec.retry import RetryCause
from hooke.spec.states import DIVERGED, USER_RAISED

RAISED = (USER_RAISED, DIVERGED)
LINES_QUOTED = 12
_TRACEBACK = "Traceback (most recent call last):"
_LAUNCHER = re.compile(r"^(\[[\w-]*\]:? *)?(PMIU?_|system msg for|:$|Fatal error in internal_)")
"""Lines of the launcher's library after a traceback, printed when the other ranks are ended."""
_ABORT = re.compile(r"^Abort\((\d+)\) on node (\d+)")
_HYDRA = re.compile(
    r"=\s+(?:RANK (\d+) )?PID (\d+) RUNNING AT (\S+)\s*\n=\s+(?:EXIT CODE|KILLED BY SIGNAL): (\d+)"
)
"""What MPICH's mpirun prints of the first process that ended; newer ones name the rank."""
_KILLED = re.compile(r"EXIT STRING: .*\(signal (\d+)\)|KILLED BY SIGNAL: (\d+)")
_OPEN_MPI = re.compile(r"process rank (\d+) with PID (\d+) on node (\S+) exited on\s+signal (\d+)")
_LONGEST = 2000

End = Literal["succeeded", "failed_user", "failed_infra", "cancelled", "timed_out"]


@dataclass(frozen=True)
class Outside:
    """An end for which neither the ranks nor Hooke are the cause."""

    how: Literal["limit", "cancelled", "infrastructure"]
    """The scheduler's time limit; a cancel by somebody else; the loss of a node, or anything of that kind."""
    why: str
    """A sentence with the scheduler's own words."""


@dataclass(frozen=True)
class Evidence:
    """The evidence on the end of one attempt."""

    ranks: int
    status: int | None
    """Status of mpirun, or of the guard of a virtual world; negative: the signal that ended it; None: unknown."""
    exits: Mapping[int, RankExit] = field(default_factory=dict)
    done: Mapping[int, Done] = field(default_factory=dict)
    logs: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The last lines of each rank's output."""
    host: str = ""
    cancelled: bool = False
    """Whether it was cancelled before it ended."""
    fenced: bool = False
    cause: str = ""
    """The failure that the supervisor itself detected."""
    cause_at: float = 0.0
    """When the failed process was last seen alive (monotonic); a rank that had ended by then failed first."""
    damaged: Mapping[int, str] = field(default_factory=dict)
    outside: Outside | None = None
    """The end that a scheduler made of it, if it did."""
    launcher: Sequence[str] = ()
    """The last lines of the launcher's own output, if no rank has ever started."""
    words: Sequence[str] = ()
    """The last lines of the launcher's own output, in any case."""
    left: Sequence[int] = ()
    """Processes that could not be killed."""


def faults(exits: Mapping[int, RankExit], done: Collection[int], dropped: Collection[int] = ()) -> list[RankExit]:
    """Return the abnormal exits of ranks, including status 0 before the rank was done.

    Not those by a signal of workers that were dropped: the run goes on without them.
    """
    wrong = [x for x in exits.values() if x.code != 0 or x.rank not in done]
    return [x for x in wrong if x.signal is None or x.rank not in dropped]


def judge(evidence: Evidence) -> StateReport:
    """Return the terminal report."""
    report = _judge(evidence)
    if evidence.launcher and report.state == "failed_infra":
        said = "\n".join(evidence.launcher)
        report = report.model_copy(update={"why": f"{report.why}\nThe launcher said:\n{said}"[:_LONGEST]})
    if evidence.left:
        pids = ", ".join(map(str, evidence.left))
        return report.model_copy(update={"why": f"{report.why}; processes that could not be killed: {pids}"})
    return report


def _judge(e: Evidence) -> StateReport:
    if e.fenced:
        return _report("failed_infra", "another attempt owns the run", e)
    together = e.status == 0 and len(e.done) + len(lost(e.done)) == e.ranks and not e.cause
    if together or completed(e.ranks, e.exits, e.done):
        return _as_meant(e)
    if e.cancelled or e.outside is not None:
        return _ended_by_others(e)
    fault = _first_fault(e)
    if e.cause and not (fault and fault.monotonic < e.cause_at):
        return _report("failed_infra", e.cause, e)
    if fault is None or (fault.signal is None and e.status in RAISED):
        return _without_witness(e, fault)
    return _by_rank(fault, e)


def _as_meant(e: Evidence) -> StateReport:
    reasons = {done.reason for done in e.done.values()}
    if "timed_out" in reasons:
        return _report("timed_out", "the wall limit was reached", e, exit_code=0)
    if "cancelled" in reasons and e.outside is not None and not e.cancelled:
        return _ended_by_others(e)
    if "cancelled" in reasons:
        why = "cancelled on request" if e.cancelled else "its processes were asked to end (SIGTERM)"
        return _report("cancelled", f"{why}; every process is gone", e, exit_code=0)
    why = "the target was reached" if "target" in reasons else "the budget of samples is used up"
    return _report("succeeded", why, e, exit_code=0)


def _ended_by_others(e: Evidence) -> StateReport:
    """Report an end on request, or by the scheduler; the ranks' own ends are its consequences."""
    if e.cancelled or e.outside is None:
        return _report("cancelled", "cancelled on request; every process is gone", e)
    together = len(e.done) + len(lost(e.done)) == e.ranks
    how = "its ranks ended together, with a checkpoint" if together else "its ranks did not end by themselves"
    states: dict[str, End] = {"limit": "timed_out", "cancelled": "cancelled", "infrastructure": "failed_infra"}
    cause: RetryCause | None = "time_limit" if e.outside.how == "limit" else None
    why = f"{e.outside.why}; {how}"
    return _report(states[e.outside.how], why, e, exit_code=0 if together else None, cause=cause)


def _first_fault(e: Evidence) -> RankExit | None:
    """Return the earliest abnormal exit; later ones are consequences, caused by the launcher."""
    first = min(faults(e.exits, e.done, lost(e.done)), key=lambda x: x.monotonic, default=None)
    if first is not None and (status := _abort_status(first.rank, e.logs.get(first.rank, ()))) is not None:
        return first.model_copy(update={"code": status, "signal": None})  # MPI may crash during an abort
    return first


def _by_rank(fault: RankExit, e: Evidence) -> StateReport:
    who = f"rank {fault.rank} on {fault.host}"
    lines = e.logs.get(fault.rank, ())
    if fault.signal is not None:
        return _report(
            "failed_infra", f"{who} was killed by {signal_name(fault.signal)}{_memory(fault)}", e, fault
        )
    if fault.code in RAISED:
        return _report(*_raised(fault.rank, lines, fault.host), e, fault)
    if fault.code != 0:
        return _report("failed_infra", _with_error(f"{who} ended with status {fault.code}", lines), e, fault)
    if fault.rank in e.damaged:
        return _report("failed_infra", f"the journal of {who} is damaged: {e.damaged[fault.rank]}", e, fault)
    why = f"{who} exited too early: status 0 without a `done` record"
    return _report("failed_infra", _with_error(why, lines), e, fault)


def _without_witness(e: Evidence, fault: RankExit | None) -> StateReport:
    """Report an end without exit records: MPI_Abort, a killed guard or a killed mpirun end all ranks at once.

    `fault`: the first abnormal exit, of ranks that have raised before there was an MPI to abort.
    """
    rank = aborted_rank(e.logs)
    if rank is None and fault is not None and _TRACEBACK in e.logs.get(fault.rank, ()):
        rank = fault.rank  # all have raised, as where none can load its library
    lines = e.logs.get(rank, ()) if rank is not None else ()
    if e.status in RAISED:
        return _report(*_raised(rank, lines, e.host), e, rank=rank, exit_code=e.status)
    if e.status is not None and e.status < 0:
        return _report("failed_infra", f"mpirun was killed by {signal_name(-e.status)}", e, signal=-e.status)
    if rank is not None:
        why = _with_error(f"rank {rank} ended all ranks with status {e.status}", lines)
        return _report("failed_infra", why, e, rank=rank, exit_code=e.status)
    missing = ", ".join(str(r) for r in range(e.ranks) if r not in e.done)
    if (killed := named_by_launcher(e.words)) is not None:
        why = f"{killed.what}, mpirun says; that left no `done` record of rank {missing}"
        return _report("failed_infra", why, e, rank=killed.rank, exit_code=e.status, signal=killed.signal)
    why = f"mpirun ended with status {e.status}; no guard lived to tell why rank {missing} left no `done` record"
    return _report("failed_infra", why, e, exit_code=e.status)


@dataclass(frozen=True)
class Named:
    """The process whose end the launcher gives as the cause."""

    what: str
    """A sentence without its end: which process, where, and how it ended."""
    rank: int | None
    signal: int | None


def named_by_launcher(words: Sequence[str]) -> Named | None:
    """Return the process that mpirun's own output names as the first that ended, or None.

    Ranks run under guards: mpirun knows the guard, whose death kills the rank. MPICH's Hydra names the process,
    Open MPI also the rank.
    """
    text = "\n".join(words)
    if found := _OPEN_MPI.search(text):
        who = f"the guard of rank {found[1]} (process {found[2]} on {found[3]})"
        return Named(f"{who} was killed by {signal_name(int(found[4]))}", int(found[1]), int(found[4]))
    found = _HYDRA.search(text)
    if found is None:
        return None
    rank = int(found[1]) if found[1] else None
    who = "a guard" if rank is None else f"the guard of rank {rank}"
    killed = _KILLED.search(text)
    number = int(killed[1] or killed[2]) if killed else None
    how = f"was killed by {signal_name(number)}" if number else f"ended with status {found[4]}"
    return Named(f"{who} (process {found[2]} on {found[3]}) {how}", rank, number)


def _memory(fault: RankExit) -> str:
    if not fault.memory_kills:
        return ""
    many = f"{fault.memory_kills} processes" if fault.memory_kills > 1 else "a process"
    return (
        f"; memory ran out on {fault.host}: the kernel killed {many} there while the rank ran. Fewer workers on a "
        "host, a smaller batch or a smaller model need less"
    )


def _abort_status(rank: int, lines: Sequence[str]) -> int | None:
    """Return the status with which a rank called MPI_Abort, from MPI's output."""
    found = [match for line in lines if (match := _ABORT.match(line)) and int(match[2]) == rank]
    return int(found[-1][1]) if found else None


def aborted_rank(logs: Mapping[int, Sequence[str]]) -> int | None:
    """Return the rank that called MPI_Abort, from MPI's output, otherwise the only one with a traceback."""
    for rank, lines in logs.items():
        if _abort_status(rank, lines) is not None:
            return rank
    raised = [rank for rank, lines in logs.items() if _TRACEBACK in lines]
    return raised[0] if len(raised) == 1 else None


def quote_error(rank: int | None, lines: Sequence[str]) -> str:
    """Return one sentence with the exception, followed by the end of its traceback."""
    who = "a rank" if rank is None else f"rank {rank}"
    trace = _traceback(lines)
    if not trace:
        return f"{who} raised and printed no traceback"
    head = next((line for line in reversed(trace) if line and not line.startswith(" ")), trace[-1])
    rest = trace[1:] if trace[0] == head else trace
    return "\n".join([f"{who} raised {head}", *rest[-LINES_QUOTED:]])[:_LONGEST]


def _raised(rank: int | None, lines: Sequence[str], host: str) -> tuple[End, str]:
    """Return state and reason of a rank that raised: a disk that takes nothing is no fault of its program."""
    why = quote_error(rank, lines)
    if told := disk_fault(_traceback(lines)[-LINES_QUOTED:], host or "its host"):
        return "failed_infra", f"{told}: {why}"[:_LONGEST]
    return "failed_user", why


def _with_error(why: str, lines: Sequence[str]) -> str:
    return "\n".join([why, *_traceback(lines)[-LINES_QUOTED:]])[:_LONGEST]


def _traceback(lines: Sequence[str]) -> list[str]:
    begun = max((i for i, line in enumerate(lines) if line == _TRACEBACK), default=len(lines))
    return own_words([each for each in lines[begun + 1 :] if not (_ABORT.match(each) or _LAUNCHER.match(each))])


def signal_name(number: int) -> str:
    """Return `SIGKILL (9)` for 9."""
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"


def _report(
    state: End,
    why: str,
    e: Evidence,
    fault: RankExit | None = None,
    *,
    exit_code: int | None = None,
    signal: int | None = None,
    rank: int | None = None,
    cause: RetryCause | None = None,
) -> StateReport:
    return StateReport(
        state=state,
        unix=time.time(),
        why=why,
        exit_code=fault.code if fault else exit_code,
        signal=fault.signal if fault else signal,
        rank=fault.rank if fault else rank,
        host=(fault.host if fault else e.host) or None,
        cause=cause,
    )
