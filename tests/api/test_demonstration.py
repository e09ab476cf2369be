"""What `hooke demo` prints of the API's answers."""

import io

from hooke.cli.verdict import show
from hooke_api.local.demonstration import show_warnings
from rich.console import Console

from tests.api.databases import ONE_KIND


@ONE_KIND
def test_every_warning_of_an_accepted_experiment_is_printed_with_its_place(service):
    made = service.submit(target=None)
    assert {warning["pointer"] for warning in made["warnings"]} >= {"/clusters/0/seeds", "/target"}
    printed = io.StringIO()
    show_warnings(Console(file=printed, width=40), made)
    told = [f"warning: {warning['pointer']}: {warning['message']}" for warning in made["warnings"]]
    assert printed.getvalue().splitlines() == told


@ONE_KIND
def test_names_that_look_like_markup_are_printed_as_they_are(service):
    """Rich would leave out `[tau=4]`, and fail at `[/]`."""
    names = ["EASGD [tau=4]", "closed [/]"]
    variants = [{"name": name, "algorithm": "sync-easgd"} for name in names]
    made = service.submit(variants=variants, baseline=names[0])
    printed = io.StringIO()
    show(Console(file=printed, width=200), service.get(f"/experiments/{made['id']}/comparison"))
    told = printed.getvalue()
    assert all(f"\n {name} " in told for name in names), told
    assert f"baseline: {names[0]}" in told and "closed [/]" in told.splitlines()[-1]
