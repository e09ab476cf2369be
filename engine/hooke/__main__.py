"""`hooke ...` and `python -m hooke ...`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; errors that Hooke raises on purpose are one sentence and status 1."""
    from hooke.cli.group import app
    from hooke.errors import HookeError

    try:
        app(prog_name="hooke")
    except HookeError as error:
        print(f"hooke: {error}", file=sys.stderr)  # noqa: T201 - the command line prints
        sys.exit(1)


if __name__ == "__main__":
    main()
