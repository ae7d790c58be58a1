"""An agent as a solver of Inspect, the evaluation framework of the UK's AI Security Institute."""

from __future__ import annotations

from typing import Any

from transom.agent import Agent, Response
from transom.agent.setup import AgentProvider
from transom.errors import InputError, install_hint
from transom.llm import AssistantMessage, Text, ToolResults, Turn

# Inspect's words for the end of an answer.
_STOPS = {"answered": "stop", "length": "max_tokens", "refusal": "content_filter"}


def inspect_solver(agent: Agent[Any, Any], *, provider: AgentProvider = None) -> Any:
    """Return a solver that answers each sample with a conversation of its own.

    The agent asks its own model, and not the one that Inspect was started with. A sample's messages
    before the last one are not sent.

    Args:
        agent: the agent; each sample gets a copy.
        provider: another model; None for the agent's own.

    Raises:
        InputError: Inspect is not installed.
    """
    try:
        from inspect_ai.solver import solver  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError as error:
        problem = "the extra `inspect` is not installed"
        raise InputError(problem, hint=install_hint("inspect")) from error

    @solver(name="transom")  # type: ignore[untyped-decorator,unused-ignore]
    def made() -> Any:
        async def solve(state: Any, generate: Any) -> Any:  # noqa: ARG001  Inspect's signature
            # A copy without a store: samples run at the same time and share nothing.
            async with agent.copy(at=None, provider=provider) as copy:
                response = await copy.send(state.user_prompt.text)
                model = copy.context().provider
            # Inspect has the question already.
            state.messages += _messages(response.turns[1:], model)
            state.output = _output(response, model)
            return state

        return solve

    return made()


def _messages(turns: tuple[Turn, ...], model: str) -> list[Any]:
    """Return the turns after the question as messages of Inspect."""
    from inspect_ai.model import (  # type: ignore[import-not-found]  # noqa: PLC0415  an extra
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
    )
    from inspect_ai.tool import (  # type: ignore[import-not-found]  # noqa: PLC0415  an extra
        ToolCall,
        ToolCallError,
    )

    messages: list[Any] = []
    for turn in turns:
        if isinstance(turn, AssistantMessage):
            calls = []
            for call in turn.calls:
                # Arguments that were no JSON object came as text.
                arguments = call.arguments
                if not isinstance(arguments, dict):
                    arguments = {"not_json": arguments}
                calls.append(ToolCall(id=call.id, function=call.name, arguments=arguments))
            text = "".join([part.text for part in turn.parts if isinstance(part, Text)])
            message = ChatMessageAssistant(content=text, tool_calls=calls or None, model=model)
            messages.append(message)
        elif isinstance(turn, ToolResults):
            for result in turn.results:
                error = None
                if result.is_error:
                    error = ToolCallError(type="unknown", message=result.content)
                messages.append(
                    ChatMessageTool(
                        content=result.content,
                        tool_call_id=result.id,
                        function=result.name,
                        error=error,
                    )
                )
        else:
            messages.append(ChatMessageUser(content=turn.text))
    return messages


def _output(response: Response[Any], model: str) -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage  # noqa: PLC0415  an extra

    # A cap of the agent's budget is a limit of the answer for Inspect.
    stop = _STOPS.get(response.ended, "max_tokens")
    output = ModelOutput.from_content(model=model, content=response.text, stop_reason=stop)
    usage = response.usage
    output.usage = ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_tokens_cache_read=usage.cached_tokens,
    )
    return output
