"""Numbers are no truths: what the document says is a boolean, or a number, is refused as the other one."""

import pytest

from tests.api.databases import ONE_KIND
from tests.api.test_experiments import problem

pytestmark = ONE_KIND


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/projects", {"name": "strict", "quota": False}),
        ("PATCH", "/projects/default", {"archived": 0}),
        ("POST", "/tokens", {"label": "a", "machine": 0}),
        ("PATCH", "/users/nobody", {"disabled": 0}),
        ("PATCH", "/experiments/exp_x", {"starred": 1}),
        ("POST", "/runs/run_x/retry", {"resume": 1}),
        ("PUT", "/clusters/local/policy", {"patience_hours": True}),
        ("PUT", "/clusters/local/policy", {"ageing_minutes": True}),
    ],
)
def test_a_boolean_is_no_number_and_a_number_no_boolean(service, method, path, body):
    told = problem(service.client.request(method, path, json=body), 422)
    assert [each["pointer"] for each in told["errors"]] == [f"/{next(reversed(body))}"]


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
