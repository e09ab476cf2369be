"""Merges the traces of a run's ranks into one file in the Trace Event Format of ui.perfetto.dev and Chrome.

Every rank is a process with these tracks (threads): its phases; the operations in which it was blocked; when
background transfers were hidden; and these transfers, on as many tracks as were pending at once. Slices of a track
follow or contain each other, as the format requires. Times are nanoseconds since the first rank left the start
barrier, written as microseconds.

Clocks. Ranks on one machine read the same clock. A machine with a different clock is shifted so that its first
rank leaves the start barrier when the first rank here does. `spread`, the time between the first and the last rank
of one clock to leave it, estimates the error. Later clock drift is not corrected.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from hooke.errors import JournalError
from hooke.trace.reading import RankTrace, TracedOperation, TracedTransfer, read
from hooke.trace.records import NOBODY, file_of

PHASES, OPERATIONS, HIDDEN, BACKGROUND = range(4)
"""Tracks of a rank; the further tracks of background transfers follow."""
SIMULATED = "Times are virtual seconds: simulated, not measured."


@dataclass(frozen=True)
class Written:
    """Result of writing the trace of a run."""

    ranks: int
    events: int
    remarks: tuple[str, ...]
    """Remarks for the user: ranks whose records end early or are missing."""


def write(folder: Path, ranks: int, target: Path) -> Written:
    """Merge the ranks' traces in `folder` into one file, compressed if `target` ends with .gz.

    Raises JournalError if there is no trace or one is damaged; OSError if `target` cannot be written.
    """
    found = [read(path) for rank in range(ranks) if (path := file_of(folder, rank)).exists()]
    if not found:
        raise JournalError(f"no rank has written a trace to {folder}: none reached its first step")
    events = -2  # the head and the end
    with _open(target) as file:
        for piece in pieces(found, ranks):
            file.write(piece)
            events += 1
    return Written(len(found), events, tuple(remarks(found, ranks)))


def pieces(traces: Sequence[RankTrace], ranks: int) -> Iterator[str]:
    """Yield the file of one or more traces of a run of `ranks` ranks: its head, each of its events, its end."""
    origins, spread = align(traces)
    about = json.dumps(_about(traces, tuple(remarks(traces, ranks)), spread))
    yield f'{{"displayTimeUnit":"ms","otherData":{about},"traceEvents":[\n'
    between = ""
    for trace in traces:
        for text in _events(trace, origins[trace.header["rank"]]):
            yield between + text
            between = ",\n"
    yield "\n]}\n"


def align(traces: Sequence[RankTrace]) -> tuple[dict[int, float], float | None]:
    """Return {rank: time on its clock that is 0}, and the spread of the start, in s, of ranks of one clock.

    The spread is None if no two ranks read the same clock.
    """
    starts: dict[str, list[float]] = {}
    for trace in traces:
        starts.setdefault(trace.header["clock"], []).append(trace.header["began"])
    origins = {trace.header["rank"]: min(starts[trace.header["clock"]]) for trace in traces}
    return origins, max((max(began) - min(began) for began in starts.values() if len(began) > 1), default=None)


def _open(target: Path) -> TextIO:
    if target.suffix == ".gz":
        return cast(TextIO, gzip.open(target, "wt", compresslevel=3))
    return target.open("w")


def _about(traces: Sequence[RankTrace], notes: tuple[str, ...], spread: float | None) -> dict[str, Any]:
    simulated = traces[0].header["world"] == "virtual"
    clocks = len({trace.header["clock"] for trace in traces})
    return {
        "schema": "hooke.timeline/1",
        "simulated": simulated,
        "note": SIMULATED if simulated else "Times are measured.",
        "clocks": clocks,
        "start_spread_seconds": spread,
        "remarks": list(notes),
        "ranks": {
            trace.header["rank"]: {
                "role": trace.header["role"],
                "host": trace.header["host"],
                "restored_seconds": trace.header["restored"],
                "end": trace.footer and trace.footer["end"],
            }
            for trace in traces
        },
    }


def remarks(traces: Sequence[RankTrace], ranks: int) -> Iterator[str]:
    """Yield remarks for the user: ranks whose records end early or are missing."""
    here = {trace.header["rank"] for trace in traces}
    for rank in sorted(set(range(ranks)) - here):
        yield f"rank {rank} has no trace: it did not reach its first step"
    for trace in traces:
        rank, after = trace.header["rank"], trace.ended - trace.header["began"]
        if trace.footer is None:
            yield f"the trace of rank {rank} breaks off after {after:.6g} s: the rank did not end by itself"
        elif trace.footer["stopped"] is not None:
            yield f"the trace of rank {rank} is not recorded from {after:.6g} s on: {trace.footer['why']}"


def _events(trace: RankTrace, origin: float) -> Iterator[str]:
    rank, simulated = trace.header["rank"], trace.header["world"] == "virtual"
    where = "simulated" if simulated else trace.header["host"]
    yield _named("process_name", rank, 0, name=f"rank {rank}: {trace.header['role']} ({where})")
    yield _named("process_sort_index", rank, 0, sort_index=rank)
    if simulated:
        yield _named("process_labels", rank, 0, labels="simulated")
    lanes = _lanes(trace.transfers)
    tracks = [
        "phases",
        "blocked in",
        "hidden",
        *(f"background {i + 1}" for i in range(max(lanes, default=-1) + 1)),
    ]
    for track, name in enumerate(tracks):
        yield _named("thread_name", rank, track, name=name)
        yield _named("thread_sort_index", rank, track, sort_index=track)
    draw = _Drawer(rank, origin)
    gradients = 0
    for piece in trace.phases:
        gradients += piece.phase == "compute"
        args = f'{{"gradient":{gradients}}}' if piece.phase == "compute" else ""
        yield from draw(PHASES, piece.phase, "phase", piece.began, piece.ended, args)
    if trace.footer is not None and (stopped := trace.footer["stopped"]) is not None:
        end = trace.footer["end"]
        missing = {name: end["phases"][name] - stopped["phases"][name] for name in end["phases"]}
        args = json.dumps(
            {"seconds": missing, "hidden": end["hidden"] - stopped["hidden"], "why": trace.footer["why"]}
        )
        yield from draw(PHASES, "not recorded", "gap", stopped["at"], end["at"], args)
    for operation in trace.operations:
        cat = "message" if operation.phase == "communicate" else "aside"
        args = _operation_args(operation)
        yield from draw(OPERATIONS, operation.name, cat, operation.began, operation.ended, args, always=True)
    for lane, transfer in zip(lanes, trace.transfers, strict=True):
        for began, ended in transfer.hidden:
            yield from draw(HIDDEN, f"hidden {transfer.name}", "hidden", began, ended)
        args = _transfer_args(transfer, origin)
        yield from draw(
            BACKGROUND + lane, transfer.name, "background", transfer.posted, transfer.completed, args, always=True
        )


def _lanes(transfers: list[TracedTransfer]) -> list[int]:
    """Return for each transfer the first track that was free when it was posted."""
    free: list[float] = []
    lanes = [0] * len(transfers)
    for place in sorted(range(len(transfers)), key=lambda i: transfers[i].posted):
        began = transfers[place].posted
        lane = next((i for i, since in enumerate(free) if since <= began), len(free))
        free[lane:] = [transfers[place].completed, *free[lane + 1 :]]
        lanes[place] = lane
    return lanes


class _Drawer:
    """Writes slices of one rank."""

    def __init__(self, rank: int, origin: float) -> None:
        self._rank = rank
        self._origin = origin

    def __call__(
        self, track: int, name: str, cat: str, began: float, ended: float, args: str = "", *, always: bool = False
    ) -> Iterator[str]:
        """Yield a slice, unless it is shorter than a nanosecond and not `always`."""
        start, stop = round((began - self._origin) * 1e9), round((ended - self._origin) * 1e9)
        if stop > start or always:
            yield (
                f'{{"name":"{name}","cat":"{cat}","ph":"X","ts":{_micro(start)},"dur":{_micro(stop - start)},'
                f'"pid":{self._rank},"tid":{track}{args and f",{chr(34)}args{chr(34)}:{args}"}}}'
            )


def _micro(nanoseconds: int) -> str:
    """Return microseconds, exactly."""
    whole, rest = divmod(nanoseconds, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)


def _named(what: str, rank: int, track: int, **args: Any) -> str:
    return json.dumps({"name": what, "ph": "M", "pid": rank, "tid": track, "args": args})


def _operation_args(x: TracedOperation) -> str:
    found: dict[str, Any] = {"peer": x.peer} if x.peer != NOBODY else {}
    if x.part:
        found["part"] = x.part
    if x.bytes:
        found["bytes"] = x.bytes
    if x.payload or x.wire or x.messages:
        found |= {"payload_bytes": x.payload, "wire_bytes": x.wire, "messages": x.messages}
    if x.phase != "communicate":
        found["charged_to"] = x.phase
    return json.dumps(found) if found else ""


def _transfer_args(x: TracedTransfer, origin: float) -> str:
    return json.dumps(
        ({"peer": x.peer} if x.peer != NOBODY else {})
        | ({"part": x.part} if x.part else {})
        | {
            "bytes": x.bytes,
            "hidden_us": round(sum(ended - began for began, ended in x.hidden) * 1e6, 3),
            "waited_from_us": round((x.waited_from - origin) * 1e6, 3),
            "waited_us": round((x.waited_until - x.waited_from) * 1e6, 3),
        }
    )
