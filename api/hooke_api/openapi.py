"""`python -m hooke_api.openapi > api/openapi.json` writes the OpenAPI document of the repository."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from hooke_api.app import create_app
from hooke_api.base.settings import Settings


def main() -> None:
    """Write the document to standard output."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(home=Path(folder)))
        json.dump(app.openapi(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
        sys.stdout.write("\n")
        app.state.database.close()


if __name__ == "__main__":
    main()
