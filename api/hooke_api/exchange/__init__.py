"""Experiments leave and arrive as files: bundles, which another server imports, and reports."""
