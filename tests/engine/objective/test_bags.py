"""Compressed rows against lists of rows, also where they are memory maps."""

import numpy as np
import pytest
from hooke.errors import ArgumentError
from hooke.objective.bags import Bags, Csr, Subset, histories_to_bags, split_off
from hooke.objective.parts import held_out

FEATURES, LABELS = 40, 9


def csr(rows: list[list[int]], values: list[list[float]] | None = None) -> Csr:
    starts = np.array([sum(map(len, rows[:i])) for i in range(len(rows) + 1)], dtype=np.int64)
    flat = None if values is None else np.array([v for row in values for v in row], dtype=np.float32)
    return Csr(starts, np.array([i for row in rows for i in row], dtype=np.int32), flat)


def lists(rows: Csr) -> list[list[int]]:
    return [rows.ids[a:b].tolist() for a, b in zip(rows.starts[:-1], rows.starts[1:], strict=True)]


def random_rows(random, count: int, most: int) -> list[list[int]]:
    return [sorted(random.choice(most, random.integers(0, 8), replace=False).tolist()) for _ in range(count)]


def problem(count: int = 200) -> tuple[Bags, list[list[int]], list[list[float]], list[list[int]]]:
    random = np.random.default_rng(4)
    features, labels = random_rows(random, count, FEATURES), random_rows(random, count, LABELS)
    values = [random.standard_normal(len(row)).astype(np.float32).tolist() for row in features]
    return Bags(csr(features, values), csr(labels), FEATURES, LABELS), features, values, labels


def mapped(array, folder, name: str):
    np.save(folder / f"{name}.npy", array)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


@pytest.mark.parametrize("on_disk", [False, True])
def test_take_returns_the_rows_in_the_order_asked_for(tmp_path, on_disk):
    bags, features, values, labels = problem()
    if on_disk:
        f, y = bags.features, bags.labels
        files = [mapped(a, tmp_path, str(i)) for i, a in enumerate((f.starts, f.ids, f.values, y.starts, y.ids))]
        bags = Bags(Csr(*files[:3]), Csr(*files[3:]), FEATURES, LABELS)
    at = np.array([7, 0, 199, 7, 3, 3, 150], dtype=np.int64)
    taken = bags.take(at)
    assert len(taken) == 7
    assert (taken.feature_count, taken.label_count) == (FEATURES, LABELS)
    assert lists(taken.features) == [features[i] for i in at]
    assert lists(taken.labels) == [labels[i] for i in at]
    assert taken.features.values.tolist() == [v for i in at for v in values[i]]
    assert taken.labels.values is None
    for array in (taken.features.starts, taken.features.ids, taken.features.values, taken.labels.ids):
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert (taken.features.starts.dtype, taken.features.ids.dtype) == (np.int64, np.int32)
    assert len(bags.take(np.empty(0, dtype=np.int64))) == 0


@pytest.mark.parametrize("at", [[-1], [0, 200]])
def test_indices_outside_are_refused(at):
    with pytest.raises(ArgumentError, match="there are rows 0 to 199"):
        problem()[0].take(np.array(at, dtype=np.int64))


def test_head_and_counts():
    rows = csr([[1, 2], [], [5]], [[0.5, 1.0], [], [2.0]])
    assert rows.counts.tolist() == [2, 0, 1]
    assert lists(rows.head(2)) == [[1, 2], []]
    assert rows.head(2).values.tolist() == [0.5, 1.0]


def test_frequencies_of_all_items_and_of_a_subset():
    bags, _, _, labels = problem()
    some = np.array([3, 5, 8, 150], dtype=np.int64)
    subset = Subset(bags, some)
    assert bags.label_frequencies().tolist() == [sum(label in row for row in labels) for label in range(LABELS)]
    assert subset.label_frequencies().tolist() == [
        sum(label in labels[i] for i in some) for label in range(LABELS)
    ]
    assert lists(subset.take(np.array([2, 0], dtype=np.int64)).labels) == [labels[8], labels[3]]


def test_the_validation_part_is_split_off_by_the_common_rule():
    bags, features, _, _ = problem()
    train, validation = split_off(bags)
    kept, held = held_out(200)
    assert (len(train), len(validation)) == (180, 20)
    assert lists(train.take(np.arange(180)).features) == [features[i] for i in kept]
    assert lists(validation.take(np.arange(20)).features) == [features[i] for i in held]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Csr(np.array([0, 1], dtype=np.int32), np.zeros(1, dtype=np.int32)), "need int64 starts"),
        (
            lambda: Csr(np.array([0, 2]), np.zeros(1, dtype=np.int32)),
            "from 0 to the number of ids, 1, not from 0 to 2",
        ),
        (
            lambda: Csr(np.array([0, 1]), np.zeros(1, dtype=np.int32), np.zeros(2, dtype=np.float32)),
            "one float32 value",
        ),
        (lambda: Bags(csr([[1]]), csr([[1], []]), 2, 2), "an item has both"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make, says):
    with pytest.raises(ArgumentError, match=says):
        make()


@pytest.mark.parametrize("window", [1, 3, 100])
def test_histories_become_pairs_of_previous_and_next_item(window):
    random = np.random.default_rng(6)
    histories = [random.integers(0, 7, random.integers(0, 9)).tolist() for _ in range(60)]
    bags = histories_to_bags(csr(histories), 7, window)
    pairs = [(row[max(0, t - window) : t], row[t]) for row in histories for t in range(1, len(row))]
    assert len(bags) == len(pairs) > 100
    assert lists(bags.labels) == [[following] for _, following in pairs]
    assert lists(bags.features) == [sorted(set(previous)) for previous, _ in pairs]
    expected = []
    for previous, _ in pairs:
        counts = np.array([previous.count(item) for item in sorted(set(previous))], dtype=float)
        expected += (counts / np.linalg.norm(counts)).tolist()
    np.testing.assert_allclose(bags.features.values, expected, rtol=1e-6)
    assert (bags.feature_count, bags.label_count) == (7, 7)


def test_histories_with_unknown_items_or_no_window_are_refused():
    with pytest.raises(ArgumentError, match="items 0 to 7; expected 0 to 6"):
        histories_to_bags(csr([[0, 7]]), 7, 2)
    with pytest.raises(ArgumentError, match="at least 1"):
        histories_to_bags(csr([[0, 1]]), 7, 0)
