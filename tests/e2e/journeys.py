"""What journeys of researchers have in common: their experiments, and how things are taken away."""

import re
from xml.etree import ElementTree

from instances import QUICK, runs
from playwright.sync_api import expect

from tests.waiting import wait_for

METHODS = ("Sync SGD", "Local SGD")
A4 = 688
"""Width of a page between its margins, CSS px."""
NETWORKS = {
    "fast-net": {"latency": 1e-5, "seconds_per_byte": 1e-9},
    "slow-net": {"latency": 1e-4, "seconds_per_byte": 4e-9},
}
COMPARED = QUICK | {
    "name": "Two networks",
    "variants": [{"name": METHODS[0], "algorithm": "sync-sgd"}, {"name": METHODS[1], "algorithm": "local-sgd"}],
    "clusters": [
        {"name": name, "computed_on": "local", "workers": [2], "seeds": 3, "virtual": constants}
        for name, constants in NETWORKS.items()
    ],
    "trace": True,
}
"""12 runs."""
WITHOUT_DATA = QUICK | {
    "name": "Letters",
    "workload": {"name": "text-transformer", "parameters": {"path": "nowhere.txt"}},
    "clusters": [{"name": "local", "workers": [1], "seeds": 1}],
    "target": None,
}
"""Its run fails: the platform has no data."""


def ended(stack, experiment, attempt=1):
    """Wait for the end of an experiment, of this attempt of its runs or a later one; return its runs."""

    def look():
        found = runs(stack.client, experiment)
        return found if all(run["finished_at"] and run["attempt"] >= attempt for run in found) else None

    found = wait_for(look, "the end of the runs")
    assert {run["state"] for run in found} == {"failed_user" if experiment == stack.failing else "succeeded"}
    return found


def export(page, of, how):
    """Choose how something is taken away."""
    page.get_by_role("button", name=f"Export: {of}", exact=True).click()
    page.get_by_role("menuitem", name=how, exact=True).click()


def saved(page, of, how):
    """Take something away as a file; return its text."""
    with page.expect_download() as download:
        export(page, of, how)
    return download.value.path().read_text()


def copied(page):
    return page.evaluate("navigator.clipboard.readText()")


def printed_whole(page):
    """Print the report: the dialog is asked for once, and an A4 page has all of its parts, none wider than it."""
    page.context.add_init_script("window.print = () => { document.title = `printed ${document.title}` }")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_popup() as popup:
        page.get_by_role("menuitem", name="Print or save as PDF").click()
    paper = popup.value
    expect(paper).to_have_title(re.compile("^printed (?!printed)"))
    paper.set_viewport_size({"width": A4, "height": 1000})
    headings = paper.locator("h1, h2, h3").all_inner_texts()
    assert len(headings) > 3
    paper.emulate_media(media="print")
    assert paper.locator("h1, h2, h3").all_inner_texts() == headings
    for part in paper.locator("h2, svg, table").all():
        expect(part).to_be_visible()
    assert paper.evaluate("document.documentElement.scrollWidth") <= A4
    assert paper.pdf().startswith(b"%PDF")
    paper.close()


def zoom(page):
    """Drag over the middle of a chart."""
    chart = page.get_by_role("img", name=re.compile("^Validation accuracy"))
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=4)
    page.mouse.up()


class Finger:
    """A finger on the chart of accuracies, by events of the browser's own input."""

    def __init__(self, page):
        self.page = page
        self.input = page.context.new_cdp_session(page)
        self.input.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        self.over = page.get_by_test_id("chart-validation_accuracy").locator(".u-over")

    def drag(self, start, end, steps=8):
        """Move from one place of the chart to another one, given in shares of its width and height."""
        self.over.evaluate("over => over.scrollIntoView({ block: 'center' })")
        box = self.over.bounding_box()
        places = [
            {"x": box["x"] + box["width"] * x, "y": box["y"] + box["height"] * y}
            for x, y in (
                [a + (b - a) * i / steps for a, b in zip(start, end, strict=True)] for i in range(steps + 1)
            )
        ]
        for kind, place in zip(["touchStart"] + ["touchMove"] * steps, places, strict=True):
            self.input.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place]})
            self.page.evaluate("new Promise(requestAnimationFrame)")
        self.input.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        for _ in range(4):  # the chart is drawn, then the address changes
            self.page.evaluate("new Promise(requestAnimationFrame)")

    def scrolls(self):
        """Say whether a drag upwards scrolls the page."""
        self.over.evaluate("over => over.scrollIntoView({ block: 'center' })")
        before = self.page.evaluate("scrollY")
        self.drag((0.5, 0.6), (0.5, 0.1))
        return self.page.evaluate("scrollY") > before

    def zoom(self):
        """Return the part of the axis that is in view, as the address has it."""
        found = re.search(r"[?&]x=([^&_]+)_([^&]+)", self.page.url)
        return found and (float(found[1]), float(found[2]))


def axis(page):
    """Return what stands below a chart: the numbers of what is in view, and what they are."""
    drawing = ElementTree.fromstring(saved(page, "Validation accuracy", "Save as SVG"))
    words = list(drawing.iter("{http://www.w3.org/2000/svg}text"))
    names = [each.text for each in words if each.text in METHODS]
    return [each.text for each in words if each.get("text-anchor") == "middle"], names


def order_of_runs(page):
    table = page.get_by_role("region", name="Runs of this experiment")
    expect(table.get_by_role("row")).to_have_count(13)
    return table.get_by_role("rowheader").or_(table.get_by_role("cell")).get_by_role("link").all_inner_texts()


def choose_view(page, name):
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name=name).click()


DARKEST = """canvas => {
    const copy = new OffscreenCanvas(40, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, 40, canvas.height);
    let least = 255;
    for (let i = 0; i < data.length; i += 4) {
        const brightness = 0.2126 * data[i] + 0.7152 * data[i + 1] + 0.0722 * data[i + 2];
        if (data[i + 3] > 250) least = Math.min(least, brightness);
    }
    return least;
}"""
"""The brightness of the darkest opaque pixel beside a chart, where the numbers of its axis are, 0 to 255."""
