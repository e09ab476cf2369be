"""Files in parts: a model API stores, forgets and loses answers, and ends with every byte."""

import zlib

from hooke.cluster.file_track import FileTracks
from hooke.cluster.shipper import Shipper
from hooke.spec.events import IngestAnswer, StateReport
from hooke.spec.files import compressed, packed
from hypothesis import given, settings
from hypothesis import strategies as st


class Api:
    """Stores what continues a file, as the API does."""

    def __init__(self):
        self.stored = {}

    def take(self, parts):
        answer = {}
        for part in parts:
            have = self.stored.setdefault(part.name, b"")
            if part.size and part.start == len(have):
                self.stored[part.name] = have = have + zlib.decompress(compressed(part))
            answer[part.name] = len(have)
        return answer


def tracks(folder, asks=False, **contents):
    files = {"system": folder / "system.jsonl"} | {
        f"trace.{rank}": folder / f"trace.{rank}.bin" for rank in (0, 1)
    }
    for name, content in contents.items():
        files[name.replace("_", ".")].write_bytes(content)
    return FileTracks(files, asks=asks)


@settings(max_examples=40)
@given(
    contents=st.fixed_dictionaries({name: st.binary(max_size=40) for name in ("system", "trace_0", "trace_1")}),
    lost=st.lists(st.sampled_from(["request", "answer", "restart", "none"]), max_size=12),
)
def test_every_byte_arrives_once_whatever_is_lost(tmp_path_factory, contents, lost):
    folder, api = tmp_path_factory.mktemp("files"), Api()
    mine = tracks(folder, **contents)
    for what in [*lost, *["none"] * 40]:
        parts = mine.parts(ended=True, most=7)
        assert sum(part.size for part in parts) <= 7
        answer = api.take(parts) if what != "request" else {}
        if what == "restart":
            mine = tracks(folder, asks=True)
        elif what == "none":
            mine.apply(answer)
    assert mine.drained
    written = {name.replace("_", "."): content for name, content in contents.items() if content}
    assert {name: content for name, content in api.stored.items() if content} == written


def test_traces_wait_for_the_end_and_samples_do_not(tmp_path):
    mine = tracks(tmp_path, system=b"a", trace_0=b"b")
    assert mine.parts(ended=False) == [packed("system", 0, b"a")]
    mine.apply({"system": 1})
    assert mine.parts(ended=False) == []
    assert not mine.drained
    assert mine.parts(ended=True) == [packed("trace.0", 0, b"b")]


def test_what_was_removed_is_not_awaited(tmp_path):
    mine = tracks(tmp_path, trace_0=b"abc")
    (tmp_path / "trace.0.bin").unlink()
    assert mine.parts(ended=True) == []
    assert mine.drained


def test_an_api_that_was_restored_from_a_backup_gets_it_again(tmp_path):
    mine = tracks(tmp_path, trace_0=b"abcdef")
    mine.apply({"trace.0": 6})
    assert mine.drained
    mine.apply({"trace.0": 2})
    assert mine.parts(ended=True) == [packed("trace.0", 2, b"cdef")]


def test_an_attempt_is_complete_when_its_files_are_stored(tmp_path):
    (tmp_path / "trace.0.bin").write_bytes(b"abc")
    files = {"trace.0": tmp_path / "trace.0.bin"}
    shipper = Shipper("run_a", 1, {}, tmp_path / "log.jsonl", files)
    report = StateReport(state="succeeded", unix=1, why="x")
    answer = IngestAnswer(acknowledged={}, logs=-1, reports=1, cancel=False)
    assert "files" not in shipper.request([report], renew=True).model_dump(), "an older server knows no such field"
    request = shipper.request([report], renew=False)
    assert request.files == [packed("trace.0", 0, b"abc")]
    shipper.apply(answer)
    assert not shipper.complete([report])
    assert not shipper.behind(), "parts are sent one a second"
    shipper.apply(answer.model_copy(update={"files": {"trace.0": 3}}))
    assert shipper.complete([report])
