"""Numbers are no truths: what the document says is a boolean, or a number, is refused as the other one."""

import json
import re

from tests.api.databases import ONE_KIND
from tests.api.test_experiments import problem
from tests.checkout import ROOT

pytestmark = ONE_KIND


WRONG = {"integer": True, "number": True, "boolean": 1}


def kinds(schema):
    """Return the JSON types that a property may have."""
    return {kind.get("type") for kind in (schema, *schema.get("anyOf", ()))}


def bodies(document):
    """Yield method, path, and one wrong property, for each that people or programs may send."""
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is None or path.startswith(("/api/v1/agents", "/api/v1/ingest")):
                continue
            if operation["operationId"] in ("create_experiment", "validate_experiment"):
                continue  # a specification of the engine
            given = [kind["$ref"] for kind in (body["schema"], *body["schema"].get("anyOf", ())) if "$ref" in kind]
            assert given, f"the body of {operation['operationId']} has no properties that are known here"
            for name, schema in schemas[given[0].rpartition("/")[2]].get("properties", {}).items():
                wrong = [value for kind, value in WRONG.items() if kind in kinds(schema)]
                if wrong and not {"integer", "boolean"} <= kinds(schema):
                    yield method.upper(), path.removeprefix("/api/v1"), {name: wrong[0]}


def test_a_boolean_is_no_number_and_a_number_no_boolean(service):
    asked = list(bodies(json.loads((ROOT / "api" / "openapi.json").read_text())))
    assert len(asked) >= 20 and ("POST", "/runs/{run_id}/retry", {"resume": 1}) in asked, "a body may be optional"
    for method, path, body in asked:
        place = re.sub(r"\{\w+\}", "x", path)
        told = problem(service.client.request(method, place, json=body), 422)
        assert f"/{next(iter(body))}" in {each["pointer"] for each in told["errors"]}, (method, path, body, told)


def test_an_agent_proves_with_a_boolean(service):
    body = {"run": "run_x", "attempt": 1, "alive": 0, "why": "it says so"}
    assert problem(service.agent.post("/agents/proof", json=body), 422)["errors"][0]["pointer"] == "/alive"


def test_a_trace_of_jobs_is_what_the_document_says(service):
    service.hello()
    assert service.client.get("/clusters/local/trace.csv").headers["content-type"] == "text/csv; charset=utf-8"
    declared = service.client.get(f"{service.url}/api/openapi.json")
    if declared.status_code == 200:
        answers = declared.json()["paths"]["/api/v1/clusters/{name}/trace.csv"]["get"]["responses"]["200"]
        assert list(answers["content"]) == ["text/csv"]
