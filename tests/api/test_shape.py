"""Limits on the shape of JSON, against a count of the same document by its parser's objects."""

import json

import pytest
from hooke_api.base.errors import Malformed, TooLarge
from hooke_api.base.shape import INGEST, ORDINARY, ShapeLimits, check_shape
from hypothesis import given
from hypothesis import strategies as st

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)
FREE = ShapeLimits(marks=10**9, members=10**9, depth=10**9)


def marks(value) -> int:
    """Count strings, commas and brackets of the JSON text of a value."""
    if isinstance(value, str):
        return 1
    if isinstance(value, list):
        return 2 + max(0, len(value) - 1) + sum(map(marks, value))
    if isinstance(value, dict):
        return 2 + max(0, len(value) - 1) + len(value) + sum(map(marks, value.values()))
    return 0


def members(value) -> int:
    if not isinstance(value, list | dict):
        return 0
    inside = value if isinstance(value, list) else list(value.values())
    return max([len(value), *map(members, inside)])


def depth(value) -> int:
    if not isinstance(value, list | dict):
        return 0
    inside = value if isinstance(value, list) else value.values()
    return 1 + max(map(depth, inside), default=0)


def passes(body: bytes, **limits) -> bool:
    try:
        check_shape(body, ShapeLimits(**{**vars(FREE), **limits}))
    except TooLarge:
        return False
    return True


@given(document=DOCUMENTS, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_a_document_passes_at_exactly_its_own_size(document, ascii_only, indent):
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    body = text.encode("utf-8", "surrogatepass")
    for name, size in (("marks", marks(document)), ("members", members(document)), ("depth", depth(document))):
        assert passes(body, **{name: max(size, 1)}), (name, size)
        least = {"marks": 1, "members": 2, "depth": 1}[name]  # one member and none have no comma alike
        if size >= least:
            assert not passes(body, **{name: size - 1}) or size - 1 < least - 1, (name, size)


def test_what_stands_in_a_string_is_not_counted():
    assert passes(json.dumps(['a,[]{},"\\', "\\", '\\"', ",,,,"]).encode(), marks=9, members=4, depth=1)


def test_what_is_not_utf_8_is_refused_before_it_is_counted():
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        with pytest.raises(Malformed):
            check_shape(json.dumps([0] * 10).encode(encoding), FREE)


def test_no_text_takes_long_to_count():
    """Texts that would make a careless pattern search twice, or remember every character."""
    for body in (b'"' * 1_000_001, b'"' + b"a" * 10**7, b'"' + b'\\"' * 3_000_000, b"[" * 10**6, b"\\" * 10**7):
        for limits in (ORDINARY, INGEST):
            passes(body, **vars(limits))
