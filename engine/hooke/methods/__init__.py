"""Code that several algorithms share: local steps, elastic updates, chips, low-rank matrices, vectors in parts."""
