"""Comparisons from a program or a notebook: `hooke.compare`, in this process, without a server."""
