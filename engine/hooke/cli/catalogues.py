"""`hooke algorithms` and `hooke workloads`: what can be run, and the form of its parameters."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON with documentation and JSON Schema.")]


def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms and their parameters."""
    from hooke.algorithm import describe

    _show(describe(), as_json)


def workloads(as_json: AsJson = False) -> None:
    """List the workloads and their parameters."""
    from hooke.workload import describe

    _show(describe(), as_json)


def _show(found: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, indent=2))
        return
    from hooke.cli.text import columns

    rows = [("NAME", "TITLE", "PARAMETERS")]
    for item in found:
        fields = item["schema"].get("properties", {}).items()
        rows.append((item["name"], item["title"], ", ".join(_parameter(name, field) for name, field in fields)))
    print(columns(rows))


def _parameter(name: str, field: dict[str, Any]) -> str:
    return f"{name}={json.dumps(field['default'])}" if "default" in field else name
