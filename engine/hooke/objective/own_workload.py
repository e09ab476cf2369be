"""A user workload: a Python file with three functions, wrapped as a Workload.

    def model(**parameters) -> nn.Module      the model with its initial weights
    def data(**parameters) -> (train, test)   or (train, validation, test): each (inputs, labels) as tensors, or a
                                              map-style data set
    def loss(output, target) -> Tensor        the mean over a batch
    def score(output, target) -> float        optional: the share of a batch that is right, 0..1

Parameters are keyword arguments with defaults and become the fields of the form. They are read from the syntax
tree: listing workloads does not execute the file, which may import torch; `build` does. The docstring of the file
is the documentation, its first line the title; a constant `target` is the default target accuracy.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import Field, PydanticUserError, create_model

from hooke.catalogue.workload import ALONE, Place, Workload
from hooke.errors import DataInvalid, NotFound

if TYPE_CHECKING:
    from hooke.objective.flat import FlatObjective

WANTED = ("model", "data", "loss")
PLAIN: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str}
EXECUTION = threading.Lock()


class OwnWorkload(Workload):
    """Base class of the workloads made by `from_file`: a file's functions with values for their parameters."""

    target: ClassVar[float] = 0.9
    name: ClassVar[str] = ""
    source: ClassVar[Path] = Path()
    takes: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Function -> the parameters that it takes."""

    @classmethod
    def id(cls) -> str:
        """Return the name of the workload."""
        return cls.name

    def build(self, place: Place = ALONE) -> FlatObjective:
        """Execute the file and build data and model. Raises DataInvalid if a function returns something else."""
        from hooke.objective import own_objective

        values = self.model_dump()
        module = execute(self.source)
        parts = {name: {k: values[k] for k in self.takes[name]} for name in ("model", "data")}
        return own_objective.build(module, self.source, parts["model"], parts["data"], place)


@dataclass
class _Read:
    """Information from a file's syntax tree."""

    documentation: str = ""
    target: float = 0.9
    takes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)


def is_own(path: Path) -> bool:
    """Return whether the file defines the three functions at its top level. The file is parsed, not executed."""
    return set(WANTED) <= {node.name for node in _parsed(path).body if isinstance(node, ast.FunctionDef)}


def from_file(path: Path, name: str | None = None) -> type[OwnWorkload]:
    """Return the workload of a file, named `name` or after the file. The file is parsed, not executed.

    Raises DataInvalid, with file and line, for violations of the interface.
    """
    read = _read(path)
    name = name or path.stem.lower().replace("_", "-")
    try:
        made = create_model(
            "".join(part.capitalize() for part in name.split("-")) or "Own",
            __base__=OwnWorkload,
            __module__=__name__,
            __doc__=read.documentation or f"{name}.",
            **cast("dict[str, Any]", read.fields),
        )
    except (PydanticUserError, TypeError, NameError, ValueError) as error:
        raise DataInvalid(f"{path}: its parameters do not define a form: {error}") from None
    made.name, made.source, made.takes, made.target = name, path, read.takes, read.target
    return made


def from_module(module: str, name: str) -> type[OwnWorkload]:
    """Return the workload of an importable module, named by an entry point. Raises NotFound without its source."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise NotFound(
            f"the source of the module {module!r}, which should define the workload {name!r}, was not found"
        )
    return from_file(Path(spec.origin), name)


@functools.cache
def _executed(path: Path, stamp: int) -> Any:
    del stamp  # a changed file is executed again
    name = f"hooke_own_{abs(hash(str(path))):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DataInvalid(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # needed by data classes and pickle
    spec.loader.exec_module(module)
    return module


def execute(path: Path) -> Any:
    """Return the file as a module, executed once per process."""
    with EXECUTION:
        return _executed(path, path.stat().st_mtime_ns)


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise DataInvalid(f"{path} is not valid Python: {error}") from None
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from None


def _read(path: Path) -> _Read:
    tree = _parsed(path)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if lacking := [name for name in WANTED if name not in functions]:
        raise DataInvalid(
            f"{path} lacks the function{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}: an own workload "
            "defines model(...), data(...) and loss(output, target) at the top level of its file"
        )
    read = _Read(ast.get_docstring(tree) or "")
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["target"]:
            read.target = float(_value(path, node.value))
    for name in ("model", "data"):
        taken = []
        for parameter, annotation, default in _parameters(path, functions[name]):
            said = f"{ast.unparse(annotation) if annotation else ''} = {ast.unparse(default)}"
            if read.said.setdefault(parameter, said) != said:
                raise DataInvalid(
                    f"{path}:{default.lineno}: model and data both take `{parameter}`, but declare it differently "
                    f"({read.said[parameter].strip()}, and {said.strip()}); it is one field of the form"
                )
            if (
                not parameter.isidentifier()
                or parameter.startswith(("_", "model_"))
                or hasattr(OwnWorkload, parameter)
            ):
                raise DataInvalid(
                    f"{path}:{default.lineno}: a parameter cannot be called `{parameter}`; rename it"
                )
            read.fields[parameter] = _field(path, parameter, annotation, default)
            taken.append(parameter)
        read.takes[name] = tuple(taken)
    return read


def _parameters(path: Path, node: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None, ast.expr]]:
    found = node.args
    if found.vararg or found.kwarg or found.posonlyargs:
        raise DataInvalid(f"{path}:{node.lineno}: {node.name}() takes named parameters only, each with a default")
    defaults = [None] * (len(found.args) - len(found.defaults)) + [*found.defaults, *found.kw_defaults]
    for argument, default in zip([*found.args, *found.kwonlyargs], defaults, strict=True):
        if default is None:
            raise DataInvalid(f"{path}:{argument.lineno}: `{argument.arg}` of {node.name}() needs a default")
        yield argument.arg, argument.annotation, default


def _value(path: Path, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise DataInvalid(
            f"{path}:{node.lineno}: `{ast.unparse(node)}` must be written out as a number, string, truth value "
            "or None: it is read without executing the file"
        ) from None


def _field(path: Path, name: str, annotation: ast.expr | None, default: ast.expr) -> tuple[Any, Any]:
    value = _value(path, default)
    title = name.replace("_", " ").capitalize()
    options: dict[str, Any] = {"title": title, "description": f"{title} (`{name}`)."}
    if annotation is None:
        if type(value) not in PLAIN.values():
            raise DataInvalid(f"{path}:{default.lineno}: annotate `{name}`: {value!r} does not say its type")
        return type(value), Field(value, **options)
    if _is(annotation, "Annotated"):
        annotation, *extra = annotation.slice.elts  # type: ignore[attr-defined]
        for item in extra:
            if isinstance(item, ast.Call):
                options |= {word.arg: _value(path, word.value) for word in item.keywords if word.arg}
            else:
                options["description"] = str(_value(path, item))
    return _type(path, annotation), Field(value, **options)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == name


def _type(path: Path, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    if isinstance(node, ast.Name) and node.id in PLAIN:
        return PLAIN[node.id]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _type(path, node.left) | _type(path, node.right)
    if _is(node, "Literal"):
        choices = _value(path, node.slice)  # type: ignore[attr-defined]
        return Literal[choices]
    raise DataInvalid(
        f"{path}:{node.lineno}: `{ast.unparse(node)}` is not a supported type: use int, float, bool, str, "
        "Literal[...], one of these | None, or Annotated[one of these, 'description']"
    )
