"""What an agent is made of: who is asked and how, what it may call, where it lives, and how much it may use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from transom.agent.caps import Caps, Meter
from transom.agent.given import check_given, given_role, given_setup
from transom.agent.home import Place, stage_of
from transom.agent.setup import LateShelf, Setup
from transom.agent.sub import sub_role, task, without_own
from transom.agent.turns import Conversation
from transom.llm import Block, Chain, Provider, Role
from transom.llm.turns import Egress, strictest
from transom.runs import Named
from transom.telemetry import Redactor
from transom.tools import Toolbox, ToolDefinition


@dataclass
class Made:
    """The parts of an agent that are there before it says anything.

    Attributes:
        role: who is asked, as the settings have it.
        toolbox: what it may call.
        setup: who answers, and the settings that hold for it.
        chain: the same, made.
        at: where it lives.
        meter: what is used, and may be; a sub-conversation has that of the agent that opens it.
        shelf: where a chain that was made for it keeps what was spent of its limits.
        parent: the conversation that opens it, if one does.
        always: what every message in it is answered from.
        lasting: whether what was said in it stays said, see `Stage.ask`.
    """

    role: Role
    toolbox: Toolbox
    setup: Setup
    chain: Chain
    at: Place
    meter: Meter
    lasting: bool
    shelf: LateShelf = field(default_factory=LateShelf)
    parent: Conversation | None = None
    always: tuple[Block, ...] = ()

    @classmethod
    def of(
        cls, role: Role, tools: Iterable[ToolDefinition], provider: str | Provider | Chain | Setup | None, at: Place
    ) -> Made:
        """From what a program gives.

        Raises:
            See `Agent`, but for its caps and its name.
        """
        check_given(role, tools, at)
        tools = list(tools)
        setup = given_setup(provider, at)
        role = setup.role(given_role(role, tools))
        shelf, stage = LateShelf(), stage_of(at)
        chain = stage.host.chain if stage else setup.chain(role.name, shelf)
        toolbox = Toolbox(tools, redact=Redactor(secrets=chain.secrets))
        return cls(role, toolbox, setup, chain, at, Meter(), stage is None, shelf)

    def sub(self, talk: Conversation, name: str, purpose: str, background: str, egress: Egress) -> Made:
        """What a sub-conversation is made of.

        Args:
            talk: the conversation that opens it.
            name: of the sub-conversation.
            purpose: what it is to find out.
            background: what it knows.
            egress: of both, where that is stricter than the conversation's own.
        """
        toolbox = self.toolbox.within(without_own(self.toolbox))
        role, chain = sub_role(self.role, self.setup.settings.llm.sub_conversation), talk.stage.host.chain
        made = Made(role, toolbox, self.setup, chain, Named(talk.stage, name), self.meter, self.lasting)
        made.parent, made.always = talk, task(purpose, background, strictest(talk.egress, egress))
        return made

    @property
    def caps(self) -> Caps:
        """How much it may use."""
        return replace(self.meter.caps, turns=self.toolbox.max_turns)

    def hold(self, caps: Caps) -> None:
        """Other caps from now on; turns are up to `toolbox`.

        Raises:
            InputError: see `Meter.hold`.
        """
        self.meter.hold(caps, self.chain.everyone, self.setup.settings.paths.prices)

    def count_anew(self) -> None:
        """What was used counts no more; the caps are the same."""
        caps, self.meter = self.meter.caps, Meter()
        self.hold(caps)
