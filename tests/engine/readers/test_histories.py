"""Histories of users: the file format against a slow parser, faults with line and column, and a split in time."""

import gzip
import random
import re
import tracemalloc

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.errors import ArgumentError, DataInvalid, DataMissing
from hooke.loop.train import run_spec_virtual
from hooke.objective.bags import Csr
from hooke.objective.histories import in_time
from hooke.readers import histories, sparse_text, xmlc
from hooke.workloads.xmlc_mlp import XmlcMlp

GOOD = b"3 9\n4 0 4\n\n8\n"


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))


def rows(csr):
    return [csr.ids[a:b].tolist() for a, b in zip(csr.starts[:-1], csr.starts[1:], strict=True)]


def slow(data):
    """Return the histories of a file, or the line of its first fault."""
    first, *lines = data.decode().removesuffix("\n").split("\n")
    users, items = map(int, first.split())
    found = []
    for number, line in enumerate(lines, 2):
        if number > users + 1:
            if line.strip(" \t\r"):
                return number
            continue
        fields = re.split(r"[ \t]+", line.removesuffix("\r"))
        if not all(re.fullmatch(r"[0-9]*", field) and (not field or int(field) < items) for field in fields):
            return number
        found.append([int(field) for field in fields if field])
    return found if len(found) == users else 1


def text_of(draw, users, items):
    lines = [f"{users} {items}"]
    for _ in range(users):
        blank = draw.choice([" ", "  ", "\t"])
        ids = [str(draw.randrange(items)) for _ in range(draw.randrange(9))]
        lines.append(blank * draw.randrange(2) + blank.join(ids) + draw.choice(["", " ", "\r"]))
    return "\n".join(lines).encode() + draw.choice([b"", b"\n", b"\n\n"])


@pytest.mark.parametrize("piece", [5, 64, 1 << 19])
def test_files_are_read_like_the_slow_parser_does(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(sparse_text, "PIECE", piece)
    draw, refused = random.Random(piece), 0
    for trial in range(150):
        data = text_of(draw, draw.randint(1, 9), draw.randint(1, 30))
        if trial % 2:  # one byte is another one, anywhere behind the first line
            at = draw.randrange(data.index(b"\n") + 1, len(data) + 1)
            data = data[:at] + draw.choice([b"9", b"x", b",", b"-", b"\n", b" ", b"."]) + data[at + 1 :]
        path = tmp_path / ("a.txt.gz" if trial % 4 == 0 else "a.txt")
        path.write_bytes(gzip.compress(data, 1) if trial % 4 == 0 else data)
        expected = slow(data)
        if isinstance(expected, list):
            assert rows(histories.read(path)) == expected
        else:
            refused += 1
            with pytest.raises(DataInvalid, match=f", line {expected}[:,]"):
                histories.read(path)
    assert 20 < refused < 75


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "line 1: empty; it should be `users items`"),
        (b"3 9 5\n", "line 1, column 1: '3 9 5' is not `users items`, two whole numbers"),
        (b"3 0\n", "line 1, column 3: 0 items; expected 1 to"),
        (GOOD[:-2], "line 1: declares 3 users; the file ends after 2"),
        (GOOD + b"1\n", "line 5: the first line declares 3 users, and more follow"),
        (b"1 9\n4 0 9\n", "line 2, column 5: item 9 is too large: 9 items count from 0 to 8"),
        (b"1 9\n4 \t-1\n", "line 2, column 4: '-1' is not a whole number from 0 to 8"),
        (b"2 9\n1\n4,0\n", "line 3, column 1: '4,0' is not a whole number"),
        (b"1 9\n1:1\n", "line 2, column 1: '1:1' is not a whole number"),
        (b"1 9\n1 nan\n", "line 2, column 3: 'nan' is not"),
        (b"1 9\n1 " + b"0" * 19 + b"\n", "line 2, column 3: item '0000000000000000000' has more than 18 digits"),
        (b"1 9\n1\r2\n", "line 2, column 1: '1\\\\r2' is not a whole number"),
    ],
)
def test_faults_are_told_where_they_are(tmp_path, data, says):
    (path := tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(DataInvalid, match=re.escape(str(path)) + ".*" + says):
        histories.read(path)


def test_truncated_gzip_is_an_error(tmp_path):
    (path := tmp_path / "a.txt.gz").write_bytes(gzip.compress(GOOD * 50)[:-9])
    with pytest.raises(DataInvalid, match="damaged or truncated gzip"):
        histories.read(path)


@pytest.mark.parametrize("window", [2, 100])
def test_nothing_that_follows_a_label_is_seen_before_it(window):
    """Times are the places in a history: items are named by user and place, so that every event is told apart."""
    draw = np.random.default_rng(3)
    counts = draw.integers(0, 8, 50)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    pairs = in_time(Csr(starts, np.arange(starts[-1], dtype=np.int32)), int(starts[-1]), window)
    parts = [part.take(np.arange(len(part))) for part in pairs]
    of_user = np.repeat(np.arange(50), counts)
    seen, labels = [{} for _ in parts], [{} for _ in parts]
    for part, of_feature, of_label in zip(parts, seen, labels, strict=True):
        for features, (label,) in zip(rows(part.features), rows(part.labels), strict=True):
            assert features == [event for event in range(label - window, label) if event >= starts[of_user[label]]]
            of_label.setdefault(int(of_user[label]), []).append(label)
            of_feature.setdefault(int(of_user[label]), []).extend(features)
    for user in range(50):
        events = list(range(starts[user], starts[user + 1]))
        expected = [events[1:-2], events[-2:-1] if len(events) > 2 else [], events[1:][-1:]]
        assert [part.get(user, []) for part in labels] == expected
        for earlier, later in ((0, 1), (0, 2), (1, 2)):
            if user in labels[later]:
                past = labels[earlier].get(user, []) + seen[earlier].get(user, [])
                assert all(event < min(labels[later][user]) for event in past)


def test_pairs_are_made_when_they_are_taken():
    """Of half a million pairs with 10,000 items before each, 20 GB, few are ever in memory."""
    draw, items = np.random.default_rng(5), 5000
    starts = np.array([0, 0, 3, 500_000, 500_001])
    histories = Csr(starts, draw.integers(0, items, starts[-1]).astype(np.int32))
    tracemalloc.start()
    train, validation, test = in_time(histories, items, 10_000)
    at = np.array([400_000, 0, 7, len(train) - 1])
    taken = train.take(at)
    frequencies = train.label_frequencies()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * len(histories.ids), "bytes for each item of a history, of which 8 stay"
    assert (len(train), len(validation), len(test)) == (499_997 - 3, 2, 2)
    for row, place in enumerate(at):
        label = int(place) + 4  # the first user has no training pair; the first item of the second one is at 3
        previous = histories.ids[max(3, label - 10_000) : label]
        ids, counts = np.unique(previous, return_counts=True)
        own = slice(taken.features.starts[row], taken.features.starts[row + 1])
        assert taken.features.ids[own].tolist() == ids.tolist()
        np.testing.assert_allclose(taken.features.values[own], counts / np.linalg.norm(counts), rtol=1e-6)
        assert taken.labels.ids[row] == histories.ids[label]
    assert frequencies.tolist() == np.bincount(histories.ids[4 : 500_000 - 2], minlength=items).tolist()
    assert test.labels_of(np.arange(2)).ids.tolist() == histories.ids[[2, 499_999]].tolist()
    with pytest.raises(ArgumentError, match="there are rows 0 to 1"):
        test.take(np.array([2]))


def shop(tmp_path, users=120, items=30):
    """Write histories in which every item is followed by its successor."""
    draw = random.Random(1)
    lines = [f"{users} {items}"]
    for _ in range(users):
        first = draw.randrange(items)
        lines.append(" ".join(str((first + t) % items) for t in range(12)))
    (folder := tmp_path / "xmlc" / "shop").mkdir(parents=True)
    (folder / "histories.txt").write_text("\n".join(lines))


def test_a_run_learns_the_next_item(tmp_path):
    shop(tmp_path)
    asked = {"data": "shop", "window": 1, "hidden": 16, "output": "in-batch", "validation_items": 50}
    objective = XmlcMlp(**asked).build()
    assert (objective.train_size, objective.validation_size, objective.test_size) == (120 * 9, 50, 120)
    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp", "parameters": asked},
            "algorithm": {"name": "sgd", "parameters": {"optimizer": "row-adagrad", "lr": 0.3}},
            "batch": 16,
            "seed": 1,
            "workers": 1,
            "budget": {"samples": 3200},
            "evaluation": {"every": 3200},
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
        }
    )
    run_spec_virtual(spec, tmp_path / "run")
    text = (tmp_path / "run" / "journal.0.jsonl").read_text()
    (accuracy,) = re.findall(r'"kind":"evaluation".*?"accuracy":([0-9.]+)', text)[-1:]
    assert float(accuracy) > 0.9


def test_a_folder_without_either_is_told_of_both(tmp_path):
    with pytest.raises(DataMissing, match=r"Put train\.txt and test\.txt, or histories\.txt"):
        XmlcMlp(data="shop").find_data()
    shop(tmp_path)
    XmlcMlp(data="shop").find_data()
    with pytest.raises(DataInvalid, match="histories of users, and no training and test part"):
        xmlc.parts("shop")
    (tmp_path / "xmlc" / "shop" / "histories.txt").write_text("2 5\n0 1 2\n3\n")
    with pytest.raises(DataInvalid, match="no user has four items"):
        histories.parts("shop", 3)
