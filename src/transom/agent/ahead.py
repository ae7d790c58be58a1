"""What a program said, gone through before it says it again: the handler of a tool speaks behind it.

A message failed, and the program went on in another conversation, or with `go_on`. When it runs again the message may
have its answer, and a tool that it calls talks where the program went on, and has not come to yet. What is said there
stays said, in its order. So the handler is heard behind that, and the program, when it comes there, is told what came
of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.agent.views import Response


@dataclass
class Ahead:
    """One message.

    Attributes:
        told: as the journal has it.
        number: which of all that was told in the conversation, from 0.
        answer: of it; None where it was left without one, or waits for it still.
    """

    told: Any
    number: int
    answer: Response | None = None
