"""A slow parser of sparse text, written from the description of the format alone, and random files."""

import math
import random

import numpy as np

MUTANTS = b"0123456789,:. \t\r\n+-eEnaif#\xff\x00"
Item = tuple[list[int], dict[int, float]]


class Wrong(Exception):
    """A line is not in the format."""

    def __init__(self, line: int) -> None:
        self.line = line


def whole(text: str) -> int:
    if not text or len(text) > 18 or any(c not in "0123456789" for c in text):
        raise ValueError(text)
    return int(text)


def label_of(text: str, signed: bool) -> int:
    if signed and text[:1] in ("+", "-"):
        return -whole(text[1:]) if text[0] == "-" else whole(text[1:])
    return whole(text)


def value_of(text: str) -> np.float32:
    if not text or any(c not in "0123456789.+-eE" for c in text):
        raise ValueError(text)
    with np.errstate(over="ignore"):
        value = np.float32(float(text))
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def item(line: bytes, features: int, labels: int, first: int, signed: bool) -> tuple[list[int], dict[int, float]]:
    """Return the labels as written and the features of a line; ValueError for a fault."""
    text = line.decode("ascii")
    text = text[:-1] if text.endswith("\r") else text
    fields = text.replace("\t", " ").split(" ")
    head = fields[0]
    found = [label_of(part, signed) for part in head.split(",")] if head else []
    known = [max(label, 0) for label in found]
    if any(label < -1 or label >= labels for label in found) or known != sorted(set(known)):
        raise ValueError(head)
    bag: dict[int, float] = {}
    for field in fields[1:]:
        if field:
            name, value = field.split(":")
            feature = whole(name) - first
            if not 0 <= feature < features or (bag and feature <= max(bag)):
                raise ValueError(field)
            bag[feature] = value_of(value)
    return found, bag


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def blank(line: bytes) -> bool:
    return not line.strip(b" \t\r\n")


def xmlc(data: bytes) -> tuple[int, int, list[Item]]:
    """Return features, labels and items of a text in the XMLC format. Raises Wrong with the line to blame."""
    lines = lines_of(data)
    try:
        head = [
            whole(part)
            for part in lines[0].decode("ascii").removesuffix("\r").replace("\t", " ").split(" ")
            if part
        ]
        count, features, labels = head
        if lines[0][:1] in b" \t" or min(head) < 1:
            raise ValueError
    except (ValueError, IndexError):
        raise Wrong(1) from None
    items = []
    for number, line in enumerate(lines[1 : count + 1], 2):
        try:
            items.append(item(line, features, labels, 0, False))
        except ValueError:
            raise Wrong(number) from None
    for number, line in enumerate(lines[count + 1 :], count + 2):
        if not blank(line):
            raise Wrong(number)
    if len(items) < count:
        raise Wrong(1)
    return features, labels, items


def libsvm(data: bytes) -> list[Item]:
    """Return the items of a text in the LIBSVM format, labels -1 as 0. Raises Wrong with the line to blame."""
    items: list[Item] = []
    seen: set[int] = set()
    ended = False
    most = 2**31 - 1
    for number, line in enumerate(lines_of(data), 1):
        try:
            labels, bag = item(line, most, most, 1, True)
        except ValueError:
            raise Wrong(number) from None
        seen |= set(labels)
        if -1 in seen and seen - {-1, 1}:
            raise Wrong(number)
        if not labels and not bag:
            ended = True
        elif ended:
            raise Wrong(number)
        else:
            items.append(([max(label, 0) for label in labels], bag))
    if not items:
        raise Wrong(1)
    return items


def number_text(draw: random.Random) -> str:
    """Return a decimal number in one of the ways in which programs write them."""
    value = draw.choice(
        [draw.random(), draw.uniform(-9, 9), draw.lognormvariate(0, 20), float(draw.randrange(100))]
    )
    form = draw.choice(["{:.4f}", "{!r}", "{:g}", "{:.3e}", "{:.0f}", "{:+.2f}", "{:.17g}", "{:.1E}"])
    text = form.format(min(value, 1e30))
    short = text.removeprefix("0") if len(text) > 1 else text
    return draw.choice([text, text, short, text + "." if text.isdigit() else text])


def text_of(draw: random.Random, items: int, features: int, labels: int, signed: bool = False) -> bytes:
    """Return a valid file: XMLC, or LIBSVM if `signed`."""
    lines = [] if signed else [f"{items} {features} {labels}"]
    for _ in range(items):
        bag = sorted(draw.sample(range(features), draw.randint(1 if signed else 0, min(6, features))))
        names = sorted(draw.sample(range(labels), draw.randint(0, min(4, labels))))
        head = ",".join(map(str, names))
        gap = draw.choice([" ", " ", " ", "\t", "  "])
        fields = [f"{feature + signed}:{number_text(draw)}" for feature in bag]
        lines.append(gap.join([head, *fields]) + draw.choice(["", "", "", " ", "\r"]))
    return (
        "\n".join(lines) + draw.choice(["\n", "", "\n\n", "\n \r\n"] if lines[-1].strip() else ["\n"])
    ).encode()


def mutated(draw: random.Random, data: bytes) -> bytes:
    """Return data with one or two bytes replaced, removed or added, or with a piece cut out or repeated."""
    for _ in range(draw.randint(1, 2)):
        at = draw.randrange(len(data) + 1)
        byte = bytes([draw.choice(MUTANTS)])
        kind = draw.randrange(5)
        until = min(len(data), at + draw.randint(1, 12))
        data = (
            data[:at] + byte + data[at + 1 :],
            data[:at] + data[at + 1 :],
            data[:at] + byte + data[at:],
            data[:at] + data[until:],
            data[:until] + data[at:],
        )[kind]
    return data
