"""An agent: a role that one can talk with, and that loses nothing of what was said."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Self

from transom.agent.messages import again, checked_text, keep_answer, say
from transom.agent.meter import Meter
from transom.agent.models import Budget, OnEvent, Response
from transom.agent.session import Session
from transom.agent.setup import NAMELESS, AgentLocation, AgentPlace, Setup
from transom.agent.sub_agents import close_program_sub, equip, open_program_sub
from transom.agent.views import Conversation as ConversationView
from transom.agent.views import ConversationContext, Message, SubConversation, view_of
from transom.canonical import whole_text
from transom.context.oversized import BlockSource, KeepsAnswers
from transom.context.summary import Summary
from transom.errors import InputError, RunError, ToolError
from transom.llm import Block, Chain, Provider, Role
from transom.llm.checked import check_kind
from transom.llm.structured import schema_check
from transom.runs import Named
from transom.runs.stage import MAIN
from transom.runs.tool_calls import mark_calls, refuse_in_tool_call
from transom.telemetry import Redactor
from transom.tools import Function, Toolbox, ToolDefinition, as_tools

_log = logging.getLogger(__name__)


class Agent:
    """A conversation with a role.

    Its replies and tool results are journaled before they are used. Code that is run again, after a
    kill too, is answered from the journal and goes on where it stopped: nothing is asked or done
    twice.

    Args:
        role: who is talked with; a text is the prompt of a role `agent`. Tools that it names itself
            must be given.
        provider: who answers, as in `Setup`: a name, a provider, a chain; or a `Setup` with
            settings of its own.
        tools: what it may call: plain functions (see `tool`), tools, and `SubAgent`s that it may
            hand tasks to.
        at: where it lives: a stage of a run, whose function runs again; a run, which keeps it
            beside its stages; either under a name (`stage.named("q0")`); a `Home` of its own; or
            None for one that is gone when it is closed.
        budget: how much it and its sub-conversations may use.
        sources: what each message is looked up in; what is recalled stands in the message's event.
        on_event: hears what happens while it happens.

    Raises:
        InputError, ToolError, RunError, SettingsError: something cannot be used as it is given, or
            a tool handler of its own run makes it.
    """

    def __init__(
        self,
        role: Role | str,
        *,
        provider: str | Provider | Chain | Setup | None = None,
        tools: Iterable[ToolDefinition | Function] = (),
        at: AgentLocation = None,
        budget: Budget | None = None,
        sources: Sequence[BlockSource] = (),
        on_event: OnEvent | None = None,
    ) -> None:
        role = Role(NAMELESS, role) if isinstance(role, str) else role
        given = _checked(role, tools)
        self._place = AgentPlace(role.name, provider, at)
        self._role = self._place.setup.role(
            role, memory=any(isinstance(one, KeepsAnswers) for one in sources)
        )
        self._toolbox = Toolbox(given, redact=Redactor(secrets=self._place.chain.secrets))
        self._meter, self._sources = Meter(), tuple(sources)
        self.budget = budget or Budget()
        self._on_event = on_event
        self._begin()
        if stage := self._place.stage:
            refuse_in_tool_call(stage.host, stage.place)
            self._name = stage.claim(at.name if isinstance(at, Named) else MAIN)

    def _begin(self, session: Session | None = None, parent: Agent | None = None) -> None:
        self._name = MAIN if session is None else session.id
        self._session, self._parent = session, parent
        self._subs: dict[str, Self] = {}
        self._lock, self._opening = asyncio.Lock(), asyncio.Lock()

    # -- messages ----------------------------------------------------------------------------------

    async def send(
        self,
        content: str,
        *blocks: Block,
        id: str = "",  # noqa: A002  the program's word
    ) -> Response:
        """Say something, and have the role answer, whatever it calls on the way.

        When the program runs again, it says the same again and gets the same answer; what has none
        yet is gone on with.

        Args:
            content: the message.
            blocks: what this one message is to be answered from; not kept in the conversation.
            id: of the message: one that was sent before is answered from the journal, whatever was
                said since. A program that begins with `resume` gives its messages ids.

        Raises:
            InputError: it is no text, or a blank one; nothing was said.
            RunError: it is kept, and something else was said here before; or a tool handler of its
                own run says it.
            Unanswered: it failed when the program ran before, and something else was said then.
            Paused: a person has to say something first; see `decide`.
            ProviderError, EgressError, VisibilityError, WindowOverflow, ReplyError: no answer could
                be had; the conversation is whole, and `resume` tries again.
        """
        self._refuse()
        async with self._lock:
            session = await self._open()
            text = checked_text(content, session.id, blocks)
            closed = session.state.sub is not None and session.state.sub.closed is not None
            if closed and not id and session.next >= len(session.state.messages):
                raise RunError(
                    "it is completed, and nothing more is said in it",
                    where=session.id,
                    hint="open another",
                )
            return await self._heard(session, say(session, text, blocks, id=id))

    async def resume(self) -> Response | None:
        """Go on from the end of what was said, and finish what is open; None where nothing was said
        yet.

        Use it to go on after a kill, an error, a pause, or at a cap once the budget is raised. For
        errors see `send`.
        """
        self._refuse()
        async with self._lock:
            session = await self._open()
            messages = session.state.messages
            for number in range(len(messages)):
                session.take_in(number)
            session.next = len(messages)
            if not messages:
                return None
            return await self._heard(session, again(session, len(messages) - 1))

    async def _heard(self, session: Session, work: Coroutine[Any, Any, Response]) -> Response:
        try:
            response = await work
        finally:
            mark_calls(session.state.egress)
        if self._role.strategy == "memory":
            await keep_answer(session)
        return response

    async def decide(
        self, answer: str, question: str | None = None, reason: str = "", *, by: str = ""
    ) -> None:
        """Record what a person says to a tool call that waits, see `Run.decide`; then `resume`,
        or run it all again.
        """
        await (await self._open()).stage.host.decide(answer, question, reason, by=by)

    # -- sub-conversations -------------------------------------------------------------------------

    async def open_sub(self, purpose: str, background: str = "", *, name: str = "") -> Self:
        """An agent with a window of its own that looks into one thing; it has this one's tools and
        budget.

        Run again, the program finds it by its name, or by its purpose and background.

        Raises:
            InputError: no purpose.
            RunError: it was opened already.
        """
        session = await self._open()
        for field, given in (("purpose", purpose), ("background", background), ("name", name)):
            check_kind(given, str, field, session.id)
        if not purpose.strip() or "/" in name:
            hint = 'say open_sub("What of it?"), and leave / out of a name'
            raise InputError("it has no purpose, or a name with /", where=session.id, hint=hint)
        opened = await open_program_sub(session, whole_text(purpose), whole_text(background), name)
        if opened.id in self._subs:
            hint = "use the agent that has it, or say open_sub(..., name=...)"
            raise RunError(
                f"a sub-conversation {opened.id} was opened already", where=session.id, hint=hint
            )
        sub = copy.copy(self)  # of the same role, place and budget
        sub._begin(opened, parent=self)
        self._subs[opened.id] = sub
        return sub

    async def close_sub(self, sub: Agent) -> Summary:
        """Have a sub-conversation sum up, tell this conversation, and archive it.

        Numbers and ids of the summary are struck that it was not given and that did not come back
        to it. Where it cannot sum up, lines that are chosen by rule stand there, and say so.
        InputError where it is not open here.
        """
        session = await self._open()
        if sub not in self._subs.values():
            what = "that is no open sub-conversation of this one"
            raise InputError(what, where=session.id, hint="open it again with open_sub")
        async with sub._lock:
            inner = await sub._open()
            async with self._lock:
                summary = await close_program_sub(session, inner)
        del self._subs[sub.id]
        return summary

    # -- what can be read and set at any time ------------------------------------------------------

    @property
    def id(self) -> str:
        """The conversation's."""
        return self._name

    @property
    def budget(self) -> Budget:
        """The bounds of it and its sub-conversations together; may be raised at any time."""
        return self._meter.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._meter.hold(
            budget, self._place.chain.everyone, self._place.setup.settings.paths.prices
        )

    def register_tool(self, tool: ToolDefinition | Function) -> None:
        """Add a tool, from the next call on; a program registers it again before it goes on with
        a conversation.
        """
        (tool,) = as_tools([tool])
        box = self._session.toolbox if self._session else self._toolbox
        if tool.spec in box.specs:
            box.offer(tool)  # a handler whose call is tried again registers the same again
        else:
            box.register(tool)
        for sub in self._subs.values():
            sub.register_tool(tool)

    def history(self, limit: int | None = None) -> list[Message]:
        """The messages so far, the last `limit` of them."""
        view = self.conversation()
        messages = list(view.messages) if view else []
        return messages if limit is None else messages[-limit:] if limit > 0 else []

    def conversation(
        self,
        id: str | None = None,  # noqa: A002  the model's field
    ) -> ConversationView | SubConversation | None:
        """The conversation as data, or one of its sub-conversations; None where nothing was said
        yet.
        """
        session = self._session
        if session is None:
            return None
        mark_calls(session.state.egress)  # a handler of a tool may read it
        host = session.stage.host
        return view_of(host.store, host.records(), session.stage.key(id or session.id))

    def context(self) -> ConversationContext:
        """The facts about the conversation beside its words."""
        if self._session is None:
            return ConversationContext(provider=self._place.chain.name)
        host, state, messages = self._session.stage.host, self._session.state, self.history()
        return ConversationContext(
            provider=host.chain.name,
            id=self.id,
            run_id=host.id,
            message_count=len(messages),
            usage=state.spent.usage,
            usd=self._meter.usd(self._session.account, state.spent),
            trace_id=host.telemetry.trace_id,
            tool_calls=sum(len(message.tool_calls) for message in messages),
        )

    # -- opening and closing -----------------------------------------------------------------------

    def _refuse(self) -> None:
        if self._session:
            self._session.refuse()

    async def _open(self) -> Session:
        self._refuse()
        async with self._opening:
            if self._session is None:
                stage, seat = (
                    await self._place.open(),
                    self._place.setup.settings.llm.sub_conversation,
                )
                given = (
                    stage,
                    self._name,
                    self._role,
                    self._toolbox,
                    self._meter,
                    seat,
                    self._on_event,
                )
                session = Session(*given, sources=self._sources)
                session.refuse()
                self._session = equip(session)
                if stage.kept:
                    self._place.closing.callback(stage.release, self._name)
                    if undeclared := [
                        tool.name for tool in self._toolbox.tools if tool.effect == "unknown"
                    ]:
                        what = "%s: tools without a declared effect are never repeated: %s"
                        _log.info(what, self._name, ", ".join(undeclared))
        return self._session

    async def close(self) -> None:
        """Let go of what the agent holds, once messages under way in other tasks have come to their
        end.

        A kept conversation can be gone on with, another one is gone; a sub-conversation is there as
        long as its parent.
        """
        self._refuse()
        if self._parent is None:
            for lock in [self._lock, *[sub._lock for sub in self._subs.values()]]:
                async with lock:
                    pass
            self._session = None
            self._subs.clear()
            await self._place.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self.close()


def _checked(role: Role, tools: Iterable[Any]) -> list[ToolDefinition]:
    """The tools that are given, held against the role, as no type checker may have done."""
    check_kind(
        role,
        Role,
        "role",
        "Agent",
        'say "You know the stock.", or Role("clerk", "You know the stock.")',
    )
    if role.schema is not None:
        schema_check(role.schema)
    check_kind(tools, Iterable, "tools", "Agent", "say tools=[...]")
    given = as_tools(list(tools))
    if missing := [spec.name for spec in role.tools if spec not in [tool.spec for tool in given]]:
        what = f"it names {', '.join(missing)} among its tools, and no such tool is given"
        raise ToolError(
            what, where=role.name, hint="give the agent tools=[...]; the role need name none"
        )
    return given
