#!/usr/bin/env bash
# Make .venv ready: create it, install the app from pyproject.toml with constraints.txt.
#
#   .ci/set-up.sh app     what the window needs
#   .ci/set-up.sh test    the test extra too
#
# What was installed is written into .venv; with nothing changed since, this takes milliseconds.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:?which part: app or test}
python=${PYTHON:-python3}

display=${DISPLAY:-}${WAYLAND_DISPLAY:-}
if [ "$part" = test ] || [ -z "$display" ]; then
  bash .ci/system-packages.sh xvfb
else
  bash .ci/system-packages.sh
fi

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  printf 'Helixscope needs Python 3.11 or newer; %s is %s. Name another one: make PYTHON=python3.11 …\n' \
    "$python" "$("$python" --version 2>&1 || true)" >&2
  exit 1
fi

# The place counts too: an environment that was moved still points to where it was made.
wanted=$({ pwd; cat pyproject.toml constraints.txt; } | cksum)
installed() { [ "$(cat ".venv/installed-$1" 2>/dev/null)" = "$wanted" ]; }

if .venv/bin/python -c '' 2>/dev/null; then
  if installed test || { [ "$part" = app ] && installed app; }; then
    exit 0
  fi
else
  rm -rf .venv
  "$python" -m venv .venv
fi

case $part in
  app) what=. ;;
  test) what=.[test] ;;
esac
printf 'Installing into .venv; the first time this takes a few minutes.\n'
rm -f .venv/installed-*
.venv/bin/python -m pip install -qq --no-input --disable-pip-version-check \
  -c constraints.txt -e "$what" </dev/null
printf '%s\n' "$wanted" >".venv/installed-$part"
