"""Experiments as plain documents: valid ones, and ways to damage them."""

from __future__ import annotations

import copy
from typing import Any

from hooke.catalogue.algorithm import catalogue
from hypothesis import strategies as st


def experiment(**changes: Any) -> dict[str, Any]:
    """Return a valid experiment that uses every kind of field, with top-level fields replaced."""
    document: dict[str, Any] = {
        "schema": "hooke.experiment/1",
        "name": "first",
        "description": "two ways to pull",
        "workload": {"name": "digits-mlp", "parameters": {}},
        "batch": 16,
        "sharding": "iid",
        "variants": [
            {"name": "sync", "algorithm": "sync-easgd", "parameters": {"lr": 0.1, "rho": 1.0}},
            {"name": "sum", "algorithm": "sync-sgd", "communication": {"packing": "per-layer"}},
        ],
        "baseline": "sync",
        "clusters": [
            {"name": "local", "workers": ["auto", 2], "seeds": 3},
            {"name": "slow", "computed_on": "local", "workers": [4], "seeds": 2, "virtual": {"latency": 1e-3}},
        ],
        "first_seed": 7,
        "budget": {"samples": 10_000, "max_seconds": 60.0},
        "target": {"metric": "validation_accuracy", "value": 0.9},
        "evaluation": {"every": 1000},
    }
    return document | changes


def run(**changes: Any) -> dict[str, Any]:
    """Return a valid run, with top-level fields replaced."""
    document: dict[str, Any] = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp", "parameters": {}},
        "algorithm": {"name": "sync-easgd", "parameters": {"rho": 0.5}},
        "workers": 3,
        "seed": 1,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": 1000},
        "evaluation": {"every": 100},
    }
    return document | changes


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
"""Anything that a JSON parser of Python may return (NaN and infinities included)."""


def places(node: Any, path: tuple[int | str, ...] = ()) -> list[tuple[int | str, ...]]:
    """Return the path of every node of a document, the root first."""
    found = [path]
    if isinstance(node, dict):
        for key, value in node.items():
            found += places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            found += places(value, (*path, index))
    return found


def get(node: Any, path: tuple[int | str, ...]) -> Any:
    """Return the node at a path."""
    for part in path:
        node = node[part]
    return node


@st.composite
def damaged(draw: st.DrawFn, document: dict[str, Any]) -> Any:
    """Return the document after one to three replacements, deletions or insertions at random places."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)))
        what = draw(st.sampled_from(["replace", "delete", "insert"]))
        if not path:
            if what == "replace" and draw(st.integers(0, 9)) == 0:
                return draw(JSON)
            document[draw(st.text(max_size=8))] = draw(JSON)
        elif what == "delete":
            del get(document, path[:-1])[path[-1]]
        elif what == "insert" and isinstance(get(document, path), dict):
            get(document, path)[draw(st.text(max_size=8))] = draw(JSON)
        else:
            get(document, path[:-1])[path[-1]] = draw(JSON)
    return document


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Return a valid experiment over any algorithms of the catalogue."""
    names = draw(
        st.lists(st.text("abcXYZ äß/~", min_size=1, max_size=6), min_size=1, max_size=4, unique_by=str.strip)
    )
    names = [name for name in names if name.strip()] or ["a"]
    variants = [
        {
            "name": name,
            "algorithm": draw(st.sampled_from(sorted(catalogue()))),
            "communication": {
                "packing": draw(st.sampled_from(["one", "per-layer"])),
                "collective": draw(st.sampled_from(["tree", "halving"])),
            },
        }
        for name in names
    ]
    workers = draw(st.lists(st.integers(1, 4096) | st.just("auto"), min_size=1, max_size=4, unique=True))
    budget = draw(st.integers(1, 10**12))
    return experiment(
        variants=variants,
        baseline=draw(st.sampled_from(names)),
        batch=draw(st.integers(1, 65536)),
        clusters=[{"name": "local", "workers": workers, "seeds": draw(st.integers(1, 5))}],
        budget={"samples": budget},
        evaluation={"every": draw(st.integers(-(-budget // 10_000), budget))},
        target=draw(st.none() | st.fixed_dictionaries({"value": st.floats(0.01, 1)})),
    )
