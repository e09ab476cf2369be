"""The LIBSVM text format against a slow parser, and real files."""

import gzip
import random
import re

import numpy as np
import pytest
from hooke.errors import DataInvalid, DataMissing
from hooke.readers import libsvm, sparse_text

from tests.engine.readers import sparse_reference as reference

GOOD = b"+1 1:0.5 9:-2 \n-1 3:1\n-1 \n\n"


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))


def assert_items(bags, items) -> None:
    labels, features = bags.labels, bags.features
    assert len(bags) == len(items)
    for i, (known, bag) in enumerate(items):
        assert labels.ids[labels.starts[i] : labels.starts[i + 1]].tolist() == known
        span = slice(features.starts[i], features.starts[i + 1])
        assert features.ids[span].tolist() == list(bag)
        assert features.values[span].tolist() == [float(value) for value in bag.values()]


def test_the_format(tmp_path):
    (path := tmp_path / "a").write_bytes(GOOD)
    bags = libsvm.read(path)
    assert (bags.feature_count, bags.label_count) == (9, 2)
    assert_items(bags, [([1], {0: 0.5, 8: -2.0}), ([0], {2: 1.0}), ([0], {})])
    path.write_bytes(b"3,12 1:1\n 4:1\n0\n")
    bags = libsvm.read(path)
    assert (bags.feature_count, bags.label_count) == (4, 13)
    assert_items(bags, [([3, 12], {0: 1.0}), ([], {3: 1.0}), ([0], {})])


@pytest.mark.parametrize("piece", [16, 1 << 19])
def test_files_with_and_without_mutations_are_read_like_the_slow_parser_does(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(sparse_text, "PIECE", piece)
    draw, path, refused = random.Random(piece), tmp_path / "a", 0
    for trial in range(300):
        data = reference.text_of(draw, draw.randint(1, 6), 30, 12, signed=True)
        if trial % 3 == 0:  # labels of two classes instead
            two = (draw.choice([b"+1", b"-1", b"1"]) for _ in range(99))
            lines = [re.sub(rb"^[0-9,]*", next(two), line) for line in data.split(b"\n")]
            data = b"\n".join(lines) if trial % 2 else b"\n".join(lines) + b"\n\n"
        if trial % 8:
            data = reference.mutated(draw, data)
        path.write_bytes(data)
        try:
            items = reference.libsvm(data)
        except reference.Wrong as wrong:
            refused += 1
            with pytest.raises(DataInvalid) as error:
                libsvm.read(path)
            assert int(re.search(r", line (\d+)", str(error.value))[1]) == wrong.line, (data, str(error.value))
        else:
            assert_items(libsvm.read(path), items)
    assert 60 < refused < 260


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "line 1: the file has no item"),
        (b"\n \n", "line 1: the file has no item"),
        (b"1 1:1\n\n1 1:1\n", "line 3, column 1: follows a line with neither label nor feature"),
        (b"+1 0:1\n", "line 1, column 4: feature 0 is too small: features count from 1"),
        (b"+1 2147483648:1\n", "line 1, column 4: feature 2147483648 is too large"),
        (b"-1 1:1\n+1 1:1\n3 1:1\n", "line 3, column 1: label 3 in a file that has both -1 and labels other"),
        (b"0 1:1\n-1 1:1\n", "line 2, column 1: label -1 in a file that has both"),
        (b"-2 1:1\n", "line 1, column 1: label -2 is negative: labels are -1 and"),
        (b"1.0 1:1\n", "line 1, column 1: label '1.0' is not a whole number"),
        (b"+1 1:1 # note\n", "line 1, column 8: '#' has no value"),
        (b"+1 qid:3 1:1\n", "line 1, column 4: feature 'qid' is not a whole number"),
    ],
)
def test_faults(tmp_path, data, says):
    (path := tmp_path / "a").write_bytes(data)
    with pytest.raises(DataInvalid, match=rf"a, {says}"):
        libsvm.read(path)


def test_a_fault_after_many_lines_names_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sparse_text, "PIECE", 50)
    (path := tmp_path / "a").write_bytes(b"-1 1:1\n" * 100 + b"2 1:1\n")
    with pytest.raises(DataInvalid, match="line 101, column 1: label 2 in a file"):
        libsvm.read(path)


def test_parts_have_common_counts_and_are_cached(tmp_path):
    (tmp_path / "libsvm").mkdir()
    (tmp_path / "libsvm" / "small").write_bytes(GOOD)
    (tmp_path / "libsvm" / "small.t.gz").write_bytes(gzip.compress(b"+1 12:1\n"))
    train, test = libsvm.parts("small")
    assert (train.feature_count, train.label_count) == (12, 2) == (test.feature_count, test.label_count)
    assert_items(test, [([1], {11: 1.0})])
    names = sorted(
        folder.name.rpartition("-")[0] for folder in (tmp_path / "cache" / "hooke" / "libsvm").iterdir()
    )
    assert names == ["small-small", "small-small.t"]


def test_parts_in_a_folder_and_without_a_test_file(tmp_path):
    (tmp_path / "of" / "small").mkdir(parents=True)
    file = tmp_path / "of" / "small" / "train.txt"
    file.write_bytes(b"".join(b"%d %d:1\n" % (i % 3, i + 1) for i in range(40)))
    assert libsvm.find("of/small").test is None
    train, test = libsvm.parts("of/small")
    assert (len(train), len(test), train.feature_count) == (36, 4, 40)
    both = sorted(train.features.ids.tolist() + test.features.ids.tolist())
    assert both == list(range(40)), "each item is in one part"
    assert [10 * b <= i < 10 * b + 10 for b, i in enumerate(test.features.ids.tolist())] == [True] * 4


def test_parts_that_number_classes_differently_are_refused(tmp_path):
    (tmp_path / "small").write_bytes(b"-1 1:1\n+1 1:1\n")
    (tmp_path / "small.t").write_bytes(b"0 1:1\n1 1:1\n")
    with pytest.raises(DataInvalid, match="one has a label -1, the other one labels other than -1 and"):
        libsvm.parts("small")


def test_a_missing_set_says_what_to_put_where():
    with pytest.raises(
        DataMissing, match=r"neither a file .*libsvm/small nor .*Put the training part into a file"
    ):
        libsvm.find("small")


def test_real_sets(data_root, monkeypatch):
    """Counts as on the page of LIBSVM's data sets."""
    if not (data_root / "libsvm-binary" / "w8a").is_file():
        pytest.skip("NOT TESTED HERE: HOOKE_DATA holds no libsvm-binary")
    monkeypatch.setenv("HOOKE_DATA", str(data_root))
    train, test = libsvm.parts("libsvm-binary/a9a")
    assert (len(train), len(test), train.feature_count, train.label_count) == (32561, 16281, 123, 2)
    assert (len(train.features.ids), len(test.features.ids)) == (451592, 225731)
    assert (train.label_frequencies()[1], test.label_frequencies()[1]) == (7841, 3846)
    assert np.unique(train.features.values).tolist() == [1.0]
    web = libsvm.read(data_root / "libsvm-binary" / "w8a")
    assert (len(web), web.feature_count, len(web.features.ids)) == (49749, 300, 579586)
    assert web.label_frequencies().tolist() == [49749 - 1479, 1479]
