#!/usr/bin/env bash
# Run a command on a virtual screen: .ci/xvfb.sh COMMAND…
#
# What the screen's server prints, also where all is well, is shown only if the command fails.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
QT_QPA_PLATFORM=xcb xvfb-run -a -e "$log" -s "-screen 0 1600x1000x24" "$@" || status=$?
[ "$status" -eq 0 ] || cat "$log" >&2
exit "$status"
