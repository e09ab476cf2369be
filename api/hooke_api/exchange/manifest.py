"""The file of an experiment, a zip: its parts, its manifest and its limits.

    experiment.json      specification and what users wrote about it: an ExperimentRecord
    algorithms.json      what was known of its algorithms: an AlgorithmRecord for each
    runs.jsonl ...       rows of tables, one JSON object a line (`hooke_api.exchange.records`)
    logs.jsonl           if asked for: output
    files.jsonl          if asked for: parts of traces and of samples of the system
    manifest.json        a Manifest, the last: size and SHA-256 of each part

Nothing of a bundle is a path or a program: parts have fixed names, and own algorithms are described, not included.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from hooke.errors import Fault, HookeError
from hooke.spec.frozen import Frozen, Label, Name
from hooke.spec.specification import ExperimentSpec
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from hooke_api.experiments.organising import MOST_TAGS
from hooke_api.experiments.schemas import Tag

FORMAT = "hooke.bundle"
VERSION = 1
MANIFEST, EXPERIMENT, ALGORITHMS = "manifest.json", "experiment.json", "algorithms.json"
LOGS, FILES = "logs.jsonl", "files.jsonl"
TABLES = (
    "runs.jsonl",
    "attempts.jsonl",
    "transitions.jsonl",
    "evaluations.jsonl",
    "totals.jsonl",
    "dropped.jsonl",
    "steps.jsonl",
)
OPTIONAL = (LOGS, FILES)
PARTS = (EXPERIMENT, ALGORITHMS, *TABLES, *OPTIONAL)
"""In the order in which they are written and read."""
MOST_INFLATED = 1 << 30
"""Bytes of all parts together."""
MOST_RATIO = 100
"""Inflated bytes per byte of the file, beyond FREELY."""
FREELY = 64 << 20
"""Inflated bytes for which the ratio does not count: few rows that are alike are packed 1000 to 1."""
MOST_LINE = 16 << 20
"""Bytes of a line: 65,536 steps of one rank, in base64."""
MOST_DOCUMENT = 4 << 20
"""Bytes of the manifest, of the experiment, and of the algorithms."""
MOST_RUNS = 20_000
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class BundleError(HookeError):
    """A bundle cannot be imported; the message says what is wrong with it, and where."""


class Part(Frozen):
    """One file of a bundle."""

    name: str
    bytes: int = Field(ge=0)
    sha256: Digest


class OriginRecord(Frozen):
    """Where an experiment was made."""

    server: str = Field(min_length=1, max_length=255)
    """Address or host name of the server."""
    experiment: str = Field(pattern=r"^exp_[0-9a-f]{32}$")
    """Its id there."""
    number: int = Field(ge=1, le=2**31 - 1)
    user: str = Field(min_length=1, max_length=120)
    """Who submitted it."""


class Manifest(BaseModel):
    """What a bundle holds. Later versions of the format may have further fields; `version` says so."""

    model_config = ConfigDict(frozen=True)

    format: Literal["hooke.bundle"]
    version: int = Field(ge=1)
    hooke: str = Field(max_length=40)
    """Version of the Hooke that wrote it."""
    exported_at: AwareDatetime
    name: Label | None = None
    """What the experiment is called, which may be another name than that in its specification; null: that one."""
    origin: OriginRecord
    parts: list[Part] = Field(max_length=64)

    def digest(self, experiment: ExperimentRecord) -> str:
        """Return what is the same in every bundle of the same measurement: SHA-256 of its id, its tables and what
        was submitted.

        Name, note, tags, output and traces may differ, and the address of the server. Without the specification, a
        bundle with another baseline or target would stand in the way of the true one.
        """
        told = sorted(f"{part.name} {part.sha256}" for part in self.parts if part.name in TABLES)
        submitted = experiment.model_dump(mode="json", by_alias=True, exclude={"note", "tags"})
        texts = [self.origin.experiment, *told, json.dumps(submitted, sort_keys=True)]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


class EarlierRecord(Frozen):
    """An experiment before an extension: `at` what time and `by` whom that was done."""

    spec: ExperimentSpec
    fingerprint: Digest
    at: AwareDatetime
    by: str = Field(min_length=1, max_length=120)


class ExperimentRecord(Frozen):
    """An experiment without its runs."""

    spec: ExperimentSpec
    fingerprint: Digest
    warnings: list[Fault] = Field(max_length=1000)
    created_at: AwareDatetime
    finished_at: AwareDatetime
    cores: dict[Name, int]
    note: str = Field(max_length=10_000)
    tags: list[Tag] = Field(max_length=MOST_TAGS)
    earlier: list[EarlierRecord] = Field([], max_length=100, exclude_if=lambda value: not value)
    """What it was before each extension; its comparison tells of them."""


class AlgorithmRecord(Frozen):
    """What its server knew of an algorithm."""

    name: Name
    built_in: bool
    hash: Digest | None
    """Of the file of an own algorithm, by the specifications of its runs."""
    coordination: Literal["synchronous", "parameter-server", "lock-free"] | None
    """What lets a worker take its next step; null: not known any more."""
    document: dict[str, Any] | None
    """Description of an own algorithm by the agent of its cluster: parameters, docstring. Only kept as text."""
