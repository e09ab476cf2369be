"""The filter language of experiments and runs: tokens, grammar, syntax tree; REST, commands, dashboard share it.

    filter    = and { "or" and }
    and       = not { "and" not }
    not       = "not" not | "(" filter ")" | condition
    condition = field [ operator value | "in" "(" value { "," value } ")" ] | string
    operator  = "=" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">="

A field that is a flag may stand alone; a string alone means `name ~ string`. A value is a string in quotes or a
word: a number, `true`, a date, a duration such as -7d. See docs/filters.md; `filter_sql` compiles the tree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches

from hooke_api.base.durations import duration
from hooke_api.filters.fields import FIELDS, METRICS, PARTS, Field, Kind

MOST_CHARACTERS, MOST_DEPTH, MOST_CONDITIONS, MOST_VALUES = 1000, 20, 50, 50
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<operator>!=|!~|<=|>=|=|~|<|>)
      | (?P<mark>[(),])
      | (?P<word>-?\w[\w.:+-]*)
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WORDS = ("and", "or", "not", "in")

Value = str | float | bool | datetime | timedelta
"""A timedelta is a time relative to now."""


class FilterError(ValueError):
    """A filter that cannot be read: what is wrong, the column where (from 1), and what to write instead."""

    def __init__(self, column: int, message: str, suggestion: str = "") -> None:
        self.column, self.suggestion = column, suggestion
        super().__init__(f"column {column}: {message}" + (f"; {suggestion}" if suggestion else ""))


@dataclass(frozen=True)
class Condition:
    """A field compared with a value, or with several (`in`)."""

    field: Field
    operator: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Not:
    """Negation."""

    part: Tree


@dataclass(frozen=True)
class All:
    """Conjunction of two parts or more."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Some:
    """Disjunction of two parts or more."""

    parts: tuple[Tree, ...]


Tree = Condition | Not | All | Some


def conditions(tree: Tree) -> Iterator[Condition]:
    """Yield every condition of a tree."""
    if isinstance(tree, Condition):
        yield tree
    else:
        for part in (tree.part,) if isinstance(tree, Not) else tree.parts:
            yield from conditions(part)


@dataclass(frozen=True)
class _Token:
    kind: str
    """string, operator, mark, word or end."""
    text: str
    column: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def parse(text: str, fields: Mapping[str, Field] = FIELDS) -> Tree:
    """Return the tree of a filter; `fields`: what it may name, by default of experiments. Raises FilterError."""
    if len(text) > MOST_CHARACTERS:
        raise FilterError(MOST_CHARACTERS + 1, f"a filter has at most {MOST_CHARACTERS} characters")
    return _Parser(text, fields).whole()


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in "\"'":
                raise FilterError(at + 1, "this string has no end", f"close it with {text[at]}")
            meant = {"&": "and", "|": "or", "!": "not"}.get(text[at])
            raise FilterError(at + 1, f"{text[at]!r} means nothing here", f"write {meant}" if meant else "")
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[0], at + 1))
        at = match.end()
    return [*found, _Token("end", "", len(text) + 1)]


class _Parser:
    def __init__(self, text: str, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._conditions = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _takes(self, *texts: str) -> bool:
        """Take the next token if it is one of these words or marks."""
        token = self._next
        fits = token.kind in ("word", "mark") and token.text.lower() in texts
        self._at += fits
        return fits

    def whole(self) -> Tree:
        tree = self._some()
        token = self._next
        if token.kind != "end":
            raise FilterError(token.column, f"{token} follows a complete condition", "join two with and, or")
        return tree

    def _some(self) -> Tree:
        parts = [self._all()]
        while self._takes("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _all(self) -> Tree:
        parts = [self._not()]
        while self._takes("and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _not(self) -> Tree:
        self._depth += 1
        token = self._next
        if self._depth > MOST_DEPTH:
            raise FilterError(token.column, f"it is nested deeper than {MOST_DEPTH}")
        if self._takes("not"):
            tree: Tree = Not(self._not())
        elif self._takes("("):
            tree = self._some()
            if not self._takes(")"):
                raise FilterError(self._next.column, f"{self._next} where ) closes column {token.column}")
        else:
            tree = self._condition()
        self._depth -= 1
        return tree

    def _condition(self) -> Condition:
        token = self._take()
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            raise FilterError(token.column, f"it has more than {MOST_CONDITIONS} conditions")
        if token.kind == "string":
            return Condition(self._fields["name"], "~", (_unquoted(token),))
        if token.kind != "word" or token.text.lower() in _WORDS:
            raise FilterError(
                token.column, f"{token} where a field should be", 'such as state = running, or "text"'
            )
        field = _field(token, self._fields)
        operator = self._next
        if self._takes("in"):
            return self._in(field, operator)
        if operator.kind != "operator":
            if field.kind is Kind.FLAG:
                return Condition(field, "=", (True,))
            raise FilterError(
                operator.column, f"{operator} where an operator should be", f"{field.name} takes {_list(field)}"
            )
        self._take()
        _check_operator(field, operator)
        return Condition(field, operator.text, (_value(field, self._take()),))

    def _in(self, field: Field, operator: _Token) -> Condition:
        _check_operator(field, operator)
        if not self._takes("("):
            raise FilterError(self._next.column, f"{self._next} where ( should be", f"{field.name} in (a, b)")
        values = [_value(field, self._take())]
        while self._takes(","):
            values.append(_value(field, self._take()))
        if len(values) > MOST_VALUES:
            raise FilterError(operator.column, f"it lists more than {MOST_VALUES} values")
        if not self._takes(")"):
            raise FilterError(self._next.column, f"{self._next} where , or ) should be")
        return Condition(field, "in", tuple(values))


def _field(token: _Token, fields: Mapping[str, Field]) -> Field:
    name = token.text.lower()
    if name in fields:
        return fields[name]
    metric, _, part = name.partition(".")
    if part in PARTS and metric in fields:  # of a run, the largest, the least and the last figure are one
        return fields[metric]
    if name in METRICS:
        raise FilterError(
            token.column,
            f"{name} is a figure of each run",
            f"write {', '.join(f'{name}.{part}' for part in PARTS)}",
        )
    close = get_close_matches(name, fields, 1)
    quoted = f'name ~ "{token.text}" looks for names'
    raise FilterError(
        token.column, f"no field is called {token.text!r}", f"did you mean {close[0]}?" if close else quoted
    )


def _check_operator(field: Field, operator: _Token) -> None:
    if operator.text.lower() not in field.operators:
        raise FilterError(operator.column, f"{field.name} cannot be compared by {operator}", f"use {_list(field)}")


def _list(field: Field) -> str:
    return ", ".join(field.operators)


def _unquoted(token: _Token) -> str:
    text = re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
    if any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in text):
        raise FilterError(token.column, "a text contains a character that is not printable")
    return text


def _value(field: Field, token: _Token) -> Value:
    if token.kind not in ("string", "word"):
        raise FilterError(token.column, f"{token} where a value should be", f"such as {field.example}")
    text = _unquoted(token) if token.kind == "string" else token.text
    if field.kind is Kind.TEXT:
        return text
    if field.kind is Kind.CHOICE:
        if text not in field.values:
            close = get_close_matches(text.lower(), field.values, 1)
            meant = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(field.values)}"
            raise FilterError(token.column, f"{field.name} is never {text!r}", meant)
        return text
    if field.kind is Kind.FLAG:
        if text.lower() not in ("true", "false"):
            raise FilterError(token.column, f"{text!r} is neither true nor false")
        return text.lower() == "true"
    return _number(field, token, text) if field.kind is Kind.NUMBER else _time(field, token, text)


def _number(field: Field, token: _Token, text: str) -> float:
    if _NUMBER.fullmatch(text) is None or not math.isfinite(float(text)):
        wrong = "a number up to 1e308" if _NUMBER.fullmatch(text) else "a number such as 0.98"
        raise FilterError(token.column, f"{field.name} is compared with {wrong}, not {text!r}")
    return float(text)


def _time(field: Field, token: _Token, text: str) -> datetime | timedelta:
    try:
        if text.startswith("-"):
            return -duration(text[1:])
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise FilterError(
            token.column, f"{text!r} is not a time", f"write 2026-11-30, 2026-11-30T12:00 or -7d: {field.example}"
        ) from None
