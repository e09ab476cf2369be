"""Any text file and a small Transformer that predicts its next character."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from hooke.catalogue.workload import ALONE, Place, Sizes, Workload
from hooke.errors import DataInvalid, DataMissing
from hooke.readers import places

if TYPE_CHECKING:
    from torch import Tensor, nn

    from hooke.objective.flat import FlatObjective

VOCABULARY = 255
"""Maximum number of distinct characters; all rarer ones are mapped to one more code."""
HELD_OUT = 0.1
"""Fraction of the text at its end that is the test part."""
PUT = "Put text files (UTF-8, *.txt) into a folder `text`"


class TextTransformer(Workload):
    """Text, character-level Transformer.

    Data: a text file in UTF-8, `path` inside `$HOOKE_DATA`; by default all of `$HOOKE_DATA/text/*.txt`,
    concatenated in the order of their names. The last tenth is the test part, the last tenth of the rest the
    validation part, both divided into pieces of `context` characters; the rest is for training, with pieces at
    any position. No piece extends into another part. The 255 most frequent characters of the whole text are
    distinguished.

    Model: decoder-only Transformer, normalisation first, learned positions, GELU, no dropout; about
    12 layers width^2 parameters (421,632 at the default size, for 65 characters). Weights start as GPT-2's.

    Loss: mean cross-entropy per character; accuracy is the fraction of next characters predicted correctly. A
    sample is one piece of `context` characters.

    Target: 45 %, an expectation, not measured; it depends on the text.

    Licence: that of your text. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.45
    data_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: str = Field(
        "", max_length=500, title="File", description="Text file inside HOOKE_DATA; empty: all of text/*.txt."
    )
    context: int = Field(64, ge=1, le=4096, title="Context", description="Characters used for a prediction.")
    width: int = Field(128, ge=1, le=4096, title="Width", description="Size of a character's vector.")
    heads: int = Field(4, ge=1, le=64, title="Heads", description="Attention heads; they divide the width.")
    layers: int = Field(2, ge=1, le=64, title="Layers", description="Blocks of attention and perceptron.")

    @model_validator(mode="after")
    def _divides(self) -> TextTransformer:
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")
        if Path(self.path).is_absolute() or ".." in Path(self.path).parts:
            raise ValueError("the file lies inside HOOKE_DATA: its path is relative, without `..`")
        return self

    def find_data(self) -> None:
        """Find the files of the text. Raises DataMissing with those to provide."""
        find(self.path, self.id())

    def memory_sizes(self) -> Sizes:
        """Return weights and activations for ASCII text, which has 96 characters; its file counts for nothing."""
        w, n, characters = self.width, self.layers, 96
        weights = (2 * characters + self.context) * w + n * (12 * w * w + 13 * w) + 2 * w
        kept = self.context * (n * 18 * w + 2 * characters + 2 * w)
        return Sizes(weights, 0, kept, f"{characters} characters, and a text of little memory")

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Read the text and build the model; imports torch. Raises DataMissing with the files to provide."""
        from hooke.objective.flat import FlatObjective
        from hooke.objective.models.transformer import Transformer, initialise
        from hooke.objective.parts import cut_of_text
        from hooke.objective.samples import Windows

        files = find(self.path, self.id())
        codes, vocabulary = load(files)
        end = len(codes) - int(len(codes) * HELD_OUT)
        cut = cut_of_text(end)
        train = Windows(codes[:cut], self.context, 1)
        validation, test = (Windows(part, self.context, self.context) for part in (codes[cut:end], codes[end:]))
        if min(map(len, (train, validation, test))) < 1:
            raise DataInvalid(
                f"{files[0]}: {len(codes)} characters are too few: each part of the text, a tenth or less, must "
                f"hold a context of {self.context} and one more. Take a longer text or a shorter context"
            )

        def make() -> nn.Module:
            return Transformer(vocabulary, self.context, self.width, self.heads, self.layers)

        return FlatObjective(make, train, test, validation=validation, initialise=initialise, place=place)


def find(path: str, workload: str) -> tuple[Path, ...]:
    """Return the files of the text. Raises DataMissing."""
    root = places.data(workload, "a text", PUT)
    if path:
        if not (root / path).is_file():
            raise DataMissing(
                f"{workload} does not find its text: {root / path} is not a file (HOOKE_DATA={root})"
            )
        return (root / path,)
    files = tuple(sorted(p for p in (root / "text").glob("*.txt") if p.is_file()))
    if not files:
        raise DataMissing(f"{workload} does not find a text: {root / 'text'} holds no *.txt. {PUT}")
    return files


@functools.cache
def load(files: tuple[Path, ...]) -> tuple[Tensor, int]:
    """Return the character codes, uint8 (n,), numbered by code point, and the number of distinct codes."""
    import numpy as np
    import torch

    text = "".join(map(_text, files))
    common = sorted(character for character, _ in Counter(text).most_common(VOCABULARY))
    points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    known = np.array([ord(character) for character in common], dtype="<u4")
    codes = np.searchsorted(known, points).clip(max=max(len(known) - 1, 0)).astype(np.int64)
    rare = known[codes] != points if len(known) else np.zeros(0, dtype=bool)
    codes[rare] = len(known)
    return torch.from_numpy(codes.astype(np.uint8)), len(known) + int(rare.any())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataInvalid(f"{path}: not UTF-8 at byte {error.start}; convert it, e.g. with iconv") from None
