"""What `hooke demo` prints of the API's answers."""

import io

from hooke_api.local.demonstration import show_warnings
from rich.console import Console


def test_every_warning_of_an_accepted_experiment_is_printed_with_its_place(service):
    made = service.submit(target=None)
    assert {warning["pointer"] for warning in made["warnings"]} >= {"/clusters/0/seeds", "/target"}
    printed = io.StringIO()
    show_warnings(Console(file=printed, width=40), made)
    told = [f"warning: {warning['pointer']}: {warning['message']}" for warning in made["warnings"]]
    assert printed.getvalue().splitlines() == told
