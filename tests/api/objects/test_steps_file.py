"""Files of steps: every bit comes back, chunk by chunk and column by column, and damage is told."""

import io
import math
import random

import numpy as np
import pytest
from hooke.spec.events import ABSENT, STEP_COLUMNS
from hooke_api.storage import blocks, steps_file
from hooke_api.storage.objects import DamagedObject
from hooke_api.storage.steps_file import StepsFile, StepsWriter, StoredChunk, UnusualChunk

RUN = "run_0"


def values(source: np.random.Generator, dtype: str, n: int, kind: int) -> np.ndarray:
    """Return values of a column: random bits (NaN of all kinds, too), a count, a clock, noise, or one value."""
    size = np.dtype(dtype).itemsize
    if kind == 0:
        return np.frombuffer(source.bytes(n * size), dtype)
    if kind == 1:
        return np.arange(n).astype(dtype)
    if kind == 2:
        return (np.cumsum(source.random(n)) * 1e-3).astype(dtype)
    if kind == 3:
        return (source.normal(size=n) * 1e3).astype(dtype)
    return np.full(n, source.integers(0, 9)).astype(dtype)


def chunk(source, attempt: int, rank: int, seq: int, n: int, left_out: tuple[str, ...] = ()) -> StoredChunk:
    columns = {
        name: values(source, dtype, n, int(source.integers(5)))
        for name, dtype in STEP_COLUMNS.items()
        if name not in left_out
    }
    return StoredChunk(attempt, rank, seq, n, *blocks.pack(columns))


def many(seed: int = 1) -> list[StoredChunk]:
    """Return chunks of two attempts of three ranks, some of them without optional columns."""
    source = np.random.default_rng(seed)
    return [
        chunk(source, attempt, rank, seq, int(source.integers(1, 60)), tuple(ABSENT) if seq % 3 else ())
        for attempt in (1, 2)
        for rank in range(3)
        for seq in range(0, 8, 2)
    ]


def written(chunks: list[StoredChunk]) -> bytes:
    file = io.BytesIO()
    writer = StepsWriter(file, RUN)
    for each in chunks:
        writer.add(each)
    writer.close()
    assert (writer.chunks, writer.steps) == (len(chunks), sum(each.n for each in chunks))
    assert writer.raw == sum(len(each.data) for each in chunks)
    return file.getvalue()


@pytest.mark.parametrize("limit", [1, 100])
def test_every_chunk_comes_back_as_it_was(monkeypatch, limit):
    monkeypatch.setattr(steps_file, "SEGMENT_STEPS", limit)
    monkeypatch.setattr(steps_file, "SHORT_STEPS", 70 - limit // 2)
    chunks = many()
    file = StepsFile(io.BytesIO(written(chunks)))
    assert file.run == RUN
    assert list(file.chunks()) == chunks
    assert [list(each.header) for each in file.chunks()] == [list(each.header) for each in chunks], "in this order"
    longest = max(segment.n for segment in file.segments)
    assert longest <= max(limit, 60)


def test_columns_are_those_of_the_chunks_joined():
    chunks = many(2)
    file = StepsFile(io.BytesIO(written(chunks)))
    names = ("wall", "loss", "staleness", "worker")
    left = list(chunks)
    for segment in file.segments:
        mine, left = left[: len(segment.seqs)], left[len(segment.seqs) :]
        assert {(each.attempt, each.rank) for each in mine} == {(segment.attempt, segment.rank)}
        found = file.columns(segment, names)
        parts = [blocks.read(each.n, each.header, each.data, names) for each in mine]
        together = blocks.read_joined([(each.n, each.header, each.data) for each in mine], names)
        for name in names:
            wanted = np.concatenate([part[name] for part in parts])
            for given in (found[name], together[name]):
                assert given.dtype == wanted.dtype
                assert given.tobytes() == wanted.tobytes()
    assert left == []


def test_special_values_keep_their_bits():
    special = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]
    columns = {name: np.zeros(8, dtype) for name, dtype in STEP_COLUMNS.items()}
    columns["clock"] = np.array(special, "<f8")
    columns["wall"] = np.array([0x7FF8DEADBEEF0001 + i for i in range(8)], "<u8").view("<f8")
    columns["step"] = np.array([-(2**63), 2**63 - 1, 0, -1, 1, 2**62, -(2**62), 7], "<i8")
    (back,) = StepsFile(io.BytesIO(written([StoredChunk(1, 0, 0, 8, *blocks.pack(columns))]))).chunks()
    for name in ("clock", "wall", "step"):
        assert blocks.read(8, back.header, back.data, [name])[name].tobytes() == columns[name].tobytes()


def test_steps_of_a_training_take_less_than_half():
    n = 20_000
    source, count = np.random.default_rng(3), np.arange(1, n + 1)
    columns = {name: source.normal(1e-3, 1e-4, n).astype(dtype) for name, dtype in STEP_COLUMNS.items()}
    columns |= {
        "step": count,
        "samples": count * 64,
        "payload": np.full(n, 1_724_320),
        "wire": np.full(n, 1_724_320),
        "messages": np.full(n, 2),
    }
    columns |= {"clock": np.cumsum(columns["compute"].astype("f8")), "evaluate": np.zeros(n)}
    columns = {name: column.astype(STEP_COLUMNS[name]) for name, column in columns.items() if name not in ABSENT}
    one = StoredChunk(1, 0, 0, n, *blocks.pack(columns))
    assert len(written([one])) < 0.5 * len(one.data)


def test_a_chunk_that_only_a_row_can_hold_is_refused():
    usual = chunk(np.random.default_rng(4), 1, 0, 0, 3)
    shifted = {name: [at + 8, dtype] for name, (at, dtype) in usual.header.items()}
    for other in (
        usual._replace(data=usual.data + b"\0"),
        usual._replace(header=shifted, data=b"\0" * 8 + usual.data),
        usual._replace(header=dict(reversed(usual.header.items()))),
        usual._replace(header=usual.header | {"other": [len(usual.data), "<f8"]}, data=usual.data + b"\0" * 24),
        usual._replace(n=2),
    ):
        with pytest.raises(UnusualChunk):
            written([other])


def test_damage_is_told():
    """Bytes flipped and the file cut at many places: never other steps than those that were written."""
    chunks = many(5)[:4]
    whole = written(chunks)

    def read(content: bytes) -> list[StoredChunk] | None:
        try:
            return list(StepsFile(io.BytesIO(content)).chunks())
        except DamagedObject as error:
            assert "damaged" in str(error)
            return None

    inside = random.Random(6).sample(range(len(whole)), 120)
    places = sorted({*inside, *range(8), *range(len(whole) - 40, len(whole))})
    found = [read(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]) for at in places]
    assert [each for each in found if each not in (None, chunks)] == []
    assert found.count(None) > 0.9 * len(places), "the others are bits that deflate does not use"
    assert [at for at in places if read(whole[:at]) is not None] == []
