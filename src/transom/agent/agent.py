"""An agent: a role with a conversation that survives a kill of the process."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Self

from typing_extensions import TypeVar  # `typing` has no defaults before Python 3.13

from transom.agent.delegation import equip
from transom.agent.facts import AgentFacts
from transom.agent.messages import keep_answer, resume_message, send_text
from transom.agent.meter import Meter
from transom.agent.models import Budget, MessageEnded, OnEvent, Out, Response
from transom.agent.session import AgentSession, ConversationLog, Listener, RoleWindow
from transom.agent.setup import (
    NAMELESS,
    AgentLocation,
    AgentPlace,
    AgentProvider,
    checked_tools,
    with_output,
)
from transom.agent.streaming import AnswerStream, both
from transom.agent.sub_agents import close_program_sub, open_program_sub
from transom.canonical import Json, whole_text
from transom.context.oversized import BlockSource, KeepsAnswers
from transom.context.summary import SourceSummary
from transom.errors import InputError, RunError
from transom.llm import Block, Role
from transom.llm.checked import check_kind
from transom.llm.structured import schema_check
from transom.runs import Named, Stage
from transom.runs.stage import MAIN
from transom.runs.tool_calls import mark_calls, refuse_in_tool_call
from transom.telemetry import Redactor
from transom.tools import Function, Toolbox, ToolDefinition, as_tools
from transom.tools.toolbox import OWN

_log = logging.getLogger(__name__)

Deps_co = TypeVar("Deps_co", covariant=True, default=Any)
"""The type of an agent's dependencies."""


class Agent(AgentFacts, Generic[Deps_co, Out]):
    """A conversation with a role.

    Its replies and tool results are journaled before they are used. If the code runs again, also
    after a kill, it is answered from the journal and goes on where it stopped: no completed call
    of a model or of a tool is made twice.

    Args:
        role: the role that answers; a text is the prompt of a role named `agent`. Tools that the
            role declares must be in `tools`.
        output: a pydantic model class, a dataclass or a JSON Schema that each answer follows, as in
            `Role`; see `Response.value`.
        deps: what the program hands to its tools and those of its sub-agents: the `deps` of their
            `ToolContext`.
        provider: the model, as in `Setup`: a name, a provider, a chain; or a `Setup` with settings
            of its own.
        tools: what the role may call: plain functions (see `tool`), tools, and `SubAgent`s that it
            may hand tasks to.
        at: where the conversation is kept: in a stage of a run, whose function runs again; in a
            run, beside its stages; in either under a name (`stage.named("q0")`); in a `Home` of its
            own; or, if None, nowhere: it is gone when the agent is closed.
        budget: how much the agent and its sub-conversations may use.
        sources: looked up for each message; what they return is kept with the message.
        on_event: receives events of all messages as they happen; see `stream` for one message.

    Raises:
        InputError, ToolError, RunError, SettingsError: an argument cannot be used, or a tool
            handler of the same run makes the agent.
    """

    def __init__(
        self,
        role: Role | str,
        *,
        output: type[Out] | Mapping[str, Json] | None = None,
        deps: Deps_co = None,  # type: ignore[assignment]  # then there are none
        provider: AgentProvider = None,
        tools: Iterable[ToolDefinition[Deps_co] | Function] = (),
        at: AgentLocation = None,
        budget: Budget | None = None,
        sources: Sequence[BlockSource] = (),
        on_event: OnEvent | None = None,
    ) -> None:
        role = Role(NAMELESS, role) if isinstance(role, str) else role
        definitions = checked_tools(role, tools, deps)
        if output is not None:
            role = with_output(role, output)
        if role.schema is not None:
            schema_check(role.schema)
        self.deps = deps
        self._place = AgentPlace(role.name, provider, at)
        has_memory = any(isinstance(source, KeepsAnswers) for source in sources)
        self._role = self._place.setup.role(role, memory=has_memory)
        # Keys of the providers must not reach a model in the result of a tool.
        self._toolbox = Toolbox(definitions, redact=Redactor(secrets=self._place.chain.secrets))
        self._meter = Meter()
        self._sources = tuple(sources)
        self._on_event = on_event
        self.budget = budget or Budget()
        self._start()
        # In a run the name is taken at once, so that the second agent of a stage is refused where
        # it is made; an agent with a run of its own is opened by its first message.
        if stage := self._place.stage:
            refuse_in_tool_call(stage.host, stage.place)
            self._name = stage.claim(at.name if isinstance(at, Named) else MAIN)

    def _start(self, session: AgentSession | None = None, parent: Self | None = None) -> None:
        """Set what an agent and each of its sub-conversations have of their own."""
        self._name = MAIN if session is None else session.log.id
        self._session = session
        self._parent = parent
        self._subs: dict[str, Self] = {}
        self._lock = asyncio.Lock()  # one message at a time
        self._opening = asyncio.Lock()

    # -- messages ----------------------------------------------------------------------------------

    async def send(
        self,
        content: str,
        *blocks: Block,
        id: str = "",  # noqa: A002  the program's word
    ) -> Response[Out]:
        """Send a message and return the response, after all tool calls that it takes.

        When the program runs again, it sends the same message and gets the same response. A message
        without an answer is gone on with.

        Args:
            content: the message.
            blocks: blocks that only this message is answered from; the conversation does not keep
                them.
            id: an id of the message. A message that was sent before under this id is answered from
                the journal, even if others followed. A program that begins with `resume` gives its
                messages ids.

        Raises:
            InputError: the message is not a text, or blank; nothing was sent.
            RunError: the conversation is kept, and had another message at this position; a person
                has approved a call that `resume` has to make first; or a tool handler of the same
                run sends it.
            Unanswered: the message failed when the program ran before, and another one followed.
            Paused: a person has to decide something first; see `decide`.
            ProviderError, EgressError, VisibilityError, WindowOverflow, ReplyError: there is no
                answer. The conversation is intact, and `resume` tries again.
        """
        return await self._answered(partial(send_text, content, blocks, id))

    def stream(
        self,
        content: str | None = None,
        *blocks: Block,
        id: str = "",  # noqa: A002  the program's word
    ) -> AnswerStream[Out]:
        """Send a message, as `send` does, and receive its events as they happen.

        Example: `async with agent.stream("How many?") as answer:`, and in it `async for event in
        answer:`. When the program runs again, the events come from the journal, and then go on.
        Leaving the block early stops the message, and `resume` goes on with it.

        Args:
            content: the message; None goes on with the last one, as `resume` does.
            blocks: as for `send`.
            id: as for `send`.
        """
        ask = resume_message if content is None else partial(send_text, content, blocks, id)
        return AnswerStream(partial(self._answered, ask))

    async def resume(self) -> Response[Out] | None:
        """Go on from the end of the conversation and return the response to its last message.

        Use it after a kill, an error or a pause, or at a cap once the budget is raised. For errors
        see `send`.

        Returns:
            The response, or None if the conversation has no message yet.
        """
        if not (await self._open()).log.state.messages:
            return None
        return await self._answered(resume_message)

    async def _answered(
        self,
        ask: Callable[[AgentSession], Awaitable[Response]],
        on_stream: OnEvent | None = None,
    ) -> Response[Out]:
        """Return the response to a message, and tell its events.

        Args:
            ask: sends or resumes the message.
            on_stream: receives the events of the message, those of the journal among them.
        """
        self._refuse()
        async with self._lock:
            session = await self._open()
            own_listener = session.listener
            if on_stream:
                on_event = both(self._on_event, on_stream)
                session.listener = Listener(on_event, session.log.id, on_stream)
            try:
                response = await ask(session)
                if self._role.strategy == "memory":
                    await keep_answer(session)
                if on_stream:
                    on_stream(MessageEnded(session.log.id, response))
            finally:
                session.listener = own_listener
                # A tool handler that talks with this agent now knows of all that it saw.
                mark_calls(session.log.state.egress)
            return response

    async def decide(
        self, answer: str, question: str | None = None, reason: str = "", *, by: str = ""
    ) -> None:
        """Record a person's decision about a tool call that waits; see `Run.decide`.

        Then call `resume`, or run the program again.
        """
        session = await self._open()
        await session.log.host.decide(answer, question, reason, by=by)

    # -- sub-conversations -------------------------------------------------------------------------

    async def open_sub(self, purpose: str, background: str = "", *, name: str = "") -> Self:
        """Open a sub-conversation: an agent with a window of its own, which shares this one's tools
        and budget.

        When the program runs again, the sub-conversation is found by its name, or by its purpose
        and background.

        Raises:
            InputError: the purpose is blank, or the name contains `/`.
            RunError: the sub-conversation was opened already.
        """
        session = await self._open()
        conversation = session.log.id
        for field, text in (("purpose", purpose), ("background", background), ("name", name)):
            check_kind(text, str, field, conversation)
        if not purpose.strip() or "/" in name:
            hint = 'write open_sub("What of it?"), and leave / out of a name'
            problem = "it has no purpose, or a name with /"
            raise InputError(problem, place=conversation, hint=hint)
        sub_session = await open_program_sub(
            session, whole_text(purpose), whole_text(background), name
        )
        sub_id = sub_session.log.id
        if sub_id in self._subs:
            hint = "use the agent that has it, or write open_sub(..., name=...)"
            problem = f"a sub-conversation {sub_id} was opened already"
            raise RunError(problem, place=conversation, hint=hint)
        # Only what is set in `_start` is its own: it shares role, place, budget and listener.
        sub = copy.copy(self)  # of the same role, place and budget
        sub._start(sub_session, parent=self)
        self._subs[sub_id] = sub
        return sub

    async def close_sub(self, sub: Agent[Any, Any]) -> SourceSummary:
        """Have a sub-conversation sum up, tell this conversation the summary, and archive it.

        Numbers and ids that the sub-conversation neither was given nor got back are removed from
        the summary. If it cannot sum up, lines chosen by rule stand in, and the summary says so.

        Raises:
            InputError: it is not an open sub-conversation of this agent.
        """
        session = await self._open()
        if sub not in self._subs.values():
            problem = "that is no open sub-conversation of this one"
            hint = "open it again with open_sub"
            raise InputError(problem, place=session.log.id, hint=hint)
        # In this order: the sub-conversation's last message may still be under way.
        async with sub._lock:
            sub_session = await sub._open()
            async with self._lock:
                summary = await close_program_sub(session, sub_session)
        del self._subs[sub.id]
        return summary

    # -- what can be changed at any time -----------------------------------------------------------

    def register_tool(self, tool: ToolDefinition[Deps_co] | Function) -> None:
        """Add a tool; the next model call can use it.

        A program that goes on with a conversation registers the tool again first.
        """
        (definition,) = as_tools([tool])
        definition = definition.with_deps(self.deps)
        toolbox = self._session.window.toolbox if self._session else self._toolbox
        if definition.spec in toolbox.specs:
            # A handler whose call is tried again registers the same again.
            toolbox.offer(definition)
        else:
            toolbox.register(definition)
        # Open sub-conversations have toolboxes of their own.
        for sub in self._subs.values():
            sub.register_tool(definition)

    # -- opening and closing -----------------------------------------------------------------------

    def copy(self, *, at: AgentLocation, provider: AgentProvider = None) -> Self:
        """Return an agent that is made of the same, with a conversation of its own.

        Args:
            at: where its conversation is kept.
            provider: another model; None for the same.
        """
        given: Any = {
            "deps": self.deps,
            "provider": provider or self._place.setup,
            "tools": [tool for tool in self._toolbox.tools if tool.name not in OWN],
            "budget": self.budget,
            "sources": self._sources,
            "on_event": self._on_event,
        }
        return type(self)(self._role, at=at, **given)

    async def open(self) -> None:
        """Open the conversation, so that `history` returns what is kept.

        `send` opens it, too, and so does `async with` if the agent has a `Home`.
        """
        await self._open()

    def _refuse(self) -> None:
        if self._session:
            self._session.log.refuse()

    async def _open(self) -> AgentSession:
        """Return the open session; the first call opens it."""
        self._refuse()
        # Two messages sent at the same time must not open the conversation twice.
        async with self._opening:
            if self._session is None:
                stage = await self._place.open()
                self._session = self._new_session(stage)
                # A stage that is done never repeats a call, whatever it declares.
                if stage.is_kept:
                    self._place.closing.callback(stage.release, self._name)
                    self._log_unknown_effects()
        return self._session

    def _new_session(self, stage: Stage) -> AgentSession:
        log = ConversationLog(stage, self._name)
        log.refuse()
        session = AgentSession(
            log,
            RoleWindow(stage, self._role, self._toolbox),
            self._meter,
            self._place.setup.settings.llm.sub_conversation,
            Listener(self._on_event, self._name) if self._on_event else None,
            self._sources,
        )
        return equip(session)

    def _log_unknown_effects(self) -> None:
        tools = [tool.name for tool in self._toolbox.tools if tool.effect == "unknown"]
        if tools:
            line = "%s: tools without a declared effect are never repeated: %s"
            _log.info(line, self._name, ", ".join(tools))

    async def close(self) -> None:
        """Close the agent, once messages under way in other tasks have ended.

        A kept conversation can be opened again; any other one is gone. A sub-conversation stays
        open as long as its parent.
        """
        self._refuse()
        # A sub-conversation belongs to its parent, which closes the place.
        if self._parent is None:
            locks = [self._lock, *[sub._lock for sub in self._subs.values()]]
            for lock in locks:
                async with lock:
                    pass  # a message that is under way holds its lock
            self._session = None
            self._subs.clear()
            await self._place.close()

    async def __aenter__(self) -> Self:
        # So that `history` tells what is kept. A stage opens its agents at their first message.
        if self._place.has_home:
            await self._open()
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self.close()
