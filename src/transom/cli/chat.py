"""`transom chat`: a conversation with an agent in the terminal."""

from __future__ import annotations

import asyncio
import getpass
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from contextvars import copy_context
from typing import Annotated, Any

import typer

from transom.agent import Agent, Budget, Home, Response, SyncAgent
from transom.agent.models import Event, ReplyDelta, ReplyReceived, ToolCallFinished, ToolCallStarted
from transom.agent.views import Message
from transom.cli.agents import HeldAgent, opened_agent
from transom.cli.app import root
from transom.cli.command import AgentOption, command
from transom.cli.command_session import Session
from transom.cli.ending import Ending, orderly_end
from transom.cli.output import print_text, printable, say, style, unread
from transom.errors import InputError, Paused, TransomError
from transom.llm.deltas import Again
from transom.llm.provider import Chain
from transom.llm.rules import RULES
from transom.runs.questions import in_full, options_of

_LONGEST_LINE = 200  # characters of a tool's call or result, as the terminal shows them
_ROLE = "You are a helpful assistant. Answer in plain text, briefly."

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name to resume the chat by.")]


@command(root, "chat", example="transom chat monday --agent shop:clerk", asks=True)
def chat(session: Session, name: Name = "chat", agent: AgentOption = "") -> int:
    """Talk with an agent, or with a model alone.

    The same NAME resumes the same conversation. Ctrl-C stops an answer, Ctrl-D ends the chat.
    """
    home = Home(session.workspace.root, name)
    # Checked before the agent is loaded, so that a missing model is reported first.
    chain = _model(session, has_agent=bool(agent))
    # What the agent's tools need is opened in the loop in which they run.
    with orderly_end() as ending, asyncio.Runner() as runner, ExitStack() as stack:
        # An agent closes its own model; that of the command belongs to this function.
        if chain:
            stack.callback(lambda: runner.run(chain.aclose()))
        context = copy_context()
        if agent:
            held = HeldAgent(runner, opened_agent(session, agent, "--agent"))
            chosen = stack.enter_context(held).copy(at=home, provider=chain)
            # A program of the user's would send its messages in this context.
            context = held.context.copy()
        else:
            chosen = Agent(_ROLE, provider=chain, at=home)
        if (limit := session.settings.execution.max_cost) is not None:
            chosen.budget = Budget(usd=limit)
        context.run(_talk, chosen, runner, ending)
    words = ["transom", "chat", name]
    if agent:
        words += ["--agent", agent]
    if "model" in session.overrides:
        words += ["--model", str(session.overrides["model"])]
    say(f"continue with: {session.in_this_workspace(shlex.join(words))}")
    return 0


def _talk(agent: Agent[Any, Any], runner: asyncio.Runner, ending: Ending) -> None:
    with SyncAgent(agent, runner=runner) as door:
        _Chat(door, ending).run()


def _model(session: Session, *, has_agent: bool) -> Chain | None:
    """Return the model that the command names; None for the agent's own."""
    if has_agent and "model" not in session.overrides:
        return None
    if session.settings.model == RULES and session.answers is None:
        hint = "pass --model ollama:NAME, openai:NAME or anthropic:NAME"
        raise InputError("a chat needs a model", place="--model", hint=hint)
    return session.chain()


class _Chat:
    """A conversation in the terminal, line by line."""

    def __init__(self, door: SyncAgent[Any, Any], ending: Ending) -> None:
        self._door = door
        self._ending = ending
        self._is_in_line = False  # whether a piece of text was printed without a line break
        self._has_text = False  # whether a piece of the reply that is under way was printed
        self._is_over = False

    def run(self) -> None:
        """Show what was said before, and answer lines until there are no more."""
        self._door.wait(self._door.agent.open())
        history = self._door.history()
        texts = [number for number, message in enumerate(history) if _is_question(message)]
        if texts:
            for message in history[: texts[-1] + 1]:
                _show_earlier(message)
            # The last message may have no answer yet, so it is told again and gone on with.
            self._answer(None)
        while not self._is_over and (line := _read_line()) is not None:
            # Some terminals catch Ctrl-D.
            if line.strip() == "/exit":
                return
            if line.strip():
                self._answer(line)

    def _answer(self, text: str | None) -> None:
        """Show the answer to a message; None goes on with the last one."""
        try:
            with self._door.stream(text) as answer:
                for event in answer:
                    self._show(event)
                self._end(answer.response())
        # Ctrl-C ends the answer and not the chat.
        except KeyboardInterrupt:
            self._end_line()
            if self._ending.is_requested:
                raise
            say("stopped; write something, or end with Ctrl-D")
        except Paused as paused:
            self._end_line()
            self._decide(paused)
        except TransomError as error:
            self._end_line()
            say(f"transom: {error}")

    def _decide(self, paused: Paused) -> None:
        """Ask a person about a tool call, and go on with the message."""
        choice: Any = paused.question
        if not choice:
            say(f"transom: {paused}")
            return
        options = options_of(choice)
        print_text(f"{paused.reason}: {in_full(choice)}")
        answer = _read_option(options)
        # A further message would give the call up, so the chat ends here.
        if answer is None:
            say("the question stays open: start the chat again to answer it")
            self._is_over = True
            return
        fingerprint = choice["fingerprint"]
        self._door.wait(self._door.decide(answer, fingerprint, by=getpass.getuser()))
        self._answer(None)

    def _show(self, event: Event) -> None:
        """Show an event; those of sub-agents are tools' business."""
        if event.conversation != self._door.id:
            return
        match event:
            # The model writes its reply again, so the text above is void.
            case ReplyDelta(piece=Again(why=reason)):
                self._end_line()
                if self._has_text:
                    print_text(style(f"[not valid: {reason}]", "dim"))
                self._has_text = False
            case ReplyReceived():
                self._has_text = False
            case ReplyDelta() if event.text:
                self._has_text = True
                _write("\n".join(map(printable, event.text.split("\n"))))
                self._is_in_line = not event.text.endswith("\n")
            case ToolCallStarted(call=call):
                self._end_line()
                print_text(style(f"[{call.name} {call.arguments}]"[:_LONGEST_LINE], "dim"))
            case ToolCallFinished(result=result):
                print_text(style(f"[= {result.content}]"[:_LONGEST_LINE], "dim"))

    def _end(self, response: Response[Any]) -> None:
        self._end_line()
        if response.ended != "answered":
            say(f"ended: {response.ended}")

    def _end_line(self) -> None:
        if self._is_in_line:
            _write("\n")
        self._is_in_line = False


def _is_question(message: Message) -> bool:
    return message.role == "user" and not message.tool_results


def _show_earlier(message: Message) -> None:
    """Show a message of the journal. Results of tools are left out."""
    if _is_question(message):
        print_text(f"> {message.content}")
    elif message.role == "assistant" and message.content:
        print_text(*message.content.split("\n"))


def _read_line(prompt: str = "> ") -> str | None:
    """Return a line of the terminal, or None at its end."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    # Imported for its effect: lines can be edited, and earlier ones called back.
    import readline  # noqa: F401

    try:
        return input(prompt)
    except EOFError:
        _write("\n")
        return None


def _read_option(options: Sequence[str]) -> str | None:
    """Return one of the options; None at the end of the input, or after /exit.

    A typing error must not decide about a tool call, and must not reach the model as a message.
    """
    while (line := _read_line(f"{' or '.join(options)}? ")) is not None:
        answer = line.strip()
        if answer in options:
            return answer
        if answer == "/exit":
            return None
        say(f"{answer!r:.80} is no answer: write {' or '.join(options)}")
    return None


def _write(text: str) -> None:
    with unread():
        sys.stdout.write(text)
        sys.stdout.flush()
