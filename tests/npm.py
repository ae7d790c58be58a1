"""Scripts of npm packages that tests run in Chromium; `scripts/setup-npm.sh` fetches them."""

from __future__ import annotations

import hashlib

import pytest

from tests.repository.tracked import ROOT

SCRIPTS = {
    "axe-core/axe.min.js": "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
    "mermaid/dist/mermaid.min.js": "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8",
}
"""The scripts, and the SHA-256 of each."""


def npm_script(name: str) -> str:
    """The text of a script; without it the test skips, and with another one it fails."""
    path = ROOT / "build" / "npm" / "node_modules" / name
    if not path.is_file():
        pytest.skip(f"{name} is missing; run scripts/setup-npm.sh")
    content = path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == SCRIPTS[name]
    return content.decode()
