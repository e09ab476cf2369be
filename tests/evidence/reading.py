"""How tests read a page."""

from pathlib import Path


def lines(page: Path, begin: str) -> list[list[str]]:
    """Return the cells of the lines of all tables of a page whose first cell begins so."""
    found = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    return [cells for cells in found if cells[0].startswith(begin)]
