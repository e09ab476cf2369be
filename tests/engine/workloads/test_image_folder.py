"""Folders of images: streamed in bounded memory, augmented as described, and damage is named."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Place, workload
from hooke.errors import DataInvalid, DataMissing
from hooke.objective.image_folder import DEVIATION, MEAN, ImageFolder
from hooke.objective.loader import Loader
from hooke.spec.specification import Compute
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

CPU = Place(Compute(device="cpu"))


def picture(path, width: int, height: int, seed: int = 0) -> np.ndarray:
    """Write smooth noise, so that JPEG keeps it, and return what was written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    small = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    image = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
    image.save(path, quality=95)
    return np.asarray(image)


def folders(root, classes: int = 3, each: int = 4, width: int = 48, height: int = 40):
    for part, count in (("train", each), ("val", 2)):
        for label in range(classes):
            for i in range(count):
                suffix = ("jpg", "png", "JPEG")[i % 3]
                picture(root / part / f"class{label}" / f"{i:03}.{suffix}", width, height, 100 * label + i)
    (root / "train" / "class0" / "notes.txt").write_text("not an image")
    return root


def read(source: ImageFolder, at: list[int], random=None) -> tuple[np.ndarray, list[int]]:
    items = torch.empty(len(at), *source.shape, dtype=source.dtype)
    labels = torch.empty(len(at), dtype=torch.int64)
    source.read(torch.tensor(at), items, labels, random)
    return items.numpy(), labels.tolist()


def test_classes_are_folders_in_order(tmp_path):
    source = ImageFolder(folders(tmp_path) / "train", 16)
    assert (len(source), source.classes) == (12, ["class0", "class1", "class2"])
    assert source.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert source.path(5) == tmp_path / "train" / "class1" / "001.png"


def test_evaluation_sees_the_center(tmp_path):
    path = tmp_path / "a" / "x.png"
    whole = picture(path, 64, 32)
    pixels, _ = read(ImageFolder(tmp_path, 28), [0])
    # the shorter side is resized to 28 * 256 / 224 = 32, which it has already: the center is cut out as it is
    assert np.array_equal(pixels[0], whole[2:30, 18:46])


def test_training_draws_windows_and_mirror_images_from_the_given_generator(tmp_path):
    """On an image whose red and green say where a pixel comes from."""
    x, y = np.meshgrid(np.arange(200), np.arange(160))
    (tmp_path / "a").mkdir()
    Image.fromarray(np.stack([x, y, 0 * x], 2).astype(np.uint8)).save(tmp_path / "a" / "x.png")
    source = ImageFolder(tmp_path, 32)
    random = np.random.default_rng(0)
    areas, mirrored = [], 0
    for _ in range(200):
        pixels = read(source, [0], random)[0][0].astype(float)
        width, height = pixels[0, -1, 0] - pixels[0, 0, 0], pixels[-1, 0, 1] - pixels[0, 0, 1]
        mirrored += width < 0
        areas.append(abs(width) * height / (160 * 200))
        assert height > 0
        assert 0.6 < abs(width) / height < 1.6
    assert 70 < mirrored < 130
    assert min(areas) < 0.15
    assert max(areas) > 0.75
    again = [read(source, [0], np.random.default_rng(7))[0] for _ in range(2)]
    assert np.array_equal(*again)


def test_a_worker_trains_on_a_folder(tmp_path, monkeypatch):
    folders(tmp_path / "imagenet")
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    objective = workload("imagenet-googlenet")(side=32, dropout=0).build(CPU)
    assert (objective.train_size, objective.validation_size, objective.test_size) == (11, 1, 6)
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    batch = objective.pick([0, 5, 10])  # items 1, 6 and 11: item 0 is held out
    assert batch.inputs.shape == (3, 3, 32, 32)
    assert batch.inputs.is_contiguous(memory_format=torch.channels_last)
    assert batch.labels.tolist() == [0, 1, 2]
    assert np.isfinite(objective.gradient(batch))
    assert torch.isfinite(gradient).all()
    assert objective.evaluate(weights, 0, 1).count == 1
    assert objective.evaluate(weights, 0, 6, "test").count == 6
    pixels, _ = read(objective.test, [3])
    expected = (pixels[0] / 255 - np.array(MEAN)) / np.array(DEVIATION)
    seen = Loader(objective.test, objective.device, torch.float32).load([3]).inputs[0].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(seen, expected, atol=1e-5)
    objective.close()


MEMORY = """
import resource, sys, torch
from pathlib import Path
from hooke.objective.image_folder import ImageFolder
source = ImageFolder(Path(sys.argv[1]), 32)
items, labels = torch.empty(8, 32, 32, 3, dtype=torch.uint8), torch.empty(8, dtype=torch.int64)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
source.read(torch.arange(8), items, labels, None)
before = peak()
for at in torch.arange(len(source)).split(8):
    source.read(at, items[: len(at)], labels[: len(at)], None)
print(len(source), peak() - before)
"""


def test_memory_does_not_grow_with_the_set(tmp_path):
    blank = Image.new("RGB", (400, 400), (10, 200, 30))  # 480 kB of pixels, 2 kB on disk
    blank.save(tmp_path / "one.png")
    data = (tmp_path / "one.png").read_bytes()
    for i in range(300):
        path = tmp_path / "set" / f"class{i % 3}" / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    out = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "set")], capture_output=True, text=True, check=True
    )
    count, grown = map(int, out.stdout.split())
    assert count == 300
    assert grown < 8e6, f"{grown} bytes more after reading 144 MB of pixels"


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    build = workload("imagenet-vgg19")().build
    monkeypatch.delenv("HOOKE_DATA", raising=False)
    with pytest.raises(DataMissing, match=r"HOOKE_DATA is not set.*train/<class>"):
        build()
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataMissing, match="is not a folder"):
        build()
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))
    with pytest.raises(DataMissing, match="there is no folder .*train"):
        build()
    (tmp_path / "imagenet" / "train").mkdir(parents=True)
    (tmp_path / "imagenet" / "val").mkdir()
    with pytest.raises(DataMissing, match="has no subfolders"):
        build()
    (tmp_path / "imagenet" / "train" / "cat").mkdir()
    with pytest.raises(DataMissing, match="hold no image"):
        build()
    picture(tmp_path / "imagenet" / "train" / "cat" / "a.jpg", 32, 32)
    picture(tmp_path / "imagenet" / "val" / "dog" / "a.jpg", 32, 32)
    with pytest.raises(DataInvalid, match="dog is not a class of the training set"):
        build()


def test_an_image_that_vanishes_is_named(tmp_path):
    source = ImageFolder(folders(tmp_path) / "train", 16)
    (tmp_path / "train" / "class0" / "000.jpg").unlink()
    with pytest.raises(DataMissing, match=r"000\.jpg was listed"):
        read(source, [0])


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damaged_images_are_named_and_nothing_else_is_raised(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("damaged")
    path = root / "a" / data.draw(st.sampled_from(["x.jpg", "x.png"]))
    picture(path, 24, 24)
    whole = bytearray(path.read_bytes())
    kind = data.draw(st.sampled_from(["cut", "junk", "changed"]))
    if kind == "cut":
        whole = whole[: data.draw(st.integers(0, len(whole) * 3 // 4))]
    elif kind == "junk":
        whole = bytearray(data.draw(st.binary(max_size=64)))
    else:
        for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=8)):
            whole[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    source = ImageFolder(root, 16)
    try:
        read(source, [0], np.random.default_rng(0))
    except DataInvalid as error:
        assert str(path) in str(error)
        assert "fetch it again" in str(error)
    else:
        assert kind == "changed", "a file without its end, or of rubbish, was decoded"
