"""Reads CIFAR-10: the published records, JPEG files in a tar archive, or a part of the records.

Every form is converted to uint8 images (n, 32, 32, 3) and labels, the test part last. Decoding 60,000 JPEG files
takes half a minute, so it is done once: the pixels are stored in the user's cache, under the archive's hash, and
memory-mapped by every rank.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import io
import os
import tarfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from hooke.errors import DataInvalid, DataMissing
from hooke.readers import places

if TYPE_CHECKING:
    from hooke.objective.samples import Samples

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD = 1 + 3 * 32 * 32
"""Bytes of a record: its class, then 1,024 red, 1,024 green and 1,024 blue values."""
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
"""Mean and standard deviation of the training pixels per channel, in 0..1."""
FORMS = {
    "original": ("cifar10", tuple(f"data_batch_{i}.bin" for i in range(1, 6)) + ("test_batch.bin",)),
    "jpeg": ("cifar10-jpeg", ("cifar10-jpeg.tar.gz",)),
    "lossless-4k": ("cifar10-lossless-4k", ("data_batch_1_first4000.bin",)),
}
"""Name of a form -> its folder in HOOKE_DATA and its files; each .bin also as .bin.gz."""
Form = Annotated[
    Literal["auto", "original", "jpeg", "lossless-4k"],
    Field(
        title="Form of the data",
        description="`auto`: the published files, else JPEG. `lossless-4k`: 4,000 images, 500 of them for tests.",
    ),
]
"""Parameter of the CIFAR-10 workloads: which files to read."""
Augment = Annotated[
    bool, Field(title="Augment", description="Train on random crops (4 pixels of padding) and mirror images.")
]
"""Parameter of the CIFAR-10 workloads: whether to augment training images."""
PUT = (
    "Put the six binary files of cifar-10-binary.tar.gz into a folder `cifar10`, or `cifar10-jpeg.tar.gz` "
    "(train/<class>/*.jpg, test/<class>/*.jpg) into `cifar10-jpeg`"
)


def find(form: str, workload: str) -> tuple[str, tuple[Path, ...]]:
    """Return the form (`auto`: the first complete one found) and its files. Raises DataMissing."""
    root = places.data(workload, "CIFAR-10", PUT)
    lacking = []
    for name in ("original", "jpeg") if form == "auto" else (form,):
        folder, files = FORMS[name]
        there = [_file(root / folder, file) for file in files]
        if all(there):
            return name, tuple(path for path in there if path is not None)
        absent = ", ".join(file for file, path in zip(files, there, strict=True) if path is None)
        lacking.append(f"{root / folder} lacks {absent}")
    raise DataMissing(f"{workload} does not find CIFAR-10: {'; '.join(lacking)}. {PUT}")


def _file(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


@functools.cache
def load(form: str, files: tuple[Path, ...], augment: bool) -> tuple[Samples, Samples]:
    """Return the training and the test part, read once per process. Raises DataInvalid for damaged files."""
    import numpy as np
    import torch

    from hooke.objective.samples import Samples

    if form == "jpeg":
        pixels, labels, cut = _archive(files[0])
    else:
        table = np.concatenate([_records(path) for path in files])
        pixels, labels = table[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), table[:, 0]
        cut = len(table) * 5 // 6 if form == "original" else len(table) * 7 // 8
    images = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2)
    classes = torch.from_numpy(labels.astype(np.int64))
    scale, shift = [1 / (255 * d) for d in DEVIATION], [-m / d for m, d in zip(MEAN, DEVIATION, strict=True)]
    train = Samples(images[:cut], classes[:cut], scale, shift, crop=4 if augment else 0, flip=augment)
    return train, Samples(images[cut:], classes[cut:], scale, shift)


def _records(path: Path) -> Any:
    import numpy as np

    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(10_000 * RECORD + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataInvalid(f"{path}: damaged gzip file ({error}); fetch it again") from None
    if not data or len(data) % RECORD or len(data) > 10_000 * RECORD:
        raise DataInvalid(
            f"{path}: {len(data)} bytes or more; a file of CIFAR-10 holds up to 10,000 records of {RECORD} bytes"
        )
    table = np.frombuffer(bytearray(data), dtype=np.uint8).reshape(-1, RECORD)
    if table[:, 0].max() >= len(CLASSES):
        raise DataInvalid(f"{path}: a record has the class {table[:, 0].max()}; at most 9 is one")
    return table


def _archive(path: Path) -> tuple[Any, Any, int]:
    """Return pixels, labels and the number of training images of a tar archive, from the cache if possible."""
    import numpy as np

    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    kept = places.cache(f"cifar10-{digest[:32]}.npy")
    with contextlib.suppress(OSError, ValueError, EOFError):  # missing or damaged: decode again
        table = np.load(kept, mmap_mode="c", allow_pickle=False)
        if table.dtype == np.uint8 and table.ndim == 1 and len(table) % (RECORD + 1) == 0:
            return _cut(table)
    table = _decoded(path)
    with contextlib.suppress(OSError):  # cache not writable: the next start decodes again
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_name(f"{kept.name}.{os.getpid()}.tmp")
        with temporary.open("wb") as out:
            np.save(out, table)
        temporary.replace(kept)  # atomic, whichever rank is first
    return _cut(table)


def _cut(table: Any) -> tuple[Any, Any, int]:
    count = len(table) // (RECORD + 1)
    parts, labels, pixels = table[:count], table[count : 2 * count], table[2 * count :]
    return pixels.reshape(count, 32, 32, 3), labels, int((parts == 0).sum())


def _decoded(path: Path) -> Any:
    """Return the part (0 training, 1 test) of every image, then every class, then all pixels, as one array.

    Images are sorted by part, class and name. Pixels are contiguous, so that they can be used memory-mapped.
    """
    import numpy as np
    from PIL import Image

    rows: dict[tuple[int, int, str], bytes] = {}
    name = ""
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = member.name
                part, _, rest = name.removeprefix("./").partition("/")
                folder, _, image = rest.partition("/")
                if not member.isfile() or part not in ("train", "test") or folder not in CLASSES:
                    continue
                file = archive.extractfile(member)
                with Image.open(io.BytesIO(file.read() if file else b""), formats=("JPEG", "PNG")) as picture:
                    if picture.size != (32, 32):
                        raise ValueError(f"{picture.size[0]} x {picture.size[1]} pixels instead of 32 x 32")
                    key = (0 if part == "train" else 1, CLASSES.index(folder), image)
                    rows[key] = picture.convert("RGB").tobytes()
    except Exception as error:  # a decoder may raise anything on rubbish
        raise DataInvalid(f"{path}: damaged at or after {name!r} ({error}); fetch it again") from error
    if not any(part == 0 for part, _, _ in rows) or not any(part == 1 for part, _, _ in rows):
        raise DataInvalid(f"{path}: no images in train/<class>/ or none in test/<class>/")
    keys = sorted(rows)
    head = bytes(part for part, _, _ in keys) + bytes(label for _, label, _ in keys)
    return np.frombuffer(bytearray(head + b"".join(rows[key] for key in keys)), dtype=np.uint8)
