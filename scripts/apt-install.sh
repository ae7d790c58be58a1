#!/usr/bin/env bash
# Installs Debian packages, quietly; refreshes the lists only where that is needed. Root only.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

install() { apt-get install -y -qq --no-install-recommends "$@" </dev/null; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install "$@" >"$log" 2>&1; then
  if ! { apt-get update -qq </dev/null && install "$@"; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
fi
