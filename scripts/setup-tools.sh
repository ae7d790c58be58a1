#!/usr/bin/env bash
# Debian packages that commands use beside Python.
#   scripts/setup-tools.sh demo|test|fence
# As root, missing packages are installed. Otherwise they are named, and the command does without: the demo runs its
# story's tests at a lower sandbox level, tests skip. With CI=true a package that the tests lack is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

# command:package
case "${1:-}" in
  demo) tools=(git:git bwrap:bubblewrap) ;;
  # the sandbox, what watches it, and the tools that make the examples
  test) tools=(git:git bwrap:bubblewrap yosys:yosys sta:opensta strace:strace) ;;
  # a server of its own for the tests of the store, a browser for the tests of the pages
  fence) tools=(git:git bwrap:bubblewrap yosys:yosys sta:opensta strace:strace pg_createcluster:postgresql chromium:chromium) ;;
  *)
    echo "usage: scripts/setup-tools.sh demo|test|fence" >&2
    exit 2
    ;;
esac

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
  line="apt-get install -y ${packages[*]}"
fi

echo "setup: missing: ${packages[*]}; run as root: $line" >&2
[ "$1" = demo ] || [ "${CI:-}" != true ] || exit 1
