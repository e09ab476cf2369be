"""Projects and their members as resources."""
