"""Hooke: distributed training algorithms, compared by the time to a target.

`hooke.compare` compares methods on your own model and data, `hooke.load` reads a saved comparison, and
`hooke.Network` is a simulated network. The packages below are the engine: algorithms, the loop that runs them, and
the agents of clusters.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hooke.errors import ArgumentError as ArgumentError
    from hooke.notebook.compare import compare as compare
    from hooke.notebook.loading import load as load
    from hooke.notebook.network import Network as Network
    from hooke.notebook.result import Comparison as Comparison

__version__ = "0.1.0"
__all__ = ["ArgumentError", "Comparison", "Network", "__version__", "compare", "load"]

_PLACES = {
    "ArgumentError": "errors",
    "Comparison": "notebook.result",
    "Network": "notebook.network",
    "compare": "notebook.compare",
    "load": "notebook.loading",
}
"""Name -> its module, imported on first use: commands and agents need none of them."""

if not TYPE_CHECKING:  # so that a type checker knows the names above, and no others

    def __getattr__(name):
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f"hooke.{_PLACES[name]}"), name)

    def __dir__():
        return sorted([*globals(), *_PLACES])
