"""The timeline of a run: every rank's phases and messages, as one file for ui.perfetto.dev.

`recording` records events on a rank, `reading` reads a rank's file, `export` merges the files into one trace in
the format of Chrome and Perfetto. Off by default; see docs/trace.md.
"""
