"""What is said of names that some clusters do not offer, or of which they have different sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooke.catalogue.offers import Catalogue, Offer


def unknown(kind: str, name: str, catalogues: Mapping[str, Catalogue], lacking: Iterable[str]) -> str:
    """Return why a name cannot be chosen: no cluster offers it, or those in `lacking` do not."""
    missing = list(lacking)
    why = [
        f"{host}: {said}" if host else said for host in missing if (said := catalogues[host].file_faults.get(name))
    ]
    reasons = f" ({'; '.join(why)})" if why else ""
    if len(missing) == len(catalogues):
        known = sorted({each for catalogue in catalogues.values() for each in getattr(catalogue, f"{kind}s")})
        return f"no {kind} is called {name!r}{reasons}; there are: {', '.join(known)}"
    having = ", ".join(host for host in catalogues if host not in missing)
    return (
        f"{', '.join(missing)} offers no {kind} called {name!r}{reasons}, but {having} does: copy its file there, "
        "too, or leave the cluster out"
    )


def conflict(kind: str, name: str, offers: Mapping[str, Offer]) -> str | None:
    """Return the error message if clusters offer different sources under one name, else None."""
    hashes = {host: offer.hash for host, offer in offers.items() if offer.hash is not None}
    if len(set(hashes.values())) < 2:
        return None
    told = ", ".join(f"{host} {digest[:12]}" for host, digest in hashes.items())
    return f"the clusters have different sources of the {kind} {name!r} ({told}): copy the same file to each"
