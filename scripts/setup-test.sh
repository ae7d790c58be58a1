#!/usr/bin/env bash
# Debian packages that the tests use beside Python: the sandbox, what watches it, and the tools that make the examples.
# As root, what is missing is installed. Else it is named: with CI=true that is a failure, otherwise its tests skip.
set -euo pipefail
cd "$(dirname "$0")/.."

# command:package
tools=(bwrap:bubblewrap yosys:yosys sta:opensta strace:strace)

missing() {
  local tool
  for tool in "${tools[@]}"; do
    command -v "${tool%%:*}" >/dev/null || echo "${tool##*:}"
  done
}

mapfile -t packages < <(missing)
[ ${#packages[@]} -gt 0 ] || exit 0

line="apt-get install -y ${packages[*]}"
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "setup: $line" >&2
  bash scripts/apt-install.sh "${packages[@]}" || true
  mapfile -t packages < <(missing)
  [ ${#packages[@]} -gt 0 ] || exit 0
fi

echo "setup: missing: ${packages[*]}; run as root: $line" >&2
[ "${CI:-}" != true ] || exit 1
