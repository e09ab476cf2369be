"""Scalars of the YAML 1.2 core schema, as its specification (section 10.3) lists them."""

import json
import math

import pytest
import yaml
from hooke.cli import yaml12
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: local", {"on": "local"}),
        ("a: yes", {"a": "yes"}),
        ("a: off", {"a": "off"}),
        ("a: True", {"a": True}),
        ("a: false", {"a": False}),
        ("a: 1e-5", {"a": 1e-5}),
        ("a: 7.2e-6", {"a": 7.2e-6}),
        ("a: 1E3", {"a": 1000.0}),
        ("a: .5", {"a": 0.5}),
        ("a: 2.", {"a": 2.0}),
        ("a: 012", {"a": 12}),
        ("a: 0o14", {"a": 12}),
        ("a: 0xC", {"a": 12}),
        ("a: -7", {"a": -7}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("a: -.inf", {"a": -math.inf}),
        ("a: +.INF", {"a": math.inf}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: null", {"a": None}),
        ("a: '1'", {"a": "1"}),
        ("", None),
        ("- [1, {b: c}]", [[1, {"b": "c"}]]),
        ("a: &x {p: 1}\nb: *x", {"a": {"p": 1}, "b": {"p": 1}}),
    ],
)
def test_core_schema(text, value):
    assert yaml12.load(text) == value
    loaded = yaml12.load(text)
    assert json.dumps(loaded) == json.dumps(value), "types differ"


def test_nan():
    assert math.isnan(yaml12.load(".nan"))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("abn 1.:-"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("aon", min_size=1), inner, max_size=3),
        max_leaves=10,
    )
)
def test_json_means_the_same(value):
    assert yaml12.load(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3", "x: {on: 1, on: 1}"])
def test_no_key_twice(text):
    with pytest.raises(yaml.YAMLError, match=r"twice(.|\n)*line \d+, column \d+"):
        yaml12.load(text)


def test_no_objects():
    with pytest.raises(yaml.YAMLError):
        yaml12.load("!!python/object/apply:os.getcwd []")
