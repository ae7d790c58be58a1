"""What the roles of the checklist use of earlier runs."""

from __future__ import annotations

from typing import Final

from transom.checklist.building.lessons import DOMAIN
from transom.cli.knowledge import PlaybookScope

LEARNED: Final = PlaybookScope(domain=DOMAIN)
"""The insights that the checklist uses."""
