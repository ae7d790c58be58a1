"""`rules` for checks: the embedded default, which answers an item by its claim and no role at all.

An item whose description is a written sentence of a claim, or whose `reads_as` names one, needs no
role (see `claiming`). For any other item a role is asked, and the default abstains: the item then
becomes a question with the claims that come close.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NoReturn

from transom.canonical import digest
from transom.checklist.claims.claim_data import CLAIMS_FILE
from transom.errors import InputError, NeedsModel, NotUnderstood
from transom.formats.reports.loading import SHIPPED
from transom.formats.yaml_files import parse_yaml
from transom.llm import Request, RulesProvider

DESCRIPTION: Final = "description"
"""Where the words stand that a person may explain."""


def embedded_default() -> RulesProvider:
    """Return the provider `rules` of checks."""
    roles = ("analysis", "section1", "section2", "section3", "section4", "parser", "logic")
    table = {f"checklist.{role}": _abstain for role in roles}
    return RulesProvider(table, dict.fromkeys(table, 1), {})


@lru_cache(maxsize=1)
def digests_of_data() -> Mapping[str, str]:
    """Return the digests of the files that decide what the embedded default answers."""
    # A changed data file changes answers, so stages that used it must run again.
    digests = {}
    for path in (CLAIMS_FILE, *sorted(SHIPPED.glob("*.yaml"))):
        digests[path.name] = digest(path.read_bytes())
    return digests


def _abstain(request: Request) -> NoReturn:
    """Refuse to answer a role.

    Raises:
        NeedsModel: always, with the description that no claim reads.
    """
    configuration = request.window.text("configuration")
    if not configuration:
        request_name = f"{request.role.rpartition('.')[2]} of an item that is no claim"
        raise NeedsModel([NotUnderstood(request_name, "role")], hint="ask a model (--model)")
    try:
        data = parse_yaml(configuration, Path("configuration")).data
    except InputError:
        data = None
    # The description alone is what a person can say more clearly.
    description = data.get(DESCRIPTION) if isinstance(data, dict) else None
    text = " ".join(str(description or configuration).split())
    raise NeedsModel([NotUnderstood(text, DESCRIPTION)])
