"""What counts as a difference between two views of a screen."""

from tests.look.layout import View, moved, read, restyled, told, write

PAGE = {"h1 Title": (20, 40, 300, 30), "table": (20, 100, 900, 400), "h2 Runs": (20, 540, 200, 24)}


def test_rounding_is_no_difference():
    assert moved(PAGE, {name: (x + 2, y - 2, w - 2, h + 2) for name, (x, y, w, h) in PAGE.items()}) == []


def test_each_place_and_size_counts():
    for at, words in enumerate(("right", "down", "wide", "high")):
        now = dict(PAGE)
        box = list(now["table"])
        box[at] += 3
        now["table"] = tuple(box)
        (first, *more) = moved(PAGE, now)
        assert first == f"moved: table: +3 px {words}"
        assert len(more) == (1 if words == "down" else 0)  # what follows has not moved with it


def test_what_lies_below_is_moved_with_it_and_told_once():
    now = PAGE | {"table": (20, 100, 900, 450), "h2 Runs": (20, 590, 200, 24)}
    assert moved(PAGE, now) == ["moved: table: +50 px high", "moved: h2 Runs: +50 px down"]
    below = {name: (x, y + 12, w, h) for name, (x, y, w, h) in PAGE.items()}
    assert moved(PAGE, below) == ["moved: h1 Title: +12 px down"]


def test_what_is_gone_and_what_is_new():
    now = {name: box for name, box in PAGE.items() if name != "table"} | {"canvas": (1, 2, 3, 4)}
    assert moved(PAGE, now) == ["gone: table", "new: canvas at (1, 2, 3, 4)"]


def test_a_style_counts_of_what_both_have():
    before = {"h1": "24px 600 rgb(0, 0, 0)", "button": "14px 500"}
    assert restyled(before, {"h1": "24px 600 rgb(0, 0, 0)", "a": "14px"}) == []
    assert restyled(before, {"h1": "16px 400 rgb(0, 0, 0)"}) == [
        "restyled: h1: 24px 600 rgb(0, 0, 0) -> 16px 400 rgb(0, 0, 0)"
    ]


def test_a_long_list_is_cut_and_says_so():
    assert told(["a", "b"]) == ["a", "b"]
    assert told([str(n) for n in range(20)])[11:] == ["11", "and 8 more"]


def test_what_is_kept_is_read_again(tmp_path):
    views = {"1440": View(PAGE), "1440-dark": View({}, {"h1 Title": "24px", "h2 Runs": "16px", "table": "16px"})}
    assert read("home", tmp_path) == {}
    write("home", views, tmp_path)
    assert read("home", tmp_path) == views
    assert (tmp_path / "home.json").read_text().count('"16px"') == 1


def test_probed_boxes_become_a_view():
    assert View.of([["h1", [1, 2, 3, 4], "24px"]]) == View({"h1": (1, 2, 3, 4)}, {"h1": "24px"})
