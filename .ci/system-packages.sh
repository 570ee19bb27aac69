#!/usr/bin/env bash
# See to what the wheels of Python, Qt and VTK expect of the system and do not bring along.
#
#   .ci/system-packages.sh            for the window, on a machine that has a display
#   .ci/system-packages.sh xvfb       for the window without a display
#   .ci/system-packages.sh tests      for the tests: that, a browser that opens what is exported, and
#                                     the sources of locales
#   .ci/system-packages.sh all-tests  for the slow ones too: that, a Wayland compositor and shells
#
# PYTHON names the interpreter that makes the environment. What is missing is installed with apt-get
# as root or by a sudo that asks for no password; elsewhere the exact line to run is printed and the
# exit status is 1. With nothing missing this takes milliseconds and says nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(uname -s)" = Linux ] || exit 0 # the wheels for macOS and Windows need nothing more

packages=() # Debian's names of what is missing
missing=()  # the same for a reader: libraries and commands

# By the name of the library, so that a system whose packages are named otherwise passes too.
known=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p)
while read -r library package _; do
  if [ "$library" != "#" ] && [[ $known != *"$library "* ]]; then
    missing+=("$library")
    packages+=("$package")
  fi
done <resources/system-libraries.txt

if [ -n "${1:-}" ]; then
  if ! command -v Xvfb >/dev/null || ! command -v xvfb-run >/dev/null; then
    missing+=(xvfb-run)
    packages+=(xvfb)
  fi
  if ! command -v xauth >/dev/null; then # xvfb only recommends it, xvfb-run will not start without
    missing+=(xauth)
    packages+=(xauth)
  fi
fi

if [[ ${1:-} = *tests ]]; then
  if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null &&
    ! command -v google-chrome >/dev/null; then
    missing+=(chromium)
    packages+=(chromium)
  fi
  if [ ! -e /usr/share/i18n/locales/tr_TR ]; then
    missing+=("the sources of locales")
    packages+=(locales)
  fi
fi

if [ "${1:-}" = all-tests ]; then
  for one in weston zsh fish; do
    if ! command -v "$one" >/dev/null; then
      missing+=("$one")
      packages+=("$one")
    fi
  done
  if ! command -v Xwayland >/dev/null; then
    missing+=(Xwayland)
    packages+=(xwayland)
  fi
fi

if ! "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null; then
  missing+=("Python's venv module")
  packages+=(python3-venv)
fi

[ ${#packages[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  printf 'Helixscope needs, and did not find: %s\n' "$(printf '%s, ' "${missing[@]}" | sed 's/, $//')"
  printf 'Install them with the package manager of this system, then run the same command again.\n'
  exit 1
fi >&2

install="apt-get install -y --no-install-recommends ${packages[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    printf 'Helixscope needs system packages that are not here, and installing them takes an\n'
    printf 'administrator. Run this line, then the same command again:\n\n'
    if command -v sudo >/dev/null; then
      printf '    sudo apt-get update; sudo %s\n\n' "$install"
    else
      printf '    su -c "apt-get update; %s"\n\n' "$install"
    fi
    exit 1
  fi >&2
  as_root=(sudo -n)
fi

printf 'Installing system packages: %s\n' "${packages[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# An update that fails for one foreign source need not matter; the installation tells.
"${as_root[@]}" apt-get update -qq >"$log" 2>&1 </dev/null || true
# shellcheck disable=SC2086  # the line is split into words on purpose
if ! "${as_root[@]}" $install >>"$log" 2>&1 </dev/null; then
  {
    cat "$log"
    printf '\nSystem packages could not be installed; the reason stands above. The line was:\n\n    %s\n\n' "$install"
  } >&2
  exit 1
fi
