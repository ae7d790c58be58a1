"""Settings of providers with a server."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transom.config.section import SettingsSection


class Retry(SettingsSection):
    """Retries of provider requests; delays in seconds.

    Attributes:
        max_attempts: number of attempts, the first included.
        initial_delay: delay before the second attempt.
        max_delay: longest delay, unless the server asks for more.
        backoff_factor: factor between a delay and the one before.
        jitter: share of a delay, 0 to 1, that is random.
        max_retry_after: longest delay, even if the server asks for a longer one.
    """

    max_attempts: int = Field(default=4, ge=1)
    initial_delay: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    max_delay: float = Field(default=30, ge=0, allow_inf_nan=False)
    backoff_factor: float = Field(default=2, ge=1, allow_inf_nan=False)
    jitter: float = Field(default=0.5, ge=0, le=1)
    max_retry_after: float = Field(default=300, ge=0, le=3_600)


class HostedSettings(SettingsSection):
    """A provider with a server.

    Attributes:
        base_url: the server's URL; `--base-url` takes precedence.
        key_variable: the environment variable with its API key; None for the vendor's own.
        local: whether the server is on this machine and may get blocks marked local; not inferred
            from the URL.
        context_tokens: size of the model's window; None for the usual one.
        parallel_tools: whether one reply may call several tools.
        images: whether the model reads images; None for what is known of it.
        files: whether the model reads PDF files; None for what is known of it.
        timeout_seconds: timeout of one whole reply.
        requests_per_minute: rate limit; None for no limit.
        tokens_per_minute: rate limit of input plus output; None for no limit. An open request
            counts with its largest possible size.
        retry: attempts and delays.
    """

    base_url: str | None = None
    key_variable: str | None = None
    local: bool = False
    context_tokens: int | None = Field(default=None, ge=1)
    parallel_tools: bool = True
    images: bool | None = None
    files: bool | None = None
    timeout_seconds: float = Field(default=300, gt=0, allow_inf_nan=False)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    retry: Retry = Retry()


class OpenAISettings(HostedSettings):
    """OpenAI, and servers with a compatible API.

    Attributes:
        api_version: API version of Azure, which is used if this is set; the model is then the
            deployment's name.
        service: the service behind a gateway, if its URL does not show it.
    """

    api_version: str | None = None
    service: Literal["openai", "azure", "openrouter", "other"] | None = None
