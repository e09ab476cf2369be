"""Code that several algorithms share: local steps, elastic updates, low-rank matrices, vectors in pieces."""
