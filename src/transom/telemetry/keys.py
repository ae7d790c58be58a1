"""Names of span attributes and metrics.

The GenAI semantic conventions of OpenTelemetry still change and have left its package of constants,
so the names in use are written here. A name that the conventions do not have begins with
`transom.`.
"""

from __future__ import annotations

from typing import Final

# Values of OPERATION.
CHAT: Final = "chat"
INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
RETRIEVAL: Final = "retrieval"
MEMORY_CHANGE: Final = "memory"
# Values of OPERATION for which the conventions have no word.
ATTEMPT_CHAT: Final = "attempt"
COMPACT: Final = "compact"
SUB_CONVERSATION: Final = "sub_conversation"
CHECK: Final = "check"
STAGE_RUN: Final = "stage"

# Attributes of the conventions.
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
TEMPERATURE: Final = "gen_ai.request.temperature"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"
EXCEPTION: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"

# Requests of a program's own HTTP client.
HTTP_METHOD: Final = "http.request.method"
HTTP_STATUS: Final = "http.response.status_code"
URL: Final = "url.full"

# Metrics of the conventions, in seconds and in tokens, and an attribute of the latter.
OPERATION_DURATION: Final = "gen_ai.client.operation.duration"
TOKEN_USAGE: Final = "gen_ai.client.token.usage"
TOKEN_TYPE: Final = "gen_ai.token.type"

# Attributes of our own.
OPEN: Final = "transom.open"
RUN_ID: Final = "transom.run.id"
STAGE: Final = "transom.stage"
ATTEMPT: Final = "transom.attempt"
ROLE: Final = "transom.role"
REPLAYED: Final = "transom.reply.replayed"
TOTAL_TOKENS: Final = "transom.usage.total_tokens"
MESSAGES: Final = "transom.conversation.messages"
TOOL_SUCCESS: Final = "transom.tool.success"
ACTION: Final = "transom.stage.action"
RETRY_WAIT: Final = "transom.retry.wait_seconds"
COST_USD: Final = "transom.cost.usd"
WINDOW_TOKENS: Final = "transom.window.tokens"
WINDOW_AVAILABLE: Final = "transom.window.available"
WINDOW_DROPPED: Final = "transom.window.dropped"
WINDOW_MEDIA: Final = "transom.window.media"
FOLDED: Final = "transom.compaction.folded"
TOKENS_BEFORE: Final = "transom.compaction.tokens_before"
TOKENS_AFTER: Final = "transom.compaction.tokens_after"
COMPRESSION_RATIO: Final = "transom.compression.ratio"
GATE: Final = "transom.gate"
FINDINGS: Final = "transom.findings"
PARENT_CONVERSATION: Final = "transom.conversation.parent.id"
CAP: Final = "transom.cap"
FOUND: Final = "transom.memory.found"
MEMORY_OPERATION: Final = "transom.memory.operation"
MEMORY_HIT: Final = "transom.memory.hit"

# Metrics of our own, in addition to COMPRESSION_RATIO and COST_USD. Only `trace stats` uses the
# first: a collector can add up the durations of operations.
CALL_DURATION: Final = "transom.call.duration"
TOOL_DURATION: Final = "transom.tool.duration"
REQUESTS: Final = "transom.provider.requests"
RETRIES: Final = "transom.provider.retries"
SUB_CONVERSATIONS: Final = "transom.sub_conversations"
MEMORY_DURATION: Final = "transom.memory.duration"
MEMORY_QUERIES: Final = "transom.memory.queries"
