"""IDX files made by hand: every departure from the format is refused with the place and the file's name."""

import gzip
import struct

import pytest
from hooke.errors import DataInvalid, DataMissing
from hooke.readers import idx
from hooke.readers.mnist import folder
from hooke.workloads.mnist_lenet import MnistLenet
from hypothesis import given, settings
from hypothesis import strategies as st


def encode(shape: tuple[int, ...], data: bytes, magic: int | None = None) -> bytes:
    head = 0x0800 | len(shape) if magic is None else magic
    return struct.pack(f">{1 + len(shape)}I", head, *shape) + data


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=3), st.data())
def test_round_trip_and_every_truncation(tmp_path_factory, shape, data):
    size = 1
    for n in shape:
        size *= n
    payload = data.draw(st.binary(min_size=size, max_size=size))
    whole = encode(tuple(shape), payload)
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(whole)
    read = idx.read(path, len(shape))
    assert (read.shape, bytes(read.data)) == (tuple(shape), payload)
    cut = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:cut])
    with pytest.raises(DataInvalid, match="file"):
        idx.read(path, len(shape))
    path.write_bytes(whole + b"\0")
    with pytest.raises(DataInvalid, match="continues after"):
        idx.read(path, len(shape))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=64).filter(lambda junk: junk[:4] != b"\0\0\x08\x03"), st.sampled_from(["plain", "x.gz"]))
def test_rubbish_never_raises_anything_else(tmp_path_factory, junk, name):
    path = tmp_path_factory.mktemp("junk") / name
    path.write_bytes(junk)
    with pytest.raises(DataInvalid):
        idx.read(path, 3)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_gzip(tmp_path_factory, data):
    whole = gzip.compress(encode((4,), b"abcd"), mtime=0)
    cut = data.draw(st.integers(0, len(whole) - 1))
    path = tmp_path_factory.mktemp("gz") / "cut.gz"
    path.write_bytes(whole[:cut])
    with pytest.raises(DataInvalid, match=r"cut\.gz"):
        idx.read(path, 1)


def test_reads_gzip(tmp_path):
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress(encode((4,), b"abcd")))
    assert bytes(idx.read(path, 1).data) == b"abcd"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "0 bytes"),
        (encode((2,), b"ab", magic=0x0803), "0x00000803, expected 0x00000801"),
        (encode((2,), b"ab", magic=0x0D01), "0x00000d01"),
        (struct.pack("<2I", 0x0801, 2) + b"ab", "0x01080000"),
        (encode((2**32 - 1,), b"ab"), "at most"),
        (encode((3,), b"ab"), "declares 3 bytes"),
    ],
)
def test_messages(tmp_path, content, says):
    path = tmp_path / "labels"
    path.write_bytes(content)
    with pytest.raises(DataInvalid, match=says):
        idx.read(path, 1)


def write_mnist(place, train: int = 10, test: int = 3, labels: bytes = b"\0\1\2\3\4\5\6\7\10\11"):
    place.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        images = bytes(i % 256 for i in range(count * 784))
        (place / f"{part}-images-idx3-ubyte").write_bytes(encode((count, 28, 28), images))
        (place / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(encode((count,), labels[:count])))


@pytest.mark.parametrize("inside", ["mnist", "."])
def test_plain_and_compressed_files_in_either_place(tmp_path, monkeypatch, inside):
    write_mnist(tmp_path / inside)
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    objective = MnistLenet().build()
    assert (objective.train_size, objective.validation_size, objective.test_size) == (9, 1, 3)
    batch = objective.pick([0, 6])
    assert batch.inputs.shape == (2, 1, 28, 28)
    assert float(batch.inputs[0, 0, 0, 5]) == (784 + 5) % 256 / 256, "item 0 is held out"
    assert batch.labels.tolist() == [1, 7]


def test_absent_files_say_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.delenv("HOOKE_DATA", raising=False)
    with pytest.raises(DataMissing, match=r"HOOKE_DATA is not set.*train-images-idx3-ubyte\.gz"):
        MnistLenet().build()
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    with pytest.raises(DataMissing, match="lacks train-images-idx3-ubyte.gz"):
        folder("mnist", "mnist-lenet", bare=True)
    write_mnist(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataMissing, match="mnist lacks t10k-labels-idx1-ubyte.gz "):
        folder("mnist", "mnist-lenet", bare=True)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (("train-labels-idx1-ubyte.gz", gzip.compress(encode((9,), b"\0" * 9))), "one image per label"),
        (("train-labels-idx1-ubyte.gz", gzip.compress(encode((10,), b"\12" * 10))), "at most 9"),
        (("t10k-images-idx3-ubyte", encode((3, 27, 28), bytes(3 * 27 * 28))), "one image per label"),
        (("t10k-labels-idx1-ubyte.gz", gzip.compress(encode((0,), b""))), "for 0 labels"),
    ],
)
def test_sets_that_do_not_fit_together(tmp_path, monkeypatch, damage, says):
    write_mnist(tmp_path)
    (tmp_path / damage[0]).write_bytes(damage[1])
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    with pytest.raises(DataInvalid, match=says):
        MnistLenet().build()
