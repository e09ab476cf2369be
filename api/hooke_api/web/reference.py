"""The API reference as one HTML page generated from the OpenAPI document, without scripts."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastapi.responses import HTMLResponse

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.6 system-ui, sans-serif; }
body { max-width: 60rem; margin: 3rem auto; padding: 0 1.5rem; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
article { border-top: 1px solid #8884; padding: .8rem 0; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { overflow: auto; padding: .8rem; border-radius: .5rem; background: #8881; max-height: 26rem; }
.verb { font-weight: 600; } .id { float: right; opacity: .6; }
"""


def reference(document: dict[str, Any]) -> HTMLResponse:
    """Return the page for an OpenAPI document."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for verb, operation in methods.items():
            groups.setdefault(operation.get("tags", ["other"])[0], []).append(_operation(verb, path, operation))
    parts = [f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in groups.items()]
    schemas = [
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>{_json(schema)}</details>'
        for name, schema in sorted(document.get("components", {}).get("schemas", {}).items())
    ]
    return HTMLResponse(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Hooke: the HTTP API</title>"
        f"<style>{_STYLE}</style></head><body><h1>The HTTP API</h1>"
        "<p>Every error is RFC 9457 <code>application/problem+json</code>. "
        'The machine-readable document: <a href="/api/openapi.json">/api/openapi.json</a>.</p>'
        f"{''.join(parts)}<h2>Schemas</h2>{''.join(schemas)}</body></html>"
    )


def _operation(verb: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<li><code>{escape(p['name'])}</code> ({p['in']}{', required' if p.get('required') else ''}) "
        f"{escape(p.get('description', ''))}</li>"
        for p in operation.get("parameters", [])
    )
    body = _schemas(operation.get("requestBody", {}))
    answers = "".join(
        f"<li>{escape(code)}: {_schemas(answer) or escape(answer.get('description', ''))}</li>"
        for code, answer in operation["responses"].items()
    )
    return (
        f"<article><code class=id>{escape(operation['operationId'])}</code>"
        f"<code><span class=verb>{verb.upper()}</span> {escape(path)}</code>"
        f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>"
        f"<ul>{rows}{f'<li>body: {body}</li>' if body else ''}{answers}</ul></article>"
    )


def _schemas(holder: dict[str, Any]) -> str:
    names = []
    for content in holder.get("content", {}).values():
        target = content.get("schema", {}).get("$ref", "")
        if target:
            name = escape(target.rpartition("/")[2])
            names.append(f'<a href="#{name}"><code>{name}</code></a>')
    return ", ".join(names)


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=1))}</pre>"
