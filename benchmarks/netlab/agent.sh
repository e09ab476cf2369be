#!/bin/sh
# What mpirun calls in place of ssh: agent.sh [-options] 10.77.0.N command...
# Runs the command on host N of the lab that NETLAB names, as a shell there would.
while [ "${1#-}" != "$1" ]; do shift; done
number=${1##*.}
shift
case "$*" in
*\;*) line="$*" ;; # several commands, as Open MPI sends them: variables first
*) line="exec $*" ;;
esac
exec ip netns exec "hooke-$NETLAB-$number" unshare --uts sh -c "hostname $NETLAB-$number && $line"
