"""Reads the texts of Python modules that people read, for scripts/strings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

Text = tuple[int, str]
"""A line and what it says."""

READ = {"title", "description", "help", "detail", "label", "prompt", "epilog", "short_help", "what", "why"}
"""Keywords whose text is read even where it is one word."""
UNREAD = {"pattern", "alias", "server_default", "name", "kind", "metavar", "discriminator", "examples", "format"}
NAMES = {
    "compile",
    "text",
    "get_logger",
    "getLogger",
    "cast",
    "TypeVar",
    "getattr",
    "setattr",
    "startswith",
    "endswith",
}
"""Functions whose arguments are names or code."""
INTERNAL = {"AssertionError", "NotImplementedError", "RuntimeError", "TypeError", "KeyError", "StopIteration"}
"""Errors of programs, which no person is told."""
CODE = re.compile(
    r"\\[bdsw]|\(\?|\[\^|^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|WITH|LOCK|SET)\b"
    r"|^[<#@/]|\x00|redis\.call|default-src|filename=|^import |^:root"
)
"""Code in other languages."""
HOLE = "\N{HORIZONTAL ELLIPSIS}"
LONGEST = 32


class _Reader(ast.NodeVisitor):
    """Collects the texts of a module."""

    def __init__(self) -> None:
        self.texts: list[Text] = []
        self.always = False

    def add(self, node: ast.expr, text: str) -> None:
        """Keep a text that people read."""
        words = " ".join(text.split())
        if re.search(r"[^\W\d_]", re.sub(r"\{[^{}]*\}", "", words)) and (self.always or is_prose(text)):
            self.texts.append((node.lineno, words))

    def visit(self, node: ast.AST) -> None:
        """Take a text as a whole, and look into its parts."""
        if is_text(node):
            self.add(node, rendered(node))
            for part in parts(node):
                self.visit(part)
        else:
            super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave docstrings out: those of commands come with their functions."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Take the docstring of a command, which is its help."""
        commands = {"command", "callback"}
        is_command = any(
            isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in commands
            for one in node.decorator_list
        )
        if is_command and (told := ast.get_docstring(node)):
            self.texts.append((node.body[0].lineno, " ".join(told.split())))
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name of a visitor

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip what only developers see."""
        if not (isinstance(node.exc, ast.Call) and name_of(node.exc.func) in INTERNAL):
            self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip what only developers see."""

    def visit_Compare(self, node: ast.Compare) -> None:
        """Skip what is compared."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Skip the values of types."""
        if name_of(node.value) not in ("Literal", "environ"):
            self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Skip keys."""
        for value in node.values:
            self.visit(value)

    def visit_Call(self, node: ast.Call) -> None:
        """Skip arguments that are names or code."""
        if name_of(node.func) not in NAMES:
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Note whether an argument is read even where it is one word."""
        if node.arg in UNREAD:
            return
        before, self.always = self.always, node.arg in READ and is_choice(node.value)
        self.visit(node.value)
        self.always = before


def name_of(node: ast.expr) -> str:
    """Return the last name of what is called."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_text(node: ast.AST) -> bool:
    """Return whether an expression is a text, also one that is put together."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr)


def is_choice(node: ast.expr) -> bool:
    """Return whether an expression is a text, or one of two."""
    return is_text(node) or isinstance(node, ast.IfExp)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a text takes in that is not rendered as text itself."""
    if isinstance(node, ast.BinOp):
        for side in (node.left, node.right):
            yield from parts(side) if is_text(side) else () if is_choice(side) else (side,)
    elif isinstance(node, ast.JoinedStr):
        inner = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        yield from (one for one in inner if not is_choice(one))


def rendered(node: ast.AST) -> str:
    """Return a text with its parts in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            rendered(one.value) if isinstance(one, ast.FormattedValue) else rendered(one) for one in node.values
        )
    if isinstance(node, ast.BinOp) and is_text(node):
        return rendered(node.left) + rendered(node.right)
    if isinstance(node, ast.IfExp):
        choices = (rendered(one) for one in (node.body, node.orelse))
        return "{" + " | ".join(re.sub(r"^\{([^{}]*)\}$", r"\1", one) for one in choices) + "}"
    source = ast.unparse(node)
    return "{" + (source if len(source) <= LONGEST and not set(source) & set("{}") else HOLE) + "}"


def is_prose(text: str) -> bool:
    """Return whether a text reads like words for people: two words, or a word beside a part."""
    bare = re.sub(r"\{[^{}]*\}", HOLE, text)
    if CODE.search(bare):
        return False
    letter = r"[^\W\d_]"
    pattern = rf"{letter}{{2}}[^\w\s]*\s+[^\w\s]*({letter}|\d|{HOLE})|({HOLE}|\d)[^\w\s]*\s+[^\w\s]*{letter}{{3}}"
    return re.search(pattern, bare) is not None


def of_python(path: Path) -> list[Text]:
    """Return the texts of a Python module with their lines."""
    reader = _Reader()
    reader.visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return sorted(reader.texts, key=lambda each: each[0])
