"""The timeline of a run: every rank's phases and messages, as one file that ui.perfetto.dev opens.

`recording` is what a rank notes while it runs, `reading` what its file says, `export` the ranks' files made into
one trace in the format of Chrome and Perfetto. Off unless asked for; see docs/trace.md.
"""
