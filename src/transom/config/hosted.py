"""Settings of providers that have a server."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Retry(_Section):
    """How often a provider is asked, and how long in between; delays in seconds.

    Attributes:
        max_attempts: the first time included.
        initial_delay: before the second attempt.
        max_delay: no longer than this, unless the server asks for more.
        backoff_factor: by which each delay exceeds the one before.
        jitter: the part of a delay, 0 to 1, that is left to chance.
        max_retry_after: no longer than this, whatever the server asks for.
    """

    max_attempts: int = Field(default=4, ge=1)
    initial_delay: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    max_delay: float = Field(default=30, ge=0, allow_inf_nan=False)
    backoff_factor: float = Field(default=2, ge=1, allow_inf_nan=False)
    jitter: float = Field(default=0.5, ge=0, le=1)
    max_retry_after: float = Field(default=300, ge=0, le=3_600)


class HostedSettings(_Section):
    """A provider that has a server.

    Attributes:
        base_url: where it listens; `--base-url` goes before it.
        key_variable: the environment variable that holds its key; the vendor's own where None.
        local: what it is sent stays on this machine, so blocks marked local may go there. An address does not tell.
        context_tokens: the model's window, where it is not the usual one.
        parallel_tools: whether one reply may call several tools.
        timeout_seconds: wall clock for one whole reply.
        requests_per_minute: no more than so many; None: as many as you like.
        tokens_per_minute: input and output together; a request counts with all that it may take until it is answered.
        retry: how often, and how long in between.
    """

    base_url: str | None = None
    key_variable: str | None = None
    local: bool = False
    context_tokens: int | None = Field(default=None, ge=1)
    parallel_tools: bool = True
    timeout_seconds: float = Field(default=300, gt=0, allow_inf_nan=False)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    retry: Retry = Retry()


class OpenAISettings(HostedSettings):
    """OpenAI, and those that took over its API.

    Attributes:
        api_version: of Azure, which is spoken to where this is set; the model is then the deployment's name.
        service: whose models a gateway hands requests to, where its address does not tell.
    """

    api_version: str | None = None
    service: Literal["openai", "azure", "openrouter", "other"] | None = None
