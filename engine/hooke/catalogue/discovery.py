"""Discovery of algorithms and workloads: built-in, in files of users, and in installed packages.

- All modules of the packages `hooke.algorithms` and `hooke.workloads`.
- Folders in HOOKE_PATH (separated by `:`, like PATH): each may contain `algorithms/*.py` and `workloads/*.py`.
- Entry points of installed packages, in the groups `hooke.algorithms` and `hooke.workloads`.

Each file is read on its own; code that several files share belongs in an installed package. A file that cannot be
imported, or a class whose name is taken, is a `FileFault`; all other items are still found. `python -m
hooke.catalogue.discovery` prints everything as JSON: agents run it, because a user's file may end the process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import PydanticUserError

from hooke.catalogue import function_files
from hooke.catalogue.declarations import check
from hooke.catalogue.function_files import FunctionFiles
from hooke.catalogue.items import CatalogueItem, Kind, Origin
from hooke.catalogue.renamed import MEMBERS, MODULES
from hooke.spec.events import FileFault

KINDS: tuple[Kind, ...] = ("algorithm", "workload")
PATH = "HOOKE_PATH"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True)
class Found:
    """All items of one kind, by name in alphabetical order, and the faults of files that cannot be offered."""

    items: dict[str, CatalogueItem]
    file_faults: tuple[FileFault, ...]


def _base(kind: Kind) -> type[Any]:
    module = importlib.import_module(f"hooke.catalogue.{kind}")
    return getattr(module, kind.capitalize())  # type: ignore[no-any-return]


def _group(kind: Kind) -> str:
    return f"hooke.{kind}s"


@functools.cache
def _digest(file: str, _changed: tuple[int, int]) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def digest(file: str) -> str:
    """Return the SHA-256 of a source file, 64 hexadecimal digits."""
    status = Path(file).stat()
    return _digest(file, (status.st_mtime_ns, status.st_size))


def _classes(kind: Kind, module: ModuleType) -> list[type[Any]]:
    """Return the public classes of a kind that a module itself defines."""
    base = _base(kind)
    return [
        value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, base)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]


@functools.cache
def built_in(kind: Kind) -> dict[str, CatalogueItem]:
    """Return the built-in items of one kind, by name."""
    package = importlib.import_module(_group(kind))
    found = {}
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for cls in _classes(kind, module):
            file = str(module.__file__)
            found[cls.id()] = CatalogueItem(kind, cls.id(), cls, "built-in", file, digest(file))
    return dict(sorted(found.items()))


@functools.cache
def found(kind: Kind) -> Found:
    """Return all items of one kind that can be run here; they are read once per process."""
    items, file_faults = dict(built_in(kind)), []
    for offer in (*_files(kind), *_entry_points(kind)):
        known = items.get(offer.name)
        if isinstance(offer, FileFault):
            file_faults.append(offer)
        elif known is None:
            items[offer.name] = offer
        else:
            where = known.origin if known.origin == "built-in" else known.file
            error = f"the name {offer.name!r} is taken ({where}): give the class another name"
            file_faults.append(_fault(kind, offer.name, offer.file, error))
    return Found(dict(sorted(items.items())), tuple(file_faults))


def _fault(kind: Kind, name: str, file: str, error: str) -> FileFault:
    return FileFault(kind=kind, name=name[:255], file=file[:4096], error=error[:2000])


def _files(kind: Kind) -> Iterator[CatalogueItem | FileFault]:
    for entry in filter(None, os.environ.get(PATH, "").split(os.pathsep)):
        folder = Path(entry).absolute()
        if not folder.is_dir():
            yield _fault(kind, folder.name, str(folder), f"{PATH} names a folder that does not exist")
            continue
        for file in sorted((folder / f"{kind}s").glob("*.py")):
            if not file.name.startswith("_"):
                yield from _offers(kind, file.stem, str(file), "file", functools.partial(_read_file, kind, file))


def stamp(folders: str | None = None) -> str:
    """Return a text that changes with every file in HOOKE_PATH, or in these folders."""
    seen = []
    for entry in filter(None, (os.environ.get(PATH, "") if folders is None else folders).split(os.pathsep)):
        for file in sorted(Path(entry).glob("*s/*.py")):
            with contextlib.suppress(OSError):  # removed meanwhile
                status = file.stat()
                seen.append(f"{file} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(["", *seen])


def _entry_points(kind: Kind) -> Iterator[CatalogueItem | FileFault]:
    for point in sorted(metadata.entry_points(group=_group(kind)), key=lambda p: p.name):
        package = f" of {point.dist.name}" if point.dist else ""
        load = functools.partial(_read_entry_point, kind, point)
        yield from _offers(kind, point.name, f"{point.value}{package}", "entry point", load)


def _offers(
    kind: Kind, name: str, file: str, origin: Origin, load: Callable[[], tuple[list[type[Any]], str]]
) -> Iterator[CatalogueItem | FileFault]:
    """Yield the items of one file or entry point, or its faults."""
    try:
        classes, source = load()
        if not classes:
            wanted = (
                "a class derived from Algorithm"
                if kind == "algorithm"
                else ("a class derived from Workload, or the functions model, data and loss")
            )
            yield _fault(kind, name, file, f"contains no {kind}: define {wanted}")
    except (Exception, SystemExit) as error:  # a user's file may raise anything when it is read
        yield _fault(kind, name, file, _said(error, file))
        return
    for cls in classes:
        try:
            offer: CatalogueItem | FileFault = _offer(kind, cls, file, origin, source)
        except (Exception, SystemExit) as error:  # one class hides no other of its file
            offer = _fault(kind, _called(cls), file, _said(error, file))
        yield offer


def _offer(kind: Kind, cls: type[Any], file: str, origin: Origin, source: str) -> CatalogueItem | FileFault:
    """Return what a class offers, or what is wrong with it; raises whatever a user's class raises."""
    if not _NAME.fullmatch(cls.id()):
        return _fault(kind, cls.__name__, file, f"{cls.id()!r} cannot be a name: use ASCII letters and digits")
    if earlier := _renamed(name for name in MEMBERS if kind == "algorithm" and hasattr(cls, name)):
        return _fault(kind, cls.id(), file, f"{cls.__name__} uses an earlier name: {earlier}")
    if kind == "algorithm":
        check(cls, _base(kind))
    item = CatalogueItem(kind, cls.id(), cls, origin, source, digest(source))
    # what cannot be described, and sent as JSON, cannot be offered
    json.dumps(item.description, allow_nan=False, ensure_ascii=False).encode()
    return item


def _called(cls: type[Any]) -> str:
    """Return the name of a class that a user may have given anything for one."""
    with contextlib.suppress(Exception):
        return str(cls.id())
    return cls.__name__


def _renamed(names: Iterable[str]) -> str:
    """Return the current name of each of these members, as text; empty if there are none."""
    return ", ".join(f"{name} is now {MEMBERS[name]}" for name in names)


def _said(error: BaseException, file: str) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f" (line {lines[-1]})" if lines else ""
    moved = MODULES.get(error.name or "") if isinstance(error, ImportError) else None
    hint = f"; it is now {moved}: change the import" if moved else ""
    if isinstance(error, PydanticUserError):  # its text contains the member
        hint = "; " + _renamed(name for name in MEMBERS if f"`{name} = " in str(error))
    return f"{type(error).__name__}{where}: {error}"[:1000] + hint.removesuffix("; ")


def _read_file(kind: Kind, file: Path) -> tuple[list[type[Any]], str]:
    if kind == "workload" and _own().is_own(file):
        return [_own().from_file(file, file.stem.lower().replace("_", "-"))], str(file)
    name = f"hooke_own_{kind}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be read as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic looks here for the names that annotations use
    try:
        spec.loader.exec_module(module)
    except BaseException:  # a user's file may raise anything; no incomplete module may stay
        del sys.modules[name]
        raise
    return _classes(kind, module), str(file)


def _read_entry_point(kind: Kind, point: metadata.EntryPoint) -> tuple[list[type[Any]], str]:
    if not point.attr and kind == "workload":
        spec = importlib.util.find_spec(point.module)
        if spec is not None and spec.origin and _own().is_own(Path(spec.origin)):
            return [_own().from_module(point.module, point.name)], spec.origin
    value = point.load()
    if isinstance(value, ModuleType):
        return _classes(kind, value), str(value.__file__)
    if not (inspect.isclass(value) and issubclass(value, _base(kind))):
        raise TypeError(f"{point.value} is neither a module nor a class derived from {_base(kind).__name__}")
    return [value], str(inspect.getsourcefile(value))


def _own() -> FunctionFiles:
    importlib.import_module(_group("workload"))  # registers the reader
    return function_files.reader()


def everything() -> dict[str, Any]:
    """Return both catalogues in the form that an agent reports: `algorithms`, `workloads`, `problems`."""
    told: dict[str, Any] = {"problems": []}
    for kind in KINDS:
        here = found(kind)
        told[f"{kind}s"] = [item.description for item in here.items.values()]
        told["problems"] += [fault.model_dump() for fault in here.file_faults]
    return told


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):  # a user's file may print
        text = json.dumps(everything())
    sys.stdout.write(text)
