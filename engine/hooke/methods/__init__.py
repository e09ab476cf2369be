"""What several algorithms share: local steps, the elastic spring, low rank, vectors in pieces."""
