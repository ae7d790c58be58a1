"""`rules`: the embedded default, no language model at all.

A table of role -> pure function over the request's blocks. It is deterministic, needs no key and no
network, and abstains (`NeedsModel`, naming the words) instead of guessing. The products bring the
tables; this is the provider around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from transom.errors import NeedsModel, NotUnderstood
from transom.llm.deltas import OnDelta, tell
from transom.llm.provider import Provider
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.shapes import Request, Role

Rule = Callable[[Request], Reply]

RULES = "rules"


class RulesProvider(Provider):
    """A provider that answers from rules.

    Args:
        table: role name -> its rule.
        versions: role name -> the version of its rule, raised by hand when its answers change.
        sources: name of a file that rules answer from -> its digest.
    """

    name = RULES
    local = True
    is_retried = False

    def __init__(
        self, table: Mapping[str, Rule], versions: Mapping[str, int], sources: Mapping[str, str]
    ) -> None:
        self._table = dict(table)
        self._versions = dict(versions)
        self._sources = dict(sources)

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        rule = self._table.get(request.role)
        if rule is None:
            raise NeedsModel([NotUnderstood(request.role, "role")], hint="another --model may")
        reply = rule(request)
        # No model reads or writes anything: there are no tokens, and an estimate is none.
        return tell(replace(reply, by=self.name, usage=Usage()), on_delta)

    def fingerprint(self, role: Role) -> str:
        return str(self._versions.get(role.name, 0))

    def is_current(self, source: AnsweredFrom) -> bool:
        # A file that is gone has no digest, so its answers are void as well.
        return self._sources.get(source.name) == source.digest
