#!/bin/sh
# The launch agent of the cluster `hosts`: agent.sh 10.77.0.N command..., refused while the host's link is down.
link=$(ip -n "hooke-$NETLAB-${1##*.}" link show dev eth0) || exit 255
case "$link" in
*"state UP"*) exec "$(dirname "$0")/../netlab/agent.sh" "$@" ;;
esac
echo "no route to host $1" >&2
exit 255
