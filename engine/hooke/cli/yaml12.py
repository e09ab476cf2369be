"""A loader for specification files: scalars of YAML 1.2, and no duplicate keys.

PyYAML reads YAML 1.1, where the key `on` is a boolean and `1e-5` is text. Here only true and false are booleans,
and numbers have the form of JSON and Python numbers.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_BOOL = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_FLOAT = re.compile(
    r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$"
)
_INT = re.compile(r"^[-+]?[0-9]+$|^0o[0-7]+$|^0x[0-9a-fA-F]+$")
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")


class Yaml12Loader(yaml.SafeLoader):
    """A safe loader with the core schema of YAML 1.2."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping; raises ConstructorError, with line and column, for a duplicate key."""
        seen = set()
        for key_node, _ in node.value:
            key = (key_node.tag, key_node.value) if isinstance(key_node, yaml.ScalarNode) else None
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    "in a mapping", node.start_mark, f"found the key {key_node.value!r} twice", key_node.start_mark
                )
            if key is not None:
                seen.add(key)
        return super().construct_mapping(node, deep)


def _int(loader: Yaml12Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _float(loader: Yaml12Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node))
    return float(text if text[-1:].isdigit() else text.lower().replace(".inf", "inf").replace(".nan", "nan"))


Yaml12Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", _BOOL, "tTfF"),
    ("int", _INT, "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
    ("null", _NULL, "~nN"),
):
    Yaml12Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", pattern, [*first, *([""] if tag == "null" else [])]
    )
Yaml12Loader.add_constructor("tag:yaml.org,2002:int", _int)
Yaml12Loader.add_constructor("tag:yaml.org,2002:float", _float)


def load(text: str) -> Any:
    """Return the data in one YAML document; raises yaml.YAMLError."""
    return yaml.load(text, Yaml12Loader)  # noqa: S506 - a SafeLoader: data only, no objects
