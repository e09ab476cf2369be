"""Text for the Transformer: what a sample is, the vocabulary, the split, and that it learns."""

import math

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Place, workload
from hooke.errors import DataInvalid, DataMissing
from hooke.objective.loader import Loader
from hooke.spec.specification import Compute
from hooke.workloads import text_transformer
from pydantic import ValidationError

CPU = Place(Compute(device="cpu"))
SMALL = {"context": 16, "width": 32, "heads": 2, "layers": 1}


def build(**parameters):
    return workload("text-transformer")(**SMALL | parameters).build(CPU)


def test_samples_and_their_next_characters(tmp_path, monkeypatch):
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "b.txt").write_text("hé" * 300)
    (tmp_path / "text" / "a.txt").write_text("xyz" * 200)
    objective = build()
    text = "xyz" * 200 + "hé" * 300
    letters = sorted(set(text))
    assert (objective.train_size, objective.validation_size) == (972 - 16, (108 - 16 - 1) // 16 + 1)
    assert objective.test_size == (120 - 16 - 1) // 16 + 1
    batch = objective.pick([0, 700])
    for row, start in enumerate((0, 700)):
        assert "".join(letters[c] for c in batch.inputs[row]) == text[start : start + 16]
        assert "".join(letters[c] for c in batch.labels[row]) == text[start + 1 : start + 17]
    validation = Loader(objective.validation, objective.device, torch.float32).load([0, 5])
    assert "".join(letters[c] for c in validation.inputs[1]) == text[972 + 80 : 972 + 96]
    test = Loader(objective.test, objective.device, torch.float32).load([0, 6])
    assert "".join(letters[c] for c in test.labels[1]) == text[1080 + 97 : 1080 + 113]


def test_it_learns_a_rhythm_and_counts_characters(tmp_path, monkeypatch):
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    (tmp_path / "rhythm.txt").write_text("abcabd" * 500)
    objective = build(path="rhythm.txt")
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    before = objective.evaluate(weights, 0, objective.validation_size)
    assert before.count == 16 * objective.validation_size
    assert before.loss_sum / before.count == pytest.approx(math.log(4), abs=0.1)
    random = np.random.default_rng(0)
    weights.grad = gradient
    optimizer = torch.optim.Adam([weights], lr=0.005)
    for _ in range(150):
        objective.gradient(objective.pick(random.integers(0, objective.train_size, 8)))
        optimizer.step()
    score = objective.evaluate(weights, 0, objective.test_size, "test")
    assert score.correct / score.count > 0.9, "5/6 needs the last character only, more the one three before"


def test_rare_characters_are_read_as_one(tmp_path):
    many = "".join(chr(0x4E00 + i) * 2 for i in range(255)) + "åß"
    (tmp_path / "t.txt").write_text(many)
    text_transformer.load.cache_clear()
    codes, vocabulary = text_transformer.load((tmp_path / "t.txt",))
    assert vocabulary == 256
    assert codes[-2:].tolist() == [255, 255]
    assert codes[:510].tolist() == [i // 2 for i in range(510)]


def test_faults_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("HOOKE_DATA", raising=False)
    with pytest.raises(DataMissing, match="HOOKE_DATA is not set"):
        build()
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    with pytest.raises(DataMissing, match=r"holds no \*\.txt"):
        build()
    with pytest.raises(DataMissing, match="is not a file"):
        build(path="absent.txt")
    for name, content, says in (
        ("empty.txt", b"", "0 characters are too few"),
        ("short.txt", b"a" * 100, "100 characters are too few"),
        ("no-validation.txt", b"a" * 180, "180 characters are too few"),
        ("latin.txt", b"abc\xff", "not UTF-8 at byte 3"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataInvalid, match=says):
            build(path=name)
    for bad in ({"heads": 3}, {"path": "/etc/passwd"}, {"path": "../x"}, {"context": 0}):
        with pytest.raises(ValidationError):
            workload("text-transformer")(**SMALL | bad)
