"""The rules of the Trace Event Format that a file must keep to be drawn, checked without any code of the product.

From the format's published description, and what Perfetto says of files that it cannot draw: an object with
`traceEvents`; every event with `ph`, `pid`, `tid`; complete events (X) with `ts` and `dur` in microseconds, none
negative; slices of one track nest or follow, never cross; metadata events (M) name processes and tracks.
"""

from collections import defaultdict
from typing import Any

NAMES = {
    "process_name": "name", "process_sort_index": "sort_index", "process_labels": "labels",
    "thread_name": "name", "thread_sort_index": "sort_index",
}  # fmt: skip


def nanoseconds(micro: float) -> int:
    """As Perfetto reads a time."""
    return round(micro * 1000)


def check(document: Any) -> None:
    """Assert that every rule is kept."""
    assert isinstance(document, dict)
    assert document["displayTimeUnit"] in ("ms", "ns")
    events = document["traceEvents"]
    assert events
    for event in events:
        assert set(event) <= {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
        assert event["ph"] in "XM"
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["name"], str)
        assert event["name"]
        if event["ph"] == "M":
            key = NAMES[event["name"]]
            assert set(event["args"]) == {key}
            assert isinstance(event["args"][key], int if key == "sort_index" else str)
        else:
            assert isinstance(event["ts"], int | float)
            assert isinstance(event["dur"], int | float)
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            assert isinstance(event.get("args", {}), dict)
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert named == {(e["pid"], e["tid"]) for e in events if e["ph"] == "M"} | set(tracks(document))
    assert {e["pid"] for e in events} == {e["pid"] for e in events if e["name"] == "process_name"}
    for where, slices in tracks(document).items():
        assert_nested(where, slices)


def tracks(document: Any) -> dict[tuple[int, int], list[Any]]:
    """Return the complete events of each track."""
    found = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return found


def span(event: Any) -> tuple[int, int]:
    """Return begin and end, in nanoseconds."""
    began = nanoseconds(event["ts"])
    return began, began + nanoseconds(event["dur"])


def assert_nested(where: object, slices: list[Any]) -> None:
    """Assert that no slice crosses the end of another one that it began in."""
    open_until: list[int] = []
    for began, ended in sorted((span(s) for s in slices), key=lambda s: (s[0], -s[1])):
        while open_until and open_until[-1] <= began:
            open_until.pop()
        assert not open_until or ended <= open_until[-1], f"slices cross on track {where}, at {began} ns"
        open_until.append(ended)


def track(document: Any, rank: int, name: str) -> list[Any]:
    """Return the slices of a rank on the tracks whose name begins so, by time."""
    ids = {
        event["tid"]
        for event in document["traceEvents"]
        if event["name"] == "thread_name" and event["pid"] == rank and event["args"]["name"].startswith(name)
    }
    found = [e for (pid, tid), slices in tracks(document).items() if pid == rank and tid in ids for e in slices]
    return sorted(found, key=span)
