"""A stage's replies in its run's journal: found there, or put there before anybody uses them."""

from __future__ import annotations

import asyncio
from typing import Any

from transom.canonical import Json
from transom.llm import Reply, Request, Role
from transom.llm.answering import Then
from transom.llm.capabilities import UNBOUNDED
from transom.llm.codec import reply_from_json
from transom.runs.host import Host
from transom.runs.journal import talk_key
from transom.runs.standing import standing
from transom.runs.windows import Talk, keep_window


class Replies:
    """Those of one attempt of a stage.

    Args:
        run: whose journal it is.
        attempt: the stage's.
    """

    def __init__(self, run: Host, attempt: int) -> None:
        self._run = run
        self._attempt = attempt

    def found(self, key: dict[str, Any]) -> tuple[Reply | None, dict[str, Any]]:
        """The journaled reply, if there is one that counts today, and the key by which it was journaled.

        Args:
            key: what it would be journaled under now.
        """
        if "told" in key:
            record = self.said(key)
            return (reply_from_json(record["reply"]), record) if record else (None, key)
        data = self._run.journaled_reply(key)
        reply = None if data is None else reply_from_json(data)
        return (reply if reply and self._run.chain.is_current(reply.by, reply.answered_from) else None), key

    def said(self, key: dict[str, Any]) -> Any | None:
        """The record of a reply at a place of a conversation that lasts."""
        found = self._run.state.said.get(talk_key(key), {}).get(key["ordinal"])
        return found if found and found["told"] == key["told"] else None

    async def put(
        self, key: dict[str, Any], reply: Reply, then: Then, *, talk: Talk, request: Request, role: Role
    ) -> BaseException | None:
        """Journal a reply. It is paid for: what stops this is kept from it until the reply is there.

        Args:
            key: what it is journaled under.
            reply: it.
            then: how the answer stands after it.
            talk: where its conversation is.
            request: what was asked.
            role: who asked.

        Returns:
            What came meanwhile, to be raised when the reply is in its place.

        Raises:
            StoreError: it is not in the journal.
        """
        came: dict[str, Json] = {"reply": reply.to_json(), **standing(key, then)}
        try:
            await self._append(key, talk, request, role, came)
        except BaseException as stop:
            if self._run.journaled_reply(key) == came["reply"]:
                return stop
            if not isinstance(stop, asyncio.CancelledError):
                raise
            try:
                await self._append(key, talk, request, role, came)  # it came before that was begun
            except BaseException:
                if self._run.journaled_reply(key) != came["reply"]:
                    raise
            return stop
        return None

    async def _append(
        self, key: dict[str, Any], talk: Talk, request: Request, role: Role, came: dict[str, Json]
    ) -> None:
        marked = self._run.chain.policy.mark(request)
        window = await keep_window(self._run.store, talk, marked, self._run.state.tools)
        shares = {name: [used, limit] for name, used, limit in request.window.shares}
        told: dict[str, Any] = {"role": request.role, "sees": sorted(role.sees), "window": window, **came}
        if talk.next == 0 and (room := self._run.chain.of(role.name).caps).context_tokens < UNBOUNDED:
            told |= {"context_tokens": room.context_tokens} if room.context_known else {}
        await self._run.append("reply", {**key, "attempt": self._attempt, **told, "shares": shares})
