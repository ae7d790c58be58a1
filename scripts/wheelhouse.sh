#!/usr/bin/env bash
# Makes a folder from which pip installs Transom without a network: the wheels of requirements/core.txt, Transom's own
# wheel with the examples in it, and a requirements.txt with the hash of each.
#   scripts/wheelhouse.sh [FOLDER [PYTHON]]      default: wheelhouse .venv/bin/python, from the repository's root
# The wheels fit machines like this one: the same Python, the same architecture. PYTHON needs pip and what build.txt pins.
# A folder that is there already is replaced, once the new one is complete.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-wheelhouse}")
python=${2:-.venv/bin/python}

say() { echo "wheelhouse: $*" >&2; }
pip() { "$python" -m pip --quiet --disable-pip-version-check --no-input "$@"; }

# Only a wheelhouse is ever replaced.
if [ -e "$folder" ] && [ -n "$(ls -A "$folder")" ] && ! compgen -G "$folder/transom-*.whl" >/dev/null; then
  say "$folder holds something else; name another folder"
  exit 2
fi

mkdir -p "$(dirname "$folder")"
new=$(mktemp -d "$folder.XXXXXX")
source=$(mktemp -d)
trap 'rm -rf "$new" "$source"' EXIT
chmod 755 "$new"

say "fetching the wheels of requirements/core.txt"
pip download --only-binary :all: --require-hashes -r requirements/core.txt --dest "$new"

# From a copy: an earlier build/ or egg-info in the tree would put files into the wheel that are long gone.
say "building Transom's wheel"
cp -R pyproject.toml README.md LICENSE NOTICE src examples "$source"
rm -rf "$source"/src/*.egg-info
pip wheel --no-index --no-deps --no-build-isolation --wheel-dir "$new" "$source"

# Among requirements with hashes pip refuses one without.
wheel=$(basename "$new"/transom-*.whl)
version=${wheel#transom-}
hash=$(sha256sum "$new/$wheel" | cut -d ' ' -f 1)
cp requirements/core.txt "$new/requirements.txt"
echo "transom==${version%%-*} --hash=sha256:$hash" >>"$new/requirements.txt"

say "trying it without an index"
PIP_CONFIG_FILE=/dev/null pip --isolated install --dry-run --ignore-installed --no-index --find-links "$new" \
  -r "$new/requirements.txt"

rm -rf "$folder"
mv "$new" "$folder"
say "$(find "$folder" -name '*.whl' | wc -l) wheels, $(du -sh "$folder" | cut -f1), in $folder"
