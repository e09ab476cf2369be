"""The rule that splits a validation part off, against plain Python and the published files."""

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from hooke.catalogue.workload import Place, workload
from hooke.errors import DataInvalid
from hooke.objective.parts import cut_of_text, held_out
from hooke.spec.specification import Compute
from hooke.workloads import digits_mlp

CPU = Place(Compute(device="cpu"))


def rule(count: int) -> set[int]:
    """The numbers of the validation items, in whole numbers of plain Python."""
    every = 10
    while every * 10_000 < count:
        every += 1
    return {every * b + (40503 * b % 65536) * every // 65536 for b in range(count // every)}


@pytest.mark.parametrize(
    ("count", "validation"), [(10, 1), (19, 1), (20, 2), (60_000, 6_000), (100_000, 10_000), (1_281_167, 9_931)]
)
def test_rule(count: int, validation: int) -> None:
    kept, held = held_out(count)
    expected = rule(count)
    assert held.tolist() == sorted(expected)
    assert kept.tolist() == [i for i in range(count) if i not in expected]
    assert len(held) == validation


@pytest.mark.parametrize("classes", [2, 3, 5, 7, 10, 20, 100])
@pytest.mark.parametrize("order", ["sorted", "in turn"])
def test_every_class_is_held_out_in_proportion(classes, order):
    """To two items, where classes follow one another; to a fifth, where they take turns."""
    count = 10_000
    label = (lambda i: i * classes // count) if order == "sorted" else (lambda i: i % classes)
    found = Counter(label(i) for i in held_out(count)[1].tolist())
    fair = count / classes / 10
    slack = 2 if order == "sorted" else max(1, fair / 5)
    assert len(found) == classes
    assert all(abs(n - fair) <= slack for n in found.values()), found


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_items_are_refused(count: int) -> None:
    with pytest.raises(DataInvalid, match=f"{count} items is too small"):
        held_out(count)


@pytest.mark.parametrize(("length", "cut"), [(0, 0), (9, 9), (10, 9), (1_115_394, 1_003_855)])
def test_text(length: int, cut: int) -> None:
    assert cut_of_text(length) == cut


def hashes(source) -> Counter[bytes]:
    """Return how often each item of a part occurs, as what is stored of it and its label."""
    items = torch.empty(len(source), *source.shape, dtype=source.dtype)
    labels = torch.empty(len(source), *source.label_shape, dtype=source.label_dtype)
    source.read(torch.arange(len(source)), items, labels, None)
    rows = items.reshape(len(source), -1).numpy()
    return Counter(row.tobytes() + bytes([label]) for row, label in zip(rows, labels.tolist(), strict=True))


def assert_parts(objective, published: list[bytes], test: list[bytes]) -> None:
    """Every published item is in exactly one part, the one that the rule says: pixels, and the label behind them.

    Data sets have some items twice, so items are counted.
    """
    held = rule(len(published))
    parts = [hashes(part) for part in (objective.train, objective.validation, objective.test)]
    assert sum(parts, Counter()) == Counter(published + test)
    assert parts[0] == Counter(item for i, item in enumerate(published) if i not in held)
    assert parts[1] == Counter(item for i, item in enumerate(published) if i in held)
    assert parts[2] == Counter(test)


def test_digits():
    path = Path(digits_mlp.__file__).parent / "data" / "digits.csv.gz"
    lines = [bytes(map(int, line.split(b","))) for line in gzip.decompress(path.read_bytes()).split()]
    order = list(range(1797))
    random.Random(1797).shuffle(order)
    objective = digits_mlp.DigitsMLP().build()
    assert_parts(objective, [lines[i] for i in order[:1437]], [lines[i] for i in order[1437:]])
    assert (objective.train_size, objective.validation_size, objective.test_size) == (1294, 143, 360)


@pytest.mark.parametrize(("folder", "name"), [("mnist", "mnist-lenet"), ("fashion-mnist", "fashion-lenet")])
def test_files_of_mnist_and_its_kind(data_root, monkeypatch, folder, name):
    if not (data_root / folder / "train-images-idx3-ubyte.gz").is_file():
        pytest.skip(f"NOT TESTED HERE: {data_root} holds no {folder}")
    monkeypatch.setenv("HOOKE_DATA", str(data_root))

    def items(part: str) -> list[bytes]:
        pixels = gzip.decompress((data_root / folder / f"{part}-images-idx3-ubyte.gz").read_bytes())[16:]
        labels = gzip.decompress((data_root / folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())[8:]
        return [pixels[784 * i : 784 * (i + 1)] + labels[i : i + 1] for i in range(len(labels))]

    objective = workload(name)().build(CPU)
    assert_parts(objective, items("train"), items("t10k"))
    assert (objective.train_size, objective.validation_size, objective.test_size) == (54_000, 6_000, 10_000)


def test_records_of_cifar(data_root, monkeypatch):
    path = data_root / "cifar10-lossless-4k" / "data_batch_1_first4000.bin.gz"
    if not path.is_file():
        pytest.skip(f"NOT TESTED HERE: {data_root} holds no cifar10-lossless-4k")
    monkeypatch.setenv("HOOKE_DATA", str(data_root))
    data = gzip.decompress(path.read_bytes())

    def item(i: int) -> bytes:
        record = data[3073 * i : 3073 * (i + 1)]
        planes = zip(record[1:1025], record[1025:2049], record[2049:], strict=True)
        return bytes(value for pixel in planes for value in pixel) + record[:1]

    objective = workload("cifar-resnet20")(form="lossless-4k", blocks=1).build(CPU)
    assert_parts(objective, [item(i) for i in range(3500)], [item(i) for i in range(3500, 4000)])


def test_no_piece_of_a_text_reaches_into_another_part(tmp_path, monkeypatch):
    """On a text whose neighbours tell their place; the end of a part that fills no piece is not used."""
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    text = "".join(chr(0x100 + i // 200) + chr(0x200 + i % 200) for i in range(2000))
    (tmp_path / "t.txt").write_text(text)
    objective = workload("text-transformer")(path="t.txt", context=8, width=8, heads=1, layers=1).build(CPU)
    vocabulary = sorted(set(text))
    where = []
    for part in (objective.train, objective.validation, objective.test):
        items, labels = (torch.empty(len(part), 8, dtype=torch.int64) for _ in range(2))
        part.read(torch.arange(len(part)), items, labels, None)
        pieces = torch.cat([items, labels[:, -1:]], 1).tolist()
        starts = [text.index("".join(vocabulary[c] for c in piece)) for piece in pieces]
        where.append({i for start in starts for i in range(start, start + 9)})
    assert [(min(w), max(w)) for w in where] == [(0, 3239), (3240, 3592), (3600, 3992)]
