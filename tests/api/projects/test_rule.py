"""The rule: who reaches which project, and with which role."""

import pytest
from hooke_api.base.access import Actor, Credential, Role
from hooke_api.base.reach import DEFAULT_PROJECT, asking, may_in, reached, reaches, role_in

VIEWER, RESEARCHER, OPERATOR, ADMIN = Role
MINE = {"prj_a": OPERATOR, "prj_b": VIEWER}


def actor(role, **more):
    return Actor("ana", role, Credential.SESSION, **more)


@pytest.mark.parametrize(
    ("who", "project", "expected"),
    [
        # a member: the role of the membership, whatever the role on the site is
        (actor(VIEWER, projects=MINE), "prj_a", OPERATOR),
        (actor(OPERATOR, projects=MINE), "prj_b", VIEWER),
        (actor(OPERATOR, projects=MINE), "prj_c", None),
        (actor(OPERATOR), "prj_a", None),
        # the default project: the role on the site, also while the request is about another project
        (actor(RESEARCHER, projects=MINE), DEFAULT_PROJECT, RESEARCHER),
        (actor(OPERATOR, projects=MINE, site=VIEWER), DEFAULT_PROJECT, VIEWER),
        (actor(OPERATOR, projects=MINE, site=VIEWER), "prj_b", VIEWER),
        (actor(OPERATOR, projects=MINE, site=VIEWER), "prj_c", None),
        # administrators: everywhere, with a token as far as its scope goes
        (actor(ADMIN), "prj_c", ADMIN),
        (actor(ADMIN, projects={"prj_a": VIEWER}), "prj_a", ADMIN),
        (actor(RESEARCHER, everywhere=True), "prj_c", RESEARCHER),
        (actor(RESEARCHER, everywhere=True), DEFAULT_PROJECT, RESEARCHER),
        # what does not exist is nobody's
        (actor(OPERATOR, projects=MINE), None, None),
        (actor(ADMIN), None, None),
    ],
)
def test_the_role_in_a_project(who, project, expected):
    assert role_in(who, project) is expected
    assert (project is not None) <= ((expected is not None) == (reached(who) is None or project in reached(who)))


def test_what_the_sender_of_a_request_reaches():
    assert reaches("prj_c") and may_in("prj_c", ADMIN), "the server itself reaches everything"
    before = asking.set(actor(RESEARCHER, projects=MINE))
    try:
        assert [reaches(each) for each in (DEFAULT_PROJECT, "prj_a", "prj_b", "prj_c")] == [
            True,
            True,
            True,
            False,
        ]
        assert may_in("prj_a", OPERATOR) and may_in("prj_b", VIEWER) and may_in(DEFAULT_PROJECT, RESEARCHER)
        assert not any(may_in(each, RESEARCHER) for each in ("prj_b", "prj_c"))
    finally:
        asking.reset(before)
