"""The colors of variants: those of their names in earlier experiments, and all different within one."""

from hooke_api.models import Experiment
from hooke_api.storage.colors import HUES, STYLES, colors_of

from tests.api.databases import ONE_KIND
from tests.api.test_extending import THIRD, ended, extend

ENDED = {"clusters": [{"name": "local", "workers": [2], "seeds": 1}]}


def submit(service, *names) -> dict:
    variants = [{"name": name, "algorithm": "sync-sgd"} for name in names]
    return service.submit(**ENDED, variants=variants, baseline=names[0])


def colors(view) -> dict[str, int]:
    return dict(zip(view["variants"], view["colors"], strict=True))


@ONE_KIND
def test_a_name_has_one_color_in_all_experiments(service):
    first = colors(submit(service, "a", "b", "c"))
    assert first == {"a": 0, "b": 1, "c": 2}
    second = colors(submit(service, "c", "d", "a"))
    assert (second["a"], second["c"]) == (first["a"], first["c"])
    assert second["d"] % HUES not in {place % HUES for place in first.values()}
    listed = {each["number"]: colors(each) for each in service.get("/experiments")["items"]}
    assert listed == {1: first, 2: second}
    third = colors(submit(service, "e", "f"))
    assert not set(third.values()) & {*first.values(), *second.values()}, "others have these"
    compared = service.get("/compare", rows=["1", "2"])["experiments"]
    assert [colors(each) for each in compared] == [first, second]


@ONE_KIND
def test_variants_of_one_experiment_never_share_one(service):
    many = colors(submit(service, *(f"v{i}" for i in range(STYLES + 3))))
    assert len(set(many.values())) == len(many)
    assert sorted(many.values())[:HUES] == list(range(HUES))
    with service.database.read() as session:
        assert colors_of(session, ["v0", "new"], own=[9]) != [9, 9]
        assert colors_of(session, ["v0", "new"], own=[9])[0] == 9, "an extension changes no color"


@ONE_KIND
def test_experiments_of_before_have_them_by_place(service):
    made = submit(service, "a", "b")
    with service.database.write() as session:
        session.get_one(Experiment, made["id"]).colors = []
    assert service.get(f"/experiments/{made['id']}")["colors"] == [0, 1]
    assert colors(submit(service, "b", "x"))["b"] == 1


@ONE_KIND
def test_a_variant_that_an_extension_adds_has_the_color_of_its_name(service):
    first = colors(submit(service, "third", "a", "b"))
    made = ended(service)
    before = colors(service.get(f"/experiments/{made}"))
    after = colors(extend(service, made, variants=[THIRD]).raise_for_status().json())
    assert after == before | {"third": first["third"]}
