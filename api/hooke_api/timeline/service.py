"""Answers about timelines: a window at the resolution that is asked for, bounded in size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from hooke.spec.states import TERMINAL
from hooke.trace.export import pieces
from hooke.trace.phases import PHASES
from sqlalchemy.orm import Session, undefer

from hooke_api.base.errors import ResourceNotFound
from hooke_api.models import Run
from hooke_api.storage.present import check_present
from hooke_api.timeline.columns import COMPUTE, Floats, Indices, RankColumns, Trace
from hooke_api.timeline.merging import inside, operation_of, shares
from hooke_api.timeline.schemas import MeetingsView, MessagesView, RankTimeline, StragglerView, TimelineView
from hooke_api.timeline.store import Timeline, TimelineStore

MOST_SHARES = 400_000
"""Maximum number of shares of a response, over ranks, phases and bins: 1.5 MB of JSON."""
LEAST_BINS = 8
SLICES_PER_BIN = 2
"""Slices of a rank per bin up to which they are returned as they are."""
MOST_SLICES = 40_000
"""Maximum number of slices of a response, over all ranks."""
MOST_MESSAGES = 1000
"""Maximum number of messages, and of collective operations times ranks, of a response."""
EVENTS_AT_ONCE = 1000
"""Events of a part of a file."""
SHORTEST = 1e-7
"""Shortest window, s."""


NO_MESSAGES = MessagesView(sender=[], receiver=[], sent=[], received=[], bytes=[], left_out=0)
NO_MEETINGS = MeetingsView(ranks=[], last=[], entered=[])
NOTHING = TimelineView(
    attempt=1, recorded=False, complete=False, received=0, simulated=False, remarks=[], spread=None, span=0.0,
    start=0.0, stop=0.0, steps=0, bins=0, phases=[str(phase) for phase in PHASES], operations=[], ranks=[],
    messages=NO_MESSAGES, meetings=NO_MEETINGS, straggler=None,
)  # fmt: skip
"""Of an attempt without a trace."""


class Window:
    """What is asked for: a part of the time, or a step; the whole by default."""

    def __init__(self, start: float | None, stop: float | None, step: int | None, bins: int) -> None:
        self.start, self.stop, self.step, self.bins = start, stop, step, bins

    def of(self, trace: Trace) -> tuple[float, float]:
        """Return beginning and end of the window, s, inside the trace."""
        if self.step is not None:
            return _step(trace, self.step)
        start = min(max(0.0, self.start or 0.0), trace.span)
        stop = trace.span if self.stop is None else min(self.stop, trace.span)
        return (start, stop) if stop - start >= SHORTEST else (start, start + SHORTEST)


def run_of(session: Session, run_id: str) -> Run:
    """Return a run with its specification. Raises ResourceNotFound."""
    found = session.get(Run, run_id, options=(undefer(Run.spec),))
    if found is None:
        raise ResourceNotFound(f"no run has the id {run_id}")
    check_present(session, found)
    return found


def attempt_of(run: Run, asked: int | None) -> int:
    """Return the number of the attempt that is asked for, by default the latest. Raises ResourceNotFound."""
    if asked is not None and not 1 <= asked <= max(1, run.attempt):
        raise ResourceNotFound(f"run {run.id} has no attempt {asked}; its latest is {run.attempt}")
    return max(1, run.attempt) if asked is None else asked


def timeline(
    session: Session, store: TimelineStore, run_id: str, attempt: int | None, window: Window
) -> TimelineView:
    """Return a window of the timeline of an attempt. Raises ResourceNotFound for a step that it has not."""
    run = run_of(session, run_id)
    number = attempt_of(run, attempt)
    found, received = store.read(session, run.id, number, run.workers + run.servers)
    recorded = bool(run.spec.get("trace"))
    if found is None:
        over = number < run.attempt or run.state in TERMINAL
        return NOTHING.model_copy(
            update={
                "attempt": number,
                "recorded": recorded,
                "complete": over and not recorded,
                "simulated": run.simulated,
            }
        )
    return answer(found, window).model_copy(update={"attempt": number, "recorded": recorded, "received": received})


def trace_file(session: Session, store: TimelineStore, run_id: str, attempt: int | None) -> Iterator[str]:
    """Return the trace of an attempt as `hooke run --trace` writes it, in parts. Raises ResourceNotFound."""
    run = run_of(session, run_id)
    number, ranks = attempt_of(run, attempt), run.workers + run.servers
    found = store.traces(session, run.id, number, ranks)
    if not found:
        why = "its trace has not arrived" if run.spec.get("trace") else "it records none, without `trace: true`"
        raise ResourceNotFound(f"attempt {number} of run {run.id} has no trace: {why}")
    events = pieces(found, ranks)
    return ("".join(some) for some in iter(lambda: list(islice(events, EVENTS_AT_ONCE)), []))


def answer(found: Timeline, window: Window) -> TimelineView:
    """Return the window of a timeline."""
    trace = found.trace
    start, stop = window.of(trace)
    slices = [inside(rank, start, stop) for rank in trace.ranks]
    few = max(map(len, slices)) <= SLICES_PER_BIN * window.bins and sum(map(len, slices)) <= MOST_SLICES
    bins = 0 if few else max(LEAST_BINS, min(window.bins, MOST_SHARES // (len(PHASES) * len(trace.ranks))))
    return TimelineView(
        attempt=1,
        recorded=True,
        complete=found.complete,
        received=0,
        simulated=trace.simulated,
        remarks=list(trace.remarks),
        spread=trace.spread,
        span=trace.span,
        start=start,
        stop=stop,
        steps=steps_of(trace),
        bins=bins,
        phases=[str(phase) for phase in PHASES],
        operations=list(trace.names),
        ranks=[
            _merged(rank, start, stop, bins) if bins else _whole(rank, mine)
            for rank, mine in zip(trace.ranks, slices, strict=True)
        ],
        messages=_messages(found, start, stop),
        meetings=_meetings(found, start, stop),
        straggler=StragglerView.model_validate(found.straggler) if found.straggler else None,
    )


def steps_of(trace: Trace) -> int:
    """Return the number of steps that every worker has recorded."""
    return min((int(np.sum(rank.phase == COMPUTE)) for rank in trace.ranks if rank.role == "worker"), default=0)


def _step(trace: Trace, step: int) -> tuple[float, float]:
    """Return the window in which the workers do a step: until the last of them begins the next one."""
    steps = steps_of(trace)
    if not 1 <= step <= steps:
        raise ResourceNotFound(f"the timeline has steps 1 to {steps}, not {step}")
    began, ended = [], []
    for rank in trace.ranks:
        if rank.role == "worker":
            mine = np.flatnonzero(rank.step == step)
            began.append(float(rank.began[mine[0]]))
            ended.append(float(rank.ended[mine[-1]]))
    return min(began), max(ended)


def _merged(rank: RankColumns, start: float, stop: float, bins: int) -> RankTimeline:
    parts = np.floor(shares(rank, start, stop, bins) * 1000 + 0.5).astype(int)
    return RankTimeline(
        rank=rank.rank, role=rank.role, host=rank.host, began=[], ended=[], phase=[], step=[], operation=[],
        shares=parts.tolist(),
    )  # fmt: skip


def _whole(rank: RankColumns, mine: Indices) -> RankTimeline:
    return RankTimeline(
        rank=rank.rank,
        role=rank.role,
        host=rank.host,
        began=_rounded(rank.began[mine]),
        ended=_rounded(rank.ended[mine]),
        phase=rank.phase[mine].tolist(),
        step=rank.step[mine].tolist(),
        operation=operation_of(rank, mine).tolist(),
        shares=[],
    )


def _messages(found: Timeline, start: float, stop: float) -> MessagesView:
    messages = found.messages
    mine = np.flatnonzero((messages.sent <= stop) & (messages.received >= start))
    if len(mine) > MOST_MESSAGES:
        return NO_MESSAGES.model_copy(update={"left_out": len(mine)})
    return MessagesView(
        sender=messages.sender[mine].tolist(),
        receiver=messages.receiver[mine].tolist(),
        sent=_rounded(messages.sent[mine]),
        received=_rounded(messages.received[mine]),
        bytes=messages.bytes[mine].tolist(),
        left_out=0,
    )


def _meetings(found: Timeline, start: float, stop: float) -> MeetingsView:
    meetings = found.meetings
    if meetings is None:
        return NO_MEETINGS
    mine = np.flatnonzero((meetings.entered.min(axis=1) <= stop) & (meetings.entered.max(axis=1) >= start))
    if len(mine) * len(meetings.ranks) > MOST_MESSAGES:
        return NO_MEETINGS
    return MeetingsView(
        ranks=meetings.ranks.tolist(),
        last=meetings.ranks[meetings.last[mine]].tolist(),
        entered=[_rounded(row) for row in meetings.entered[mine]],
    )


def _rounded(times: Floats) -> list[float]:
    """Return times to a nanosecond, which makes the JSON half as long."""
    found: list[float] = np.round(times, 9).tolist()
    return found
