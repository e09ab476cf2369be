"""What `hooke demo` prints of the API's answers."""

import io

from hooke.cli.verdict import show, show_choices
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


@ONE_KIND
def test_chosen_settings_are_printed_with_the_spaces_they_were_searched_in(service):
    variants = [{"name": "EASGD [tau=4]", "algorithm": "sync-easgd", "parameters": {"period": 4}}]
    made = service.submit(variants=variants, baseline="EASGD [tau=4]", tuning={"trials": 2})
    printed = io.StringIO()
    show_choices(Console(file=printed, width=200), service.get(f"/experiments/{made['id']}/tuning"))
    (told,) = [line for line in printed.getvalue().splitlines() if line.startswith("Searched for EASGD [tau=4]: ")]
    assert "lr 0.003 to 1, log" in told and "momentum_kind heavy-ball, nesterov" in told and "period" not in told
