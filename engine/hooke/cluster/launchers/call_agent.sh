#!/bin/sh
# What mpirun calls in place of ssh: call_agent.sh [-options] ADDRESS command...
# Runs the site's launch agent (HOOKE_LAUNCH_AGENT, a line of shell) without the options, which are ssh's own.
while [ "${1#-}" != "$1" ]; do shift; done
eval "exec $HOOKE_LAUNCH_AGENT \"\$@\""
