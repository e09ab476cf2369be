"""What endpoints depend on: those that wait for nothing take no thread."""

import inspect

from fastapi.routing import APIRoute
from hooke_api.app import ROOMS
from hooke_api.base.checked import CheckedRoute
from hooke_api.clusters.tokens import caller
from hooke_api.runs.endpoints import chosen_runs

WAIT = {caller, chosen_runs}
"""One asks the database; the other reads a filter of thousands of characters."""


def dependencies(dependant):
    for each in dependant.dependencies:
        yield each.call
        yield from dependencies(each)


def test_only_those_that_wait_or_compute_run_in_threads():
    """A thread waits for the interpreter, beside event streams for milliseconds, each time that it goes on."""
    routes = [route for room in ROOMS for route in room.routes if isinstance(route, APIRoute)]
    found = {call for route in routes for call in dependencies(route.dependant)}
    assert len(routes) > 100 and len(found) > 8
    threads = {call for call in found if not inspect.iscoroutinefunction(call)}
    assert threads == WAIT


def test_an_endpoint_takes_one_thread_and_none_for_its_answer():
    """FastAPI would take a second one to see that the answer is a model."""
    routes = [route for room in ROOMS for route in room.routes if isinstance(route, CheckedRoute)]
    assert len(routes) > 90
    assert [route.name for route in routes if not inspect.iscoroutinefunction(route.endpoint)] == []
