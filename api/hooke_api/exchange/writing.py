"""Writes a bundle while it is read from the database: one transaction for some runs of one table at a time."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import IO, Any, get_args

from hooke.catalogue.claims import Coordination
from hooke.catalogue.discovery import built_in
from hooke.errors import Fault
from hooke.spec.specification import ExperimentSpec
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict
from hooke_api.exchange import records
from hooke_api.exchange.attempt_files import file_lines
from hooke_api.exchange.manifest import (
    ALGORITHMS,
    EXPERIMENT,
    FILES,
    FORMAT,
    LOGS,
    MANIFEST,
    VERSION,
    AlgorithmRecord,
    EarlierRecord,
    ExperimentRecord,
    Manifest,
    OriginRecord,
    Part,
)
from hooke_api.exchange.portions import portion
from hooke_api.experiments.organising import tags_of
from hooke_api.models import CatalogueEntry, Chunk, Experiment, LogBlock, Run, database_time
from hooke_api.storage.database import Database
from hooke_api.storage.lines import unpack
from hooke_api.storage.present import present_experiment
from hooke_api.storage.steps import check_objects, chunks

RUNS = 50
"""Runs whose rows one transaction reads; of steps and output, one."""
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every part: the same data give the same bytes."""
_LEVEL = 6


@dataclass(frozen=True)
class _Known:
    """What is read of an experiment before the first byte is sent."""

    documents: dict[str, bytes]
    runs: Mapping[str, int]
    """Id -> number, in that order."""
    origin: OriginRecord


def bundle_of(
    database: Database, experiment_id: str, server: str, logs: bool, traces: bool = False
) -> Iterator[bytes]:
    """Return the bytes of a bundle. `server`: name of this server in it; `logs`: whether output goes along.

    `traces`: whether traces and samples of the system do.

    Raises ResourceNotFound, and Conflict while the experiment has not ended, or if it continues another one.
    """
    with database.read() as session:
        experiment = present_experiment(session, experiment_id)
        _check_whole(experiment)
        check_objects(session, experiment_id)
        known = _known(session, experiment, server)
        head = {"format": FORMAT, "version": VERSION, "name": experiment.name}
        head["exported_at"] = database_time(session)
    return _parts(database, known, (logs, traces), head)


def _check_whole(experiment: Experiment) -> None:
    if experiment.finished_at is None:
        raise Conflict(f"experiment {experiment.number} has not ended: wait for it, or cancel it")
    tuning = ExperimentSpec.model_validate(experiment.spec).tuning
    if tuning is not None and tuning.continues is not None:
        raise Conflict(
            f"experiment {experiment.number} continues the tuning of another one, and a bundle holds one "
            "experiment: its verdict could not be told from it"
        )


def _known(session: Session, experiment: Experiment, server: str) -> _Known:
    mine = select(Run.id, Run.number).where(Run.experiment_id == experiment.id).order_by(Run.number)
    origin = (
        OriginRecord.model_validate(experiment.origin["from"])
        if experiment.origin
        else OriginRecord(
            server=server, experiment=experiment.id, number=experiment.number, user=experiment.created_by
        )
    )
    record = ExperimentRecord(
        spec=ExperimentSpec.model_validate(experiment.spec),
        fingerprint=experiment.fingerprint,
        warnings=[Fault(**each) for each in experiment.warnings],
        created_at=experiment.created_at,
        finished_at=experiment.finished_at or experiment.created_at,
        cores=experiment.cores,
        note=experiment.note,
        tags=tags_of(session, [experiment.id]).get(experiment.id, []),
        earlier=[EarlierRecord.model_validate(each) for each in experiment.earlier],
    )
    told = [each.model_dump(mode="json") for each in _algorithms(session, experiment)]
    documents = {
        EXPERIMENT: records.line_of(record.model_dump(mode="json", by_alias=True)),
        ALGORITHMS: records.line_of(told),
    }
    return _Known(documents, {run: number for run, number in session.execute(mine)}, origin)


def _algorithms(session: Session, experiment: Experiment) -> list[AlgorithmRecord]:
    """Return what is known of the algorithms of the runs, by name."""
    if experiment.origin:
        return [AlgorithmRecord.model_validate(each) for each in experiment.origin["algorithms"]]
    columns = (Run.algorithm, Run.host, Run.spec["algorithm"])
    query = select(*columns).where(Run.experiment_id == experiment.id).order_by(Run.number)
    known = built_in("algorithm")
    found: dict[str, AlgorithmRecord] = {}
    for name, host, choice in session.execute(query):
        if name in found:
            continue
        entry = session.get(CatalogueEntry, (host, "algorithm", name))
        own = choice.get("hash") is not None
        document = entry.document if entry is not None and own else None
        coordination = entry.document.get("coordination") if entry is not None else None
        if coordination not in get_args(Coordination):  # not reported by early agents
            coordination = known[name].cls.coordination if name in known and not own else None
        found[name] = AlgorithmRecord(
            name=name,
            built_in=not own,
            hash=choice.get("hash"),
            coordination=coordination,
            document=document,
        )
    for variant in ExperimentSpec.model_validate(experiment.spec).variants:
        if variant.algorithm not in found:  # it was cancelled before it had a run
            own = variant.algorithm not in known
            told = None if own else known[variant.algorithm].cls.coordination
            found[variant.algorithm] = AlgorithmRecord(
                name=variant.algorithm, built_in=not own, hash=None, coordination=told, document=None
            )
    return [found[name] for name in sorted(found)]


class _Pipe:
    """What a zip is written to: bytes that are taken away while it grows."""

    def __init__(self) -> None:
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        """Append bytes."""
        self._held += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: what is written is there."""

    def take(self) -> bytes:
        """Return what has been written since the last call."""
        taken = bytes(self._held)
        self._held.clear()
        return taken


class _Counted:
    """A part that is being written."""

    def __init__(self, name: str, target: IO[bytes]) -> None:
        self.name = name
        self._target = target
        self._size, self._digest = 0, hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Write bytes of the part."""
        self._target.write(data)
        self._size += len(data)
        self._digest.update(data)

    def told(self) -> Part:
        """Return the part's entry of the manifest."""
        return Part(name=self.name, bytes=self._size, sha256=self._digest.hexdigest())


def _parts(database: Database, known: _Known, more: tuple[bool, bool], head: dict[str, Any]) -> Iterator[bytes]:
    pipe = _Pipe()
    parts: list[Part] = []
    contents: list[tuple[str, Iterable[bytes]]] = [(name, [text]) for name, text in known.documents.items()]
    for name, carried in records.CARRIED.items():
        lines_of = _step_lines if carried.model is Chunk else _rows
        contents.append((name, lines_of(database, carried, known.runs)))
    logs, traces = more
    if logs:
        contents.append((LOGS, _log_lines(database, known.runs)))
    if traces:
        contents.append((FILES, file_lines(database, known.runs)))
    with zipfile.ZipFile(pipe, "w") as archive:  # type: ignore[call-overload]  # needs write and flush alone
        for name, lines in contents:
            with archive.open(_header(name), "w", force_zip64=True) as target:
                part = _Counted(name, target)
                for line in lines:
                    part.write(line)
                    if ready := pipe.take():
                        yield ready
            parts.append(part.told())
        manifest = Manifest(hooke=version("hooke-api"), origin=known.origin, parts=parts, **head)
        text = json.dumps(manifest.model_dump(mode="json"), ensure_ascii=False, indent=1).encode()
        archive.writestr(_header(MANIFEST), text)
    yield pipe.take()


def _header(name: str) -> zipfile.ZipInfo:
    header = zipfile.ZipInfo(name, _DATE)
    header.compress_type = zipfile.ZIP_DEFLATED
    header._compresslevel = _LEVEL  # type: ignore[attr-defined]  # has no public name before Python 3.13
    header.external_attr = 0o644 << 16
    return header


def _rows(database: Database, carried: records.Carried, numbers: Mapping[str, int]) -> Iterator[bytes]:
    """Yield the rows of one table, by run and then in the order of their keys."""
    runs = list(numbers)
    columns = records.table_of(carried.model).columns
    run = columns["id" if carried.model is Run else "run_id"]
    keys = [*records.table_of(carried.model).primary_key]

    def some(first: int) -> Iterator[bytes]:
        with database.read() as session:
            query = select(run, *carried.columns).where(run.in_(runs[first : first + RUNS])).order_by(run, *keys)
            for row in session.execute(query.execution_options(yield_per=500)).mappings():
                yield records.written(carried, dict(row), numbers[row[run.name]])

    for first in range(0, len(runs), RUNS):
        yield from portion(some(first))


def _step_lines(database: Database, carried: records.Carried, numbers: Mapping[str, int]) -> Iterator[bytes]:
    """Yield the chunks of all runs, wherever they are, by run, attempt, rank and seq."""

    def of_run(run: str, number: int) -> Iterator[bytes]:
        with database.read() as session:
            for chunk in chunks(session, run):
                yield records.written(carried, chunk._asdict(), number)

    for run, number in numbers.items():
        yield from portion(of_run(run, number))


def _log_lines(database: Database, runs: Mapping[str, int]) -> Iterator[bytes]:
    """Yield the blocks of output, with their lines as text."""

    def of_run(run: str, number: int) -> Iterator[bytes]:
        with database.read() as session:
            query = select(LogBlock).where(LogBlock.run_id == run).order_by(LogBlock.id)
            for block in session.scalars(query.execution_options(yield_per=8)):
                lines = [[each.rank, each.stream, each.unix, each.text] for each in unpack(block.data)]
                told = {name: getattr(block, name) for name in ("attempt", "cut_lines", "cut_bytes")}
                yield records.line_of({records.RUN: number, "lines": lines} | told)

    for run, number in runs.items():
        yield from portion(of_run(run, number))
