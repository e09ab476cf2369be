"""Timelines over HTTP: parts in, windows out; what is damaged, late, missing or gone."""

import base64
import json
import zlib

import pytest
from hooke.spec.files import PART_BYTES, compressed, packed
from hooke_api.models import StoredFilePart
from hooke_api.storage import files
from hooke_api.timeline import service as timeline
from hooke_api.timeline.columns import columns
from hooke_api.timeline.messages import meetings_of, messages_of
from hooke_api.timeline.store import Timeline
from hooke_api.timeline.straggler import straggler_of

from tests.api.databases import ONE_KIND
from tests.api.timeline.traces import PHASES, Made, lockstep


def delivered(supervisor, made, **more):
    """Send the files of ranks, in one part each."""
    for rank in made:
        part = packed(f"trace.{rank.header['rank']}", 0, rank.file(**more))
        assert supervisor.send(files=[part]).files == {part.name: part.size}


def answer(*made, **window):
    asked = {"start": None, "stop": None, "step": None, "bins": 16} | window
    trace = columns([each.trace() for each in made], len(made))
    meetings = meetings_of(trace)
    found = Timeline(trace, messages_of(trace), meetings, straggler_of(trace, meetings), complete=True)
    return timeline.answer(found, timeline.Window(**asked))


def test_parts_are_stored_once_and_in_order(service):
    supervisor = service.launch()
    first, second = packed("system", 0, b"a" * 10), packed("system", 10, b"b" * 5)
    assert supervisor.send(files=[packed("system", 0, b"")]).files == {"system": 0}
    assert supervisor.send(files=[second]).files == {"system": 0}, "a gap is not stored"
    assert supervisor.send(files=[first, second]).files == {"system": 15}
    assert supervisor.send(files=[first]).files == {"system": 15}
    assert supervisor.send().files == {}
    assert service.count(StoredFilePart) == 2


@ONE_KIND
def test_a_part_that_is_not_what_it_says_is_refused(service):
    supervisor = service.launch()
    good = packed("trace.0", 0, b"abc")
    for changes in (
        {"size": 2},
        {"size": 4},
        {"data": "????"},
        {"data": good.data[:-4]},
        {"data": base64.b64encode(base64.b64decode(good.data) + b"more").decode()},
        {"data": "é"},
        {"data": base64.b64encode(base64.b64decode(good.data) + b"x" * 10_000).decode()},
        {"data": base64.b64encode(b"\x78\x01" + b"\0\0\0\xff\xff" * 10_000 + zlib.compress(b"abc")[2:]).decode()},
        {"name": "../etc"},
    ):
        body = supervisor.request(files=[good]).model_dump(mode="json")
        body["files"][0] |= changes
        refused = supervisor.post(json.dumps(body).encode())
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"].startswith("/files/0"), changes
    assert service.count(StoredFilePart) == 0


@ONE_KIND
def test_of_an_attempt_so_much_is_kept_and_the_rest_is_acknowledged(service):
    supervisor = service.launch(trace=True)
    made = Made(0, 2)
    while made.now < 100 + 2 * 14_000:
        made.spend("compute", 1.0).spend("update", 1.0)
    content = made.file()
    assert len(content) > PART_BYTES
    stored = 0
    while stored < len(content):
        part = packed("trace.0", stored, content[stored : stored + PART_BYTES])
        with service.database.write() as session:
            sent = [(part, compressed(part))]
            stored = files.append(session, supervisor.id, 1, sent, limit=PART_BYTES + 100)["trace.0"]
    found = service.get(f"/runs/{supervisor.id}/timeline")
    assert found["received"] == PART_BYTES
    assert 0 < found["span"] < made.now - 100
    assert any("breaks off" in remark for remark in found["remarks"])
    assert found["complete"] is False


@ONE_KIND
def test_a_run_without_a_timeline_says_so(service):
    supervisor = service.launch()
    found = service.get(f"/runs/{supervisor.id}/timeline")
    assert (found["recorded"], found["ranks"], found["received"], found["span"]) == (False, [], 0, 0)
    assert service.client.get("/runs/run_none/timeline").status_code == 404
    assert service.client.get(f"/runs/{supervisor.id}/timeline", params={"attempt": 2}).status_code == 404


def test_a_timeline_of_two_ranks(service):
    supervisor = service.launch(trace=True)
    assert supervisor.order.spec["trace"] is True
    made = lockstep([1.0, 2.0], [2.0, 2.0], message=0.5)
    delivered(supervisor, made[:1])
    half = service.get(f"/runs/{supervisor.id}/timeline")
    assert (half["complete"], len(half["ranks"])) == (False, 1)
    assert half["remarks"] == ["rank 1 has no trace: it did not reach its first step"]
    delivered(supervisor, made[1:])
    found = service.get(f"/runs/{supervisor.id}/timeline")
    assert (found["recorded"], found["complete"], found["simulated"], found["attempt"]) == (True, True, False, 1)
    assert (found["span"], found["start"], found["stop"], found["steps"], found["bins"]) == (5, 0, 5, 2, 0)
    assert found["ranks"][0]["began"] == [0, 1, 2.5, 4.5]
    assert found["ranks"][0]["ended"] == [1, 2.5, 4.5, 5]
    assert [found["phases"][i] for i in found["ranks"][0]["phase"]] == ["compute", "communicate"] * 2
    assert found["ranks"][0]["step"] == [1, 1, 2, 2]
    assert found["meetings"] == {"ranks": [0, 1], "last": [1, 0], "entered": [[1, 2], [4.5, 4.5]]}
    assert found["straggler"]["rank"] == 1
    step = service.get(f"/runs/{supervisor.id}/timeline", step=2)
    assert (step["start"], step["stop"]) == (2.5, 5)
    assert [len(rank["began"]) for rank in step["ranks"]] == [2, 2]
    assert service.client.get(f"/runs/{supervisor.id}/timeline", params={"step": 3}).status_code == 404


@pytest.mark.parametrize(("seconds", "merged"), [(16, False), (17, True)])
def test_slices_are_merged_where_there_are_more_than_two_for_a_bin(seconds, merged):
    made = Made(0, 1)
    for _ in range(seconds):
        made.spend("compute", 0.75).spend("update", 0.25)
    found = answer(made)
    assert found.bins == (16 if merged else 0)
    rank = found.ranks[0]
    if merged:
        assert rank.began == []
        assert {sum(column) for column in zip(*rank.shares, strict=True)} <= {999, 1000, 1001}
        assert sum(rank.shares[PHASES.index("compute")]) == pytest.approx(16 * 750, abs=16)
    else:
        assert len(rank.began) == 32
        assert rank.shares == []


def test_a_window_is_inside_the_trace_and_never_empty():
    made = Made(0, 1).spend("compute", 4)
    assert (answer(made, start=1, stop=2).start, answer(made, start=1, stop=2).stop) == (1, 2)
    assert answer(made, start=3, stop=9).stop == 4
    late = answer(made, start=9, stop=10)
    assert late.start == 4
    assert late.stop > 4
    assert late.ranks[0].began == []
    backwards = answer(made, start=2, stop=1)
    assert backwards.start < backwards.stop


def test_many_ranks_get_fewer_bins_and_many_messages_are_counted_instead():
    made = [Made(rank, 300) for rank in range(300)]
    for rank in made:
        for _ in range(70):
            rank.spend("compute", 1).spend("update", 1)
    found = answer(*made, bins=2000)
    assert found.bins > 0
    assert 0 < sum(len(row) for rank in found.ranks for row in rank.shares) <= timeline.MOST_SHARES
    one, two = Made(0), Made(1)
    for _ in range(timeline.MOST_MESSAGES + 1):
        one.call("send", 1.0, peer=1)
        two.call("receive", 1.0, peer=0)
    found = answer(one, two)
    assert (found.messages.left_out, found.messages.sent) == (timeline.MOST_MESSAGES + 1, [])
    near = answer(one, two, start=10.0, stop=12.5)
    assert near.messages.left_out == 0
    assert near.messages.sent == [9, 10, 11, 12]
    assert near.messages.bytes == [8] * 4


@ONE_KIND
def test_a_damaged_file_hides_nothing_else(service):
    supervisor = service.launch(trace=True)
    delivered(supervisor, lockstep([1.0], [1.0])[:1])
    supervisor.send(files=[packed("trace.1", 0, b"not a trace\n")])
    found = service.get(f"/runs/{supervisor.id}/timeline")
    assert [rank["rank"] for rank in found["ranks"]] == [0]
    assert found["complete"] is False
    assert found["remarks"] == ["trace.1 is not a trace of a rank: its first line is b'not a trace'"]


def test_the_trace_as_a_file_for_perfetto(service):
    supervisor = service.launch(trace=True)
    path = f"/runs/{supervisor.id}/trace.json"
    assert "its trace has not arrived" in service.client.get(path).json()["detail"]
    made = lockstep([1.0, 2.0], [2.0, 2.0], message=0.5)
    supervisor.send(files=[packed("system", 0, b"no trace")])
    delivered(supervisor, reversed(made))
    answer = service.client.get(path)
    assert answer.headers["content-disposition"] == f'attachment; filename="trace-{supervisor.id}.json"'
    found = answer.json()
    slices = [
        (event["pid"], event["name"], event["ts"], event["dur"])
        for event in found["traceEvents"]
        if event.get("cat") == "phase"
    ]
    assert slices == [
        *((0, "compute", 0, 1e6), (0, "communicate", 1e6, 1.5e6), (0, "compute", 2.5e6, 2e6)),
        *((0, "communicate", 4.5e6, 0.5e6), (1, "compute", 0, 2e6), (1, "communicate", 2e6, 0.5e6)),
        *((1, "compute", 2.5e6, 2e6), (1, "communicate", 4.5e6, 0.5e6)),
    ]
    assert found["otherData"]["remarks"] == []
    assert sum(event.get("cat") == "message" for event in found["traceEvents"]) == 4


@ONE_KIND
def test_the_file_has_what_can_be_read_and_says_what_is_missing(service):
    supervisor = service.launch(trace=True)
    delivered(supervisor, lockstep([1.0], [1.0])[:1])
    supervisor.send(files=[packed("trace.1", 0, b"not a trace\n")])
    found = service.get(f"/runs/{supervisor.id}/trace.json")
    assert {event["pid"] for event in found["traceEvents"]} == {0}
    assert [remark.split(":")[0] for remark in found["otherData"]["remarks"]] == ["rank 1 has no trace"]
