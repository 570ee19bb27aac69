#!/usr/bin/env bash
# Run the fast tests with several versions of Python, each in a venv of its own in build/pythons.
#
#   .ci/pythons.sh                    3.11, 3.12 and 3.13, with the versions in constraints.txt
#   .ci/pythons.sh 3.12 newest        this one, and the newest packages with the newest Python
#
# Interpreters are looked for as python3.12 and those of pyenv; one that is not installed is left out
# with a line. What was installed stays, and is only completed in the next run. ARGS is passed to
# pytest.
set -uo pipefail
cd "$(dirname "$0")/.."

interpreter() { # of a version: its path, or nothing
  command -v "python$1" || compgen -G "$HOME/.pyenv/versions/$1.*/bin/python" | sort -V | tail -1
}

status=0
[ $# -gt 0 ] || set -- 3.11 3.12 3.13
for version in "$@"; do
  place=build/pythons/$version
  if [ "$version" = newest ]; then
    version=3.13 pins=()
  else
    pins=(-c constraints.txt)
  fi
  python=$(interpreter "$version")
  if [ -z "$python" ]; then
    echo "Python $version is not installed: left out."
    continue
  fi
  [ -x "$place/bin/python" ] || "$python" -m venv "$place"
  echo "Installing into $place"
  if ! "$place/bin/python" -m pip install -qq --upgrade --disable-pip-version-check \
    "${pins[@]}" -e ".[files,gguf,survey,test]" </dev/null; then
    echo "Python $version: the packages cannot be installed."
    status=1
    continue
  fi
  echo "Testing with $("$place/bin/python" --version), in $place"
  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$place/bin/python" -m pytest -q -m "not slow" \
    --numprocesses auto --dist loadfile --no-loadscope-reorder ${ARGS:-} || status=1
done
exit $status
