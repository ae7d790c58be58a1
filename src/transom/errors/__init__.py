"""The one error tree.

    TransomError
    ├── InputError              what a person gave is wrong: file:line, what, what to do
    │   └── SettingsError       ... in a settings file or a TRANSOM_ variable
    ├── VisibilityError         a role was given a block that it does not declare
    ├── EgressError             a block marked local was about to leave the machine
    ├── WindowOverflow          a window does not fit, with its sizes
    ├── ProviderError           a provider failed; `retryable` says whether to try again
    │   ├── AuthenticationFailed  the key is missing, wrong, or may not do this
    │   ├── RateLimited         too much was asked for; it may say when to come back
    │   ├── RequestRefused      the request itself is not accepted
    │   │   └── ContextOverflow ... because it is too long, with its sizes
    │   ├── NetworkFailed       no answer, half an answer, or not in time
    │   ├── NeedsModel          the embedded rules do not understand, word for word
    │   └── ReplayMiss          no recording of this request, with the difference
    ├── ReplyError              a reply came, but cannot be read (missing or unclosed tag)
    ├── ToolError               a tool cannot be registered, or a role and its tools do not fit
    │   └── ToolRefused         a tool call is not carried out; the model is told why
    │       ├── ToolNotFoundError     ... there is no such tool
    │       ├── InvalidArgumentsError ... its arguments do not fit the schema
    │       ├── ToolExecutionError    ... the tool failed
    │       ├── ToolTimeoutError      ... the tool took too long
    │       ├── ToolInDoubtError      ... it was begun, and what came of it is not known
    │       └── ToolQuotaError        ... it was called as often as it may be
    ├── OutOfTurns              a role goes on calling tools when it may not, with the work so far
    ├── CapReached              a conversation has used what it may use, with how much
    ├── StoreError              the database cannot be opened, read or written
    ├── MemoryUnavailable       memory cannot be reached; a run can go on without it
    ├── RunError                a run cannot be opened or continued
    │   ├── RunBusy             another process holds the run
    │   ├── Unanswered          a message was stopped when the code ran before, and something else was said then
    │   └── Paused              a run waits for a person or a model
    └── SandboxError            untrusted code could not be run
        ├── SandboxUnavailable  no level of isolation on this machine
        ├── RegexFailed         a regular expression of a person or a checker finds no end
        └── AtomFailed          the code crashed, timed out or answered nonsense

Every error says what, where and what to do; `exit_code` is the code of a command that ends with it.
"""

from __future__ import annotations

from transom.errors.base import (
    EgressError,
    InputError,
    MemoryUnavailable,
    SettingsError,
    StoreError,
    TransomError,
    VisibilityError,
    WindowOverflow,
)
from transom.errors.installing import install_hint
from transom.errors.providers import (
    AuthenticationFailed,
    ContextOverflow,
    NeedsModel,
    NetworkFailed,
    NotUnderstood,
    ProviderError,
    RateLimited,
    ReplayMiss,
    ReplyError,
    RequestRefused,
    with_causes,
)
from transom.errors.running import (
    AtomFailed,
    CapReached,
    OutOfTurns,
    Paused,
    RegexFailed,
    RunBusy,
    RunError,
    SandboxError,
    SandboxUnavailable,
    Unanswered,
)
from transom.errors.tools import (
    InvalidArgumentsError,
    ToolError,
    ToolExecutionError,
    ToolInDoubtError,
    ToolNotFoundError,
    ToolQuotaError,
    ToolRefused,
    ToolTimeoutError,
)

__all__ = [
    "AtomFailed",
    "AuthenticationFailed",
    "CapReached",
    "ContextOverflow",
    "EgressError",
    "InputError",
    "InvalidArgumentsError",
    "MemoryUnavailable",
    "NeedsModel",
    "NetworkFailed",
    "NotUnderstood",
    "OutOfTurns",
    "Paused",
    "ProviderError",
    "RateLimited",
    "RegexFailed",
    "ReplayMiss",
    "ReplyError",
    "RequestRefused",
    "RunBusy",
    "RunError",
    "SandboxError",
    "SandboxUnavailable",
    "SettingsError",
    "StoreError",
    "ToolError",
    "ToolExecutionError",
    "ToolInDoubtError",
    "ToolNotFoundError",
    "ToolQuotaError",
    "ToolRefused",
    "ToolTimeoutError",
    "TransomError",
    "Unanswered",
    "VisibilityError",
    "WindowOverflow",
    "install_hint",
    "with_causes",
]
