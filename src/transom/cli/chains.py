"""The chain of models that a `model` setting names, with the seats of the checklist's roles."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import filter as matching

from transom.config import Settings
from transom.config.runtime_sections import ModelSeat
from transom.errors import SettingsError
from transom.llm import Chain, Provider
from transom.llm.naming import Surroundings, named_chain
from transom.telemetry.address import parse_address, safe_address

_ROUNDS = ("analysis", "section1", "section2", "section3", "section4")
_ROLES_OF_SEAT = {
    **{name: (f"checklist.{name}",) for name in _ROUNDS},
    "agent_a": ("checklist.parser", "checklist.answers"),
    "agent_b": ("checklist.logic",),
    "reflect": ("checklist.repair_a", "checklist.repair_b"),
}


def build_chain(spec: str, surroundings: Surroundings) -> Chain:
    """Return the chain that a `model` setting names, with the checklist's own seats.

    Args:
        spec: names of models, separated by commas.
        surroundings: the settings, and what else providers are made from.
    """
    settings = surroundings.settings
    _check_local_blocks(settings)

    def rules() -> Provider:
        # Imported here: most commands ask no role of a check.
        from transom.checklist.embedded import embedded_default

        return embedded_default()

    seats: dict[str, ModelSeat] = {}
    # Somebody who types --model means every role, whatever the settings file says of single seats.
    if settings.origins.get("model") != "command line":
        for seat, roles in _ROLES_OF_SEAT.items():
            seats |= dict.fromkeys(roles, getattr(settings.llm, seat))
    return named_chain(spec, replace(surroundings, own={"rules": rules}), seats)


def without_credentials(url: str | None) -> str | None:
    """Return an address without user, password and query, any of which may hold a key.

    The journal keeps no secrets.
    """
    if url is None:
        return None
    try:
        parts = parse_address(url)
    except ValueError:
        # In a text that is no address, a password may stand anywhere.
        return safe_address(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _check_local_blocks(settings: Settings) -> None:
    """Refuse a pattern of `egress.local_blocks` that fits no block: it would protect nothing."""
    if not settings.egress.local_blocks:
        return
    from transom.checklist.writing.views import VIEWS
    from transom.formats.yaml_models import nearest_key

    blocks: set[str] = set()
    for view in VIEWS.values():
        blocks.update(view.sees)
    names = sorted(blocks)
    for pattern in settings.egress.local_blocks:
        if matching(names, pattern):
            continue
        likely = nearest_key(pattern, names)
        hint = f"did you mean {likely}?" if likely else f"there are {', '.join(names)}"
        raise SettingsError(
            f"egress.local_blocks: no role sees a block {pattern!r}",
            place=settings.origins.get("egress.local_blocks"),
            hint=hint,
        )
