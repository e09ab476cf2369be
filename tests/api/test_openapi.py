"""The OpenAPI document: kept in the repository, complete, and true of the running server."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hooke_api.base.schema import View
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.api.hands import SPEC, lines, start, steps
from tests.api.test_ingest import rank
from tests.conftest import find_program

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def document():
    made = subprocess.run([sys.executable, "-m", "hooke_api.openapi"], capture_output=True, check=True, cwd=ROOT)
    return made.stdout.decode()


def test_the_repository_has_the_current_document(document):
    kept = (ROOT / "api" / "openapi.json").read_text()
    assert kept == document, "run: python -m hooke_api.openapi > api/openapi.json"


def test_operations_are_those_of_the_documentation(document):
    text = (ROOT / "docs" / "http-api.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)`(?:, `(\w+)`)?(?:, `(\w+)`)?", text, re.MULTILINE))
    documented = {name for names in documented for name in names if name}
    found = {
        op["operationId"]: op for methods in json.loads(document)["paths"].values() for op in methods.values()
    }
    assert set(found) == documented
    assert all(operation.get("description") for operation in found.values())


def test_problems_are_declared(document):
    for methods in json.loads(document)["paths"].values():
        for operation in methods.values():
            assert list(operation["responses"]["default"]["content"]) == ["application/problem+json"]


def test_fields_and_parameters_say_what_they_are(document):
    made = json.loads(document)
    kinds = [View]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    ours = {kind.__name__ for kind in kinds} & set(made["components"]["schemas"])
    schemas = {name: made["components"]["schemas"][name].get("properties", {}) for name in ours}
    fields = [(name, field, told) for name in ours for field, told in schemas[name].items()]
    silent = [f"{name}.{field}" for name, field, told in fields if "description" not in told]
    assert (silent, len(ours) > 100) == ([], True)
    operations = [operation for methods in made["paths"].values() for operation in methods.values()]
    silent = [
        f"{operation['operationId']} {each['name']}"
        for operation in operations
        for each in operation.get("parameters", [])
        if "description" not in each and operation["operationId"] != "finish_oidc"  # its words are the provider's
    ]
    assert silent == []


@pytest.fixture
def furnished(service):
    """A server with something behind every address."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1)), logs=lines(0, 3))
    return service, supervisor


SKIPPED = {"stream_events", "readyz"}  # one never ends; the other rightly answers 503, as there is no Redis
EXAMPLES = int(os.environ.get("HOOKE_EXAMPLES", "8"))
"""Requests of each operation: half, which fit its schema, on PostgreSQL, half, which do not, on SQLite.

Raise it for a longer search.
"""


def names():
    """Return groups of operations that one server answers in turn: those that only read, and each other one."""
    paths = json.loads((ROOT / "api" / "openapi.json").read_text())["paths"]
    of = {op["operationId"]: method for methods in paths.values() for method, op in methods.items()}
    found = [name for name in of if name not in SKIPPED]
    reading = [name for name in found if of[name] == "get"]
    return [pytest.param(reading, id="reading"), *([name] for name in found if name not in reading)]


@functools.cache
def checks():
    """Return what holds of every answer. Schemathesis is imported where it is used: in one process of all."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as of_openapi

    found = [of_openapi.status_code_conformance, of_openapi.content_type_conformance]
    return [not_a_server_error, *found, of_openapi.response_schema_conformance]


@functools.cache
def operations():
    """Return the operations by name; only where they are tested, because it takes long."""
    import schemathesis

    schema = schemathesis.openapi.from_path(ROOT / "api" / "openapi.json")
    found = [result.ok() for result in schema.get_all_operations()]
    return {op.definition.raw["operationId"]: op for op in found}


def requests_of(name, kind):
    """Return requests to an operation: on PostgreSQL such that fit its schema, on SQLite such that do not.

    Those are refused before the database is asked, or do there what a request that fits does. PostgreSQL accepts
    less than SQLite does. Where it is not installed, SQLite gets both.
    """
    from schemathesis import GenerationMode

    operation, found = operations()[name], []
    raw, modes = operation.definition.raw, [GenerationMode.POSITIVE]
    fits_anything = not raw.get("requestBody") and all(each["in"] == "path" for each in raw.get("parameters", ()))
    if kind == "sqlite" and not fits_anything:
        modes = [GenerationMode.NEGATIVE] if find_program("postgres") else list(GenerationMode)
    most = max(2, EXAMPLES * len(modes) // 2)
    most = most // 2 if "people" in raw["tags"] else most  # there plain fields

    @settings(max_examples=most, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes]))
    def collect(case):
        found.append(case)

    collect()
    return found


@pytest.mark.parametrize("group", names(), ids=" ".join)
def test_any_request_gets_a_documented_answer(furnished, kind, group):
    """No 5xx, and every answer as the document says."""
    service, supervisor = furnished
    tokens = {"ingest": supervisor.order.token, "agent_hello": service.settings.agents}
    tokens |= dict.fromkeys(
        ("agent_claim", "agent_proof", "agent_failed_launch", "agent_forgotten"), service.settings.agents
    )
    for name in group:
        headers = {"authorization": f"Bearer {tokens.get(name, service.settings.token)}"}
        for case in requests_of(name, kind):
            case.call_and_validate(base_url=service.url, headers=headers, checks=checks())


def test_the_example_of_these_tests_is_valid(service):
    service.hello()
    assert service.client.post("/experiments/dry-run", json=SPEC).status_code == 200
