"""`ContextAgent`: `check spec` as an object whose one method never raises, with the API of an
earlier system.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from transom.canonical import Json, pretty_json
from transom.checklist.calls import (
    CheckOptions,
    build,
    validate_code,
    validate_spec,
)
from transom.checklist.embedded import embedded_default
from transom.checklist.item import load_item
from transom.checklist.judging import Occasion, load_checker
from transom.checklist.manner import Manner, Places
from transom.checklist.pipeline import spec_of
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.writing.round_copies import debug_folder, export_rounds
from transom.checklist.writing.rounds import ROUNDS
from transom.checklist.writing.write import WrittenSpec
from transom.config import Settings, load_settings
from transom.errors import InputError, TransomError
from transom.llm import CallSettings
from transom.llm.hosted import HOSTED, SERVICES
from transom.llm.naming import Surroundings, named_chain
from transom.llm.rules import RULES
from transom.runs import Run, Workspace
from transom.sandbox import Sandbox

__all__ = ["AgentResult", "CodeGenAgent", "ContextAgent", "ValidationAgent"]

# Programs of the earlier system name a model alone, without its provider.
_MAKERS = {"claude": "anthropic", "gpt": "openai", "chatgpt": "openai", "o1": "openai"} | {
    "o3": "openai",
    "o4": "openai",
}
"""Beginnings of the names of models, and the provider that serves them."""

_TITLES = ("Analysis", "Parsing Logic", "Check Logic", "Waiver Logic", "Implementation Guide")


@dataclass(frozen=True)
class AgentResult:
    """The result of `ContextAgent.process`.

    Attributes:
        result: one sentence.
        artifacts: `itemspec_path`, `itemspec_content`, `item_id`, `rounds` (round -> its text).
        metadata: `version`, `model`, `run_id`, and the gate's `findings`.
        status: an ItemSpec with findings is a success; its file's name has NEEDS_REVIEW.
        errors: messages with what, where, and what to do.
    """

    result: str
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Json] = field(default_factory=dict)
    status: Literal["success", "failed"] = "success"
    errors: Sequence[str] = ()


class ContextAgent:
    """Writes ItemSpecs: `await ContextAgent().process({"config_path": "item.yaml"})`."""

    def __init__(
        self,
        debug_mode: bool = False,
        llm_config: Mapping[str, Any] | None = None,
        activity_handler: Callable[[str], None] | None = None,
        setting_sources: Sequence[Path | str] | None = None,
    ) -> None:
        """Create an agent.

        Args:
            debug_mode: whether to copy every round's files, `config.yaml` and `meta.json` to
                `<output_dir>/<id>_debug/`.
            llm_config: `model` (as `--model`, or the bare name of a model), `provider`,
                `temperature`, `max_tokens`; defaults come from the settings.
            activity_handler: called with one line of progress at a time; None: they are printed on
                stderr.
            setting_sources: one settings file; None: the nearest one from the current folder
                upwards.
        """
        self.debug_mode = debug_mode
        self.llm_config = dict(llm_config or {})
        self.activity_handler = activity_handler or _print_line
        self.setting_sources = setting_sources

    async def process(self, inputs: Mapping[str, Any]) -> AgentResult:
        """Write the ItemSpec of the item `config_path` into `output_dir` ("output")."""
        try:
            output_dir = Path(inputs.get("output_dir") or "output")
            return await self._process(Path(inputs["config_path"]), output_dir)
        except KeyError as error:
            wrong = f"inputs: {error} is missing; give config_path"
        except (TransomError, OSError) as error:
            wrong = str(error)
        return AgentResult("no ItemSpec was written", status="failed", errors=(wrong,))

    async def _process(self, config_path: Path, output_dir: Path) -> AgentResult:
        settings = self._settings()
        self._stage(1, "Loading configuration")
        # Read before the workspace is opened, so that a wrong path leaves nothing behind.
        item = load_item(config_path)
        self._ok(f"{item.item_id}: {item.description}")
        call_settings = CallSettings(
            self.llm_config.get("max_tokens", CallSettings().max_tokens),
            self.llm_config.get("temperature"),
        )
        manner = Manner(
            Occasion(as_of=""), Sandbox(), spec={each.tag: call_settings for each in ROUNDS}
        )
        workspace = Workspace.at(
            settings.workspace or output_dir / ".transom",
            state_dir=settings.state_dir,
            store=settings.store,
        )
        places = Places(search_root=settings.paths.search_root, out=output_dir)
        about: dict[str, Json] = {"item": str(config_path.absolute()), "item_id": item.item_id}
        # This API promises an answer without a model, so the rules get the embedded default.
        own = {"rules": embedded_default}
        async with workspace.open_store() as store:
            around = Surroundings(Path.cwd(), settings, store=store, place="llm_config", own=own)
            chain = named_chain(settings.model, around)
            async with await Run.open(
                "check", about, name=item.item_id, workspace=workspace, store=store, chain=chain
            ) as run:
                run.progress = _Rounds(self, run)
                written = await spec_of(run, item, places, manner)
                result = written.result if isinstance(written, WrittenSpec) else written
                # A claim has no rounds; the item and the result are copied all the same.
                if self.debug_mode and result.itemspec_path:
                    copies = debug_folder(output_dir, item.item_id)
                    meta = {"meta.json": pretty_json(result).encode("utf-8")}
                    await export_rounds(run, copies, item, meta)
                # A result without a path: the rules did not understand the item.
                if isinstance(written, SpecResult) and written.itemspec_path:
                    return self._claimed(run, written, written.itemspec_path)
                if isinstance(written, SpecResult):
                    words = ", ".join(repr(row.text) for row in written.needs_model)
                    raise InputError(
                        f"rules cannot read {words}",
                        place=str(config_path),
                        hint="name a model in llm_config",
                    )
                return self._written(run, item.item_id, written)

    def _claimed(self, run: Run, result: SpecResult, path: str) -> AgentResult:
        """Return the result of an item that is a claim: its ItemSpec is written without rounds."""
        self._stage(9, "Saving")
        self._ok(path)
        artifacts = {
            "itemspec_path": path,
            "itemspec_content": Path(path).read_text(encoding="utf-8"),
            "item_id": result.item_id,
            "rounds": {},
        }
        metadata: dict[str, Json] = {
            "version": result.schema_,
            "model": run.chain.name,
            "run_id": run.id,
            "findings": [],
        }
        return AgentResult("ItemSpec generation completed", artifacts, metadata)

    def _written(self, run: Run, item_id: str, spec: WrittenSpec) -> AgentResult:
        self._stage(7, "Assembling the ItemSpec")
        text = spec.path.read_text(encoding="utf-8")
        self._ok(f"{len(text)} characters")
        self._stage(8, "Quality validation")
        findings = [
            f"{row.artifact}:{row.line or 1}: {row.message}" for row in spec.result.findings
        ]
        for line in findings or ["passed"]:
            self._ok(line)
        self._stage(9, "Saving")
        self._ok(str(spec.path))
        rounds = {
            each.tag: (run.folder / each.stage / each.file).read_text(encoding="utf-8")
            for each in ROUNDS
        }
        artifacts = {
            "itemspec_path": str(spec.path),
            "itemspec_content": text,
            "item_id": item_id,
            "rounds": rounds,
        }
        metadata: dict[str, Json] = {
            "version": spec.result.schema_,
            "model": run.chain.name,
            "run_id": run.id,
            "findings": list[Json](findings),
        }
        return AgentResult("ItemSpec generation completed", artifacts, metadata)

    def _settings(self) -> Settings:
        sources = list(self.setting_sources or ())
        if len(sources) > 1:
            raise InputError("several settings files", place="setting_sources", hint="name one")
        command_line = {}
        file = Path(sources[0]) if sources else None
        # The provider of a bare name may come from the settings, so they are read first.
        if self.llm_config.get("model"):
            settings_model = load_settings(file=file).model
            provider = self.llm_config.get("provider")
            command_line["model"] = _with_provider(
                self.llm_config["model"], provider, settings_model
            )
        return load_settings(file=file, command_line=command_line)

    def _stage(self, number: int, title: str) -> None:
        self.activity_handler(f"[Stage {number}] {title}")

    def _ok(self, line: str) -> None:
        self.activity_handler(f"  {line}")


@dataclass
class _Rounds:
    """Converts a run's progress to the activity log of five rounds, each with the size of its
    text.
    """

    agent: ContextAgent
    run: Run
    current_stage: str = ""

    def __call__(self, line: str) -> None:
        stage, _, state = line.partition(": ")
        number = next((each.number for each in ROUNDS if each.stage == stage), 0)
        self._tell_size(stage)
        if not number:
            self.agent._ok(line)
        # A round is announced once, and its later lines of progress are of the same round.
        elif stage != self.current_stage:
            self.current_stage = stage
            self.agent._stage(number + 1, f"Round {number}: {_TITLES[number - 1]} ({state})")

    def _tell_size(self, next_stage: str) -> None:
        """Tell the size of the text of the round that ended."""
        ended_round = next((each for each in ROUNDS if each.stage == self.current_stage), None)
        if ended_round is None or next_stage == self.current_stage:
            return
        self.current_stage = ""
        path = self.run.folder / ended_round.stage / ended_round.file
        if path.is_file():
            self.agent._ok(f"{ended_round.tag}: {len(path.read_text(encoding='utf-8'))} characters")


def _print_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _with_provider(model: str, provider: str | None, settings_model: str) -> str:
    """Return a model's name with its provider.

    A bare name belongs to the provider that is given, else to the maker of such names, else to the
    first provider with a server in the settings.
    """
    # A full name, a chain, or the embedded default: it needs nothing.
    if ":" in model or "," in model or model == RULES:
        return model
    if provider:
        return f"{provider}:{model}"
    for start, maker in _MAKERS.items():
        if model.startswith(start):
            return f"{maker}:{model}"
    for name in settings_model.split(","):
        kind = name.strip().partition(":")[0]
        if kind in (*HOSTED, *SERVICES):
            return f"{kind}:{model}"
    # The chain says what is wrong with it, and which forms there are.
    return model


class CodeGenAgent:
    """Builds checkers: `await CodeGenAgent().process({"itemspec_path": "VER-1_ItemSpec.md"})`."""

    def __init__(self, options: CheckOptions | None = None) -> None:
        """Create an agent; `options` are those of `transom.checklist.build`."""
        self.options = options or CheckOptions()

    async def process(self, inputs: Mapping[str, Any]) -> AgentResult:
        """Build the checker of `itemspec_path` into `output_dir` ("output").

        `item_path` names the item's file; without it, the file is known if `ContextAgent` wrote
        the ItemSpec, or the command line in the same workspace. The artifact `checker_path` is the
        checker's folder.
        """
        options = replace(self.options, out=inputs.get("output_dir") or "output")
        try:
            build_result = await build(inputs["itemspec_path"], inputs.get("item_path"), options)
        except KeyError as error:
            return _failed(f"inputs: {error} is missing; give itemspec_path")
        except (TransomError, OSError) as error:
            return _failed(str(error))
        # An ItemSpec that its gate refuses never gets here.
        errors = _reasons(build_result, has_item=bool(inputs.get("item_path")))
        if build_result.status != "done":
            return AgentResult(
                f"the build ended with {build_result.status}", status="failed", errors=errors
            )
        return AgentResult(
            "checker built",
            {"checker_path": build_result.checker_path, "item_id": build_result.item_id},
            {"run_id": build_result.run_id},
        )


class ValidationAgent:
    """Holds a checker and its ItemSpec to the gates that need no files."""

    async def process(self, inputs: Mapping[str, Any]) -> AgentResult:
        """Validate the checker in the folder `checker_code_path`, and `itemspec_path` if given."""
        try:
            folder = load_checker(Path(inputs["checker_code_path"]))
            report = await validate_code(folder.atoms, folder.config_text)
            errors = list(report.errors)
            # The code is checked without an ItemSpec as well; with one, all problems come together.
            if inputs.get("itemspec_path"):
                errors += map(str, validate_spec(inputs["itemspec_path"]))
        except KeyError as error:
            return _failed(f"inputs: {error} is missing; give checker_code_path")
        except (TransomError, OSError) as error:
            return _failed(str(error))
        gates: dict[str, Json] = dict(report.gate_results)
        return AgentResult(
            "valid" if not errors else "not valid",
            metadata={"gate_results": gates},
            status="failed" if errors else "success",
            errors=tuple(errors),
        )


def _reasons(build_result: BuildResult, *, has_item: bool) -> tuple[str, ...]:
    """Return why a build is not done; never nothing, since the caller sees no output of the run."""
    reasons = [str(finding) for finding in build_result.findings]
    if build_result.waits_for:
        reasons.append(build_result.waits_for)
    for words in build_result.needs_model:
        reasons.append(f"rules cannot read {words.text!r} ({words.where}); name a model")
    if build_result.waits_for and not has_item:
        reasons.append("inputs: item_path is missing; give the item's file, which names its files")
    return tuple(reasons)


def _failed(error: str) -> AgentResult:
    return AgentResult("nothing was made", status="failed", errors=(error,))
