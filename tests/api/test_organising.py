"""Names, tags, notes and marks of experiments: who may overwrite whom, and what lists show."""

import pytest
from hooke_api.models import Event, TrailEntry
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE

pytestmark = ONE_KIND  # two who write at once are tested on both databases, in test_deleting


@pytest.fixture
def experiment(service):
    return service.submit(**ALONE)["id"]


def change(service, experiment, status=200, revision=None, **changes):
    headers = {} if revision is None else {"If-Match": revision}
    answer = service.client.patch(f"/experiments/{experiment}", json=changes, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_only_what_is_named_changes(service, experiment):
    told = change(service, experiment, note="# Why\n\nThe *paper*.", add_tags=["paper", "rho 0.1"])
    assert (told["note"], told["tags"], told["revision"]) == ("# Why\n\nThe *paper*.", ["paper", "rho 0.1"], 1)
    told = change(service, experiment, starred=True, remove_tags=["paper", "absent"], add_tags=["rho 0.1"])
    assert (told["starred"], told["archived"], told["protected"]) == (True, False, False)
    assert (told["note"][:5], told["tags"], told["revision"]) == ("# Why", ["rho 0.1"], 2)
    (row,) = service.get("/experiments")["items"]
    assert (row["note_line"], row["tags"], row["starred"]) == ("# Why", ["rho 0.1"], True)
    assert change(service, experiment, note="")["note"] == ""


def test_a_name_is_whatever_may_be_submitted_and_is_all_that_changes(service, experiment):
    before = service.get(f"/experiments/{experiment}")
    for name in ODD:
        submitted = service.submit(**ALONE, name=name)["name"]
        told = change(service, experiment, name=name)
        assert told["name"] == submitted == name.strip()
        assert [each["name"] for each in service.get("/experiments")["items"]].count(submitted) == 2
    told = service.get(f"/experiments/{experiment}")
    changed = {key for key in told if told[key] != before[key]} - {"waiting"}  # others were submitted meanwhile
    assert changed == {"name", "revision"} and told["revision"] == len(ODD)
    assert change(service, experiment, name=None, starred=True)["name"] == ODD[-1]


def test_a_new_name_is_found_and_told_wherever_the_experiment_is(service, experiment):
    position = service.count(Event)
    change(service, experiment, name="after")
    found = service.get("/experiments", filter='name = "after"')["items"]
    assert [each["id"] for each in found] == [experiment]
    assert service.get("/experiments", filter="name = first")["items"] == []
    assert {run["experiment_name"] for run in service.runs()} == {"after"}
    assert [each["name"] for each in service.get("/leaderboard")["left_out"]] == ["after"]
    compared = service.get("/compare", rows=["1"])["experiments"]
    assert [each["name"] for each in compared] == ["after"]
    with service.database.read() as session:
        told = session.scalars(select(Event).order_by(Event.position)).all()[position:]
        assert [(each.kind, each.experiment_id) for each in told] == [("experiment", experiment)]
        mine = (TrailEntry.subject == experiment, TrailEntry.action == "change_experiment")
        entry = session.scalars(select(TrailEntry).where(*mine)).one()
        assert (entry.before, entry.after) == ({"name": "first"}, {"name": "after"})


def test_the_revision_guards_a_name_against_a_second_writer(service, experiment):
    change(service, experiment, revision='"0"', name="mine")
    assert "its revision is 1" in change(service, experiment, 412, '"0"', name="yours")["detail"]
    assert service.get(f"/experiments/{experiment}")["name"] == "mine"


def test_the_revision_guards_a_note_against_a_second_writer(service, experiment):
    change(service, experiment, revision='"0"', note="mine")
    refused = change(service, experiment, 412, '"0"', note="yours")
    assert refused["type"] == "/problems/precondition-failed"
    assert "its revision is 1" in refused["detail"]
    assert service.get(f"/experiments/{experiment}")["note"] == "mine"
    assert change(service, experiment, revision="*", note="any")["revision"] == 2


MISFITS = (
    {"add_tags": [""]},
    {"add_tags": ["a,b"]},
    {"add_tags": ["x" * 41]},
    {"add_tags": [f"t{i}" for i in range(21)]},
    {"note": "x" * 10_001},
    {"names": "another"},
    {"name": ""},
    {"name": " \u2003 "},
    {"name": "x" * 121},
    {"name": "zero\0byte"},
    {"name": 7},
)
HEBREW = "\u05e8\u05e9\u05ea"
ODD = (f"  {HEBREW} ", "'; drop table experiments; --", "a/b?c#d%20", "line\nline", "\U0001f9ea" * 120)
"""Names that an experiment may be submitted with, and so may be given."""


def test_what_does_not_fit_is_refused_whole(service, experiment):
    for changes in MISFITS:
        change(service, experiment, 422, starred=True, **changes)
    assert not service.get(f"/experiments/{experiment}")["starred"]


def test_an_experiment_has_at_most_twenty_tags(service, experiment):
    change(service, experiment, add_tags=[f"t{i:02}" for i in range(20)])
    assert "at most 20 tags" in str(change(service, experiment, 422, add_tags=["one more"]))
    change(service, experiment, add_tags=["one more"], remove_tags=["t00"])


def test_archived_experiments_are_listed_only_if_the_filter_mentions_them(service, experiment):
    other = service.submit(**ALONE)["id"]
    change(service, experiment, archived=True, add_tags=["old"])

    def listed(text=None):
        return [each["id"] for each in service.get("/experiments", **({"filter": text} if text else {}))["items"]]

    assert listed() == listed("  ") == [other]
    assert listed("tag = old") == []
    assert listed("archived") == listed("tag = old and archived = true") == [experiment]
    assert listed("archived or not archived") == [other, experiment]
    assert service.get(f"/experiments/{experiment}")["archived"]


def test_the_fields_of_filters_come_with_what_is_known(service, experiment):
    change(service, experiment, add_tags=["paper"])
    fields = {each["name"]: each for each in service.get("/filter-fields")["fields"]}
    assert fields["tag"]["values"] == ["paper"]
    assert fields["state"]["values"] == ["queued", "running", "succeeded", "failed", "cancelled"]
    assert (fields["workload"]["values"], fields["cluster"]["values"]) == (["digits-mlp"], ["local"])
    assert "test_accuracy.max" in fields
    for field in fields.values():
        answer = service.client.get("/experiments", params={"filter": field["example"]})
        assert answer.status_code == 200, answer.text
