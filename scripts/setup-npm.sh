#!/usr/bin/env bash
# Two scripts that tests run in Chromium, from npm into build/npm: axe-core, which finds what a reader with a disability
# cannot use, and mermaid, which draws flowcharts. Nothing of them ships. Without npm the tests that need them skip.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(axe-core@4.14.1 mermaid@11.17.2)
stamp="build/npm/${packages[*]}"
[ ! -e "$stamp" ] || exit 0
if ! command -v npm >/dev/null; then
  echo "setup: no npm: the tests of accessibility and of flowcharts skip" >&2
  exit 0
fi
mkdir -p build/npm
# Without a network npm would try again for minutes.
if timeout 120 npm install --fetch-retries 1 --prefix build/npm --ignore-scripts --no-audit --no-fund --silent "${packages[@]}" </dev/null; then
  touch "$stamp"
else
  echo "setup: npm install ${packages[*]} failed: the tests that need them skip" >&2
fi
