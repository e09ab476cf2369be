"""`hooke algorithms` and `hooke workloads`: the catalogues with their parameters."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hooke.catalogue.items import Kind

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON with documentation and JSON Schema.")]


def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms and their parameters.

    Your own are those in the folders of HOOKE_PATH and in installed packages.
    """
    _show("algorithm", as_json)


def workloads(as_json: AsJson = False) -> None:
    """List the workloads and their parameters.

    Your own are those in the folders of HOOKE_PATH and in installed packages.
    """
    _show("workload", as_json)


def _show(kind: Kind, as_json: bool) -> None:
    from hooke.catalogue.discovery import found

    here = found(kind)
    for fault in here.file_faults:
        print(f"not offered: {fault.name} ({fault.file}): {fault.error}", file=sys.stderr)
    described = [item.description for item in here.items.values()]
    if as_json:
        print(json.dumps(described, indent=2))
        return
    from hooke.cli.text import columns

    rows = [("NAME", "TITLE", "FROM", "PARAMETERS")]
    for item in described:
        fields = item["schema"].get("properties", {}).items()
        source = item["origin"] if item["origin"] == "built-in" else f"{item['origin']} {item['hash'][:8]}"
        parameters = ", ".join(_parameter(name, field) for name, field in fields)
        rows.append((item["name"], item["title"], source, parameters))
    print(columns(rows))


def _parameter(name: str, field: dict[str, Any]) -> str:
    return f"{name}={json.dumps(field['default'])}" if "default" in field else name
