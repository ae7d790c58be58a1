"""The error classes of Transom.

    TransomError
    ├── InputError              an input is wrong; has file:line and a hint
    │   ├── NotFoundError       ... a name belongs to nothing, e.g. the id of a run
    │   └── SettingsError       ... in a settings file or a TRANSOM_ variable
    ├── VisibilityError         a role got a block that it does not declare
    ├── EgressError             a block marked local would have left the machine
    ├── WindowOverflow          a window does not fit, with its sizes
    ├── ProviderError           a provider failed; `retryable`: whether a retry may help
    │   ├── AuthenticationFailed  the key is missing, wrong or not permitted
    │   ├── RateLimited         too many requests or tokens; may have a time to wait
    │   ├── RequestRefused      the request is invalid for the provider
    │   │   └── ContextOverflow ... it is longer than the model's window, with its sizes
    │   ├── NetworkFailed       no answer, an incomplete answer, or a timeout
    │   ├── NeedsModel          the embedded rules do not understand some words
    │   └── ReplayMiss          the request has no recording; shows the difference
    ├── ReplyError              a reply cannot be parsed (missing or unclosed tag)
    ├── ToolError               a tool cannot be registered, or a role and its tools do not fit
    │   └── ToolRefused         a tool call failed; the model gets the reason
    │       ├── ToolRetry             ... it asks for a corrected call
    │       ├── ToolNotFoundError     ... the tool is unknown
    │       ├── InvalidArgumentsError ... its arguments do not match the schema
    │       ├── ToolExecutionError    ... the tool failed
    │       ├── ToolTimeoutError      ... the tool exceeded its timeout
    │       ├── ToolInDoubtError      ... it was started, and its outcome is unknown
    │       └── ToolQuotaError        ... its quota in the conversation is used up
    ├── OutOfTurns              a role calls tools after its last turn; has the turns so far
    ├── CapReached              a conversation has reached a cap, with the amount
    ├── StoreError              the database cannot be opened, read or written
    ├── MemoryUnavailable       memory cannot be reached; a run can go on without it
    ├── RunError                a run cannot be opened or continued
    │   ├── RunBusy             another process has locked the run
    │   ├── Unanswered          a message failed in an earlier execution, and another one followed
    │   └── Paused              a run waits for a person or a model
    └── SandboxError            untrusted code could not be run
        ├── SandboxUnavailable  this machine supports no level of isolation
        ├── ProgramHidden       a program exists, and the sandbox does not show it
        ├── RegexFailed         a regular expression does not terminate
        └── AtomFailed          the code crashed, timed out or returned an invalid result

Every error has a problem (`problem`), its position (`place`) and a `hint`; `exit_code` is the exit
code of a command that ends with it.
"""

from __future__ import annotations

from transom.errors.base import (
    EgressError,
    InputError,
    MemoryUnavailable,
    NotFoundError,
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
    ProgramHidden,
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
    ToolRetry,
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
    "NotFoundError",
    "NotUnderstood",
    "OutOfTurns",
    "Paused",
    "ProgramHidden",
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
    "ToolRetry",
    "ToolTimeoutError",
    "TransomError",
    "Unanswered",
    "VisibilityError",
    "WindowOverflow",
    "install_hint",
    "with_causes",
]
