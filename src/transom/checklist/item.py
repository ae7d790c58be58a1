"""The item that a person writes: a description, what is required, what is waived, which files.

    description: Confirm the netlist version is correct.
    requirements: {value: N/A, pattern_items: []}
    waivers: {value: N/A, waive_items: []}
    input_files: ["${LOG_ROOT}/sta.log"]

`value` decides the type of the check, the list beside it the contents. `reads_as` says what a
description means that `rules` do not understand. `accept` says who accepts until when that the
item is not checked; as a list, which caps of its verdict a person accepts: `{text, by, until}`.
`overturned` has the verdicts that a person overturned.
Harmless slips of YAML (a bare 2025, null for N/A) are read as meant, with a warning that says what
to write; whatever could change a verdict is an error.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path

from transom.canonical import Json, canonical_json, digest
from transom.checklist.atoms import ClaimRow, Requirements, Waivers
from transom.checklist.item_reader import Notice, SectionReader
from transom.errors import InputError
from transom.evidence.caps import CapAcceptance, read_acceptances
from transom.formats.yaml_files import Key, load_yaml, parse_yaml

_TOP = (
    *("item_id", "description", "reads_as", "requirements", "waivers", "input_files", "accept"),
    *("overturned", "stated"),
)
_SUFFIXES = (".yaml", ".yml")
_READS_AS = ("claim", "parameters", "left_out", "format")
_ACCEPT = ("by", "reason", "until")
_ACCEPT_CAP = ("text", "by", "until")
_STATED = ("check", "by")
_CHECKS = ("setup", "hold")
_OVERTURNED = ("status", "by", "reason", "meaning")
_ITEM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


@dataclass(frozen=True)
class InputName:
    """One entry of `input_files`, with its variables still in it."""

    written: str
    line: int


@dataclass(frozen=True)
class AcceptEntry:
    """A person's word that the item may stay unchecked until a day, which counts (ISO 8601)."""

    by: str
    reason: str
    until: str
    line: int


@dataclass(frozen=True)
class OverturnedVerdict:
    """A verdict that a person overturned.

    Attributes:
        status: PASS or FAIL.
        by: the person.
        reason: why, or "".
        meaning: digest of what the item meant; an item that means something else may end so.
        line: its line in the item's file.
    """

    status: str
    by: str
    reason: str
    meaning: str
    line: int


@dataclass(frozen=True)
class StatedCheck:
    """The check of the values of which the item's reports name none, as a person stated it."""

    check: str
    by: str


@dataclass(frozen=True)
class Item:
    """A checklist item as read from its file.

    Attributes:
        item_id: the file's `item_id`, else its stem, else (stem `item`) the folder's name.
        has_own_id: the id stands in the file itself.
        claim: the claim that its description means, if a person chose one.
        accept: who accepts that it is not checked, if it is not; no verdict depends on it.
        accepted_caps: the caps of its verdict that a person accepts.
        overturned: verdicts that a person overturned, which it must not end with again.
        stated_check: the check of the values of which its reports name none.
        requirements, waivers: None if the file has no such section, so that a checker's defaults
            apply.
        sha256: of the text.
        warnings: what was read differently from how it was written.
    """

    item_id: str
    has_own_id: bool
    path: Path
    description: str
    requirements: Requirements | None
    waivers: Waivers | None
    input_files: tuple[InputName, ...]
    text: str
    sha256: str
    claim: ClaimRow | None = None
    accept: AcceptEntry | None = None
    accepted_caps: tuple[CapAcceptance, ...] = ()
    overturned: tuple[OverturnedVerdict, ...] = ()
    stated_check: StatedCheck | None = None
    warnings: tuple[Notice, ...] = ()

    @property
    def meaning(self) -> str:
        """Return what an ItemSpec and a checker are made for: description and a person's choice."""
        # Files and waivers are no part of it: the same checker serves other files.
        chosen = self.claim.model_dump(mode="json") if self.claim else None
        words = self.description + (canonical_json(chosen) if chosen else "")
        return words + (f" ({self.stated_check.check})" if self.stated_check else "")

    def place_of(self, line: int) -> str:
        return f"{self.path}:{line}"


def load_item(path: Path, *, strict: bool = False) -> Item:
    """Read an item; if it is `strict`, warnings are errors.

    Raises:
        InputError: with file:line, what is wrong and what to write.
    """
    try:
        file = load_yaml(path)
    except InputError as error:
        # What is wrong with the YAML of a file that is none helps nobody.
        if not os.path.isfile(path) or path.suffix.lower() in _SUFFIXES:  # noqa: PTH113  no OSError
            raise
        hint = "name a file that ends with .yaml"
        problem = "is not an item: items are YAML files"
        raise InputError(problem, place=str(path), hint=hint) from error
    return _ItemReader(file, strict=strict).read()


def parse_item(text: str, path: Path, *, strict: bool = False) -> Item:
    """Read an item as `load_item` does, from a text; `path` names it and gives it its id."""
    return _ItemReader(parse_yaml(text, path), strict=strict).read()


class _ItemReader(SectionReader):
    """Reads one file."""

    def read(self) -> Item:
        data = self.file.data
        if not isinstance(data, dict):
            kind = "a list" if isinstance(data, list) else "a single value"
            self.fail(
                (),
                f"is {kind}, not an item",
                "write `description: ...` and the other keys at the left edge",
            )
        # Unknown keys first: a misspelt key explains most other errors.
        self.mapping(data, _TOP, ())
        own_id = self.own_id(data)
        item = Item(
            item_id=own_id or self.derived_id(),
            has_own_id=own_id is not None,
            path=self.file.path,
            description=self.description(data),
            requirements=self.requirements(data),
            waivers=self.waivers(data),
            input_files=self.input_files(data),
            text=self.file.text,
            sha256=digest(self.file.text),
            claim=self.claim(data),
            accept=self.accept(data),
            accepted_caps=self.accepted_caps(data),
            overturned=self.overturned(data),
            stated_check=self.stated_check(data),
        )
        return replace(item, warnings=tuple(self.warnings))

    def own_id(self, data: dict[str, Json]) -> str | None:
        if data.get("item_id") is None:
            return None
        text = self.file.written.get(("item_id",), "")
        if not _ITEM_ID.fullmatch(text):
            self.fail(
                ("item_id",),
                f"item_id {text!r} is not a name",
                "use letters, digits, `.`, `_` and `-`",
            )
        return text

    def derived_id(self) -> str:
        path = self.file.path
        name = path.absolute().parent.name if path.stem.lower() == "item" else path.stem
        # Letters with accents keep their base, so that the id stays readable.
        plain = "".join(
            sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign)
        )
        return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.") or "item"

    def description(self, data: dict[str, Json]) -> str:
        value, keys = data.get("description"), ("description",)
        if value is None:
            self.fail(
                keys, "there is no description", "write `description: what must be confirmed`"
            )
        if not isinstance(value, str):
            written = self.file.written.get(keys, "...")
            self.fail(
                keys,
                "the description is not a text",
                f'say in words what must hold: description: "{written}"',
            )
        if not value.strip():
            self.fail(keys, "the description is empty", "say in one line what must be confirmed")
        return self.without_secrets(value.strip(), keys)

    def claim(self, data: dict[str, Json]) -> ClaimRow | None:
        """Return the claim of `reads_as`; whether there is such a claim is known to the claims."""
        keys = ("reads_as",)
        chosen = data.get("reads_as")
        if chosen is None:
            return None
        if isinstance(chosen, dict) and "domain" in chosen:
            # An earlier form, which named what the sentence grammar knew.
            hint = "remove reads_as; you are asked once which claim the description means"
            self.fail(keys, "reads_as names a domain, and Transom checks claims", hint)
        section = self.mapping(chosen, _READS_AS, keys)
        parameters = self.mapping(section.get("parameters") or {}, (), (*keys, "parameters"))
        values = {name: self.name((*keys, "parameters", name)) for name in parameters}
        left_out = self.texts(section.get("left_out"), (*keys, "left_out"), "text")
        name = self.name((*keys, "claim"))
        own_format = self.name((*keys, "format")) if "format" in section else ""
        return ClaimRow(name=name, parameters=values, left_out=tuple(left_out), format=own_format)

    def accept(self, data: dict[str, Json]) -> AcceptEntry | None:
        """Return the entry `accept`, which needs a person, a reason and a last day."""
        if "accept" not in data or isinstance(data["accept"], list):
            return None
        section = self.mapping(data["accept"], _ACCEPT, ("accept",))
        texts: dict[str, str] = {}
        for key in _ACCEPT:
            if key not in section:
                hint = "write who accepts it, why, and the last day: by, reason and until"
                self.fail(("accept",), f"accept has no {key}", hint)
            keys = ("accept", key)
            texts[key] = self.text(section[key], keys, key, may_be_any=True).strip()
        until = self.day(texts["until"], ("accept", "until"))
        reason = self.without_secrets(texts["reason"], ("accept", "reason"))
        return AcceptEntry(texts["by"], reason, until, self.file.line_of("accept"))

    def accepted_caps(self, data: dict[str, Json]) -> tuple[CapAcceptance, ...]:
        """Return the entries of a list `accept`: the text of a cap, who accepts it, and until when.

        No last day means that it holds without an end.
        """
        entries = data.get("accept")
        if not isinstance(entries, list):
            return ()
        acceptances = list[CapAcceptance]()
        for index, entry in enumerate(entries):
            keys = ("accept", index)
            section = self.mapping(entry, _ACCEPT_CAP, keys)
            try:
                acceptances += read_acceptances([section])
            except ValueError as error:
                hint = "write the cap's text as the verdict has it, and who accepts it"
                self.fail(keys, str(error).removeprefix("acceptance 1: "), hint)
        return tuple(acceptances)

    def stated_check(self, data: dict[str, Json]) -> StatedCheck | None:
        """Return the entry `stated`: of which check the values are that no report names."""
        keys = ("stated",)
        if data.get("stated") is None:
            return None
        section = self.mapping(data["stated"], _STATED, keys)
        if section.get("check") not in _CHECKS:
            self.fail((*keys, "check"), "check is not setup or hold", "write one of them")
        person = self.file.written.get((*keys, "by"), "").strip()
        if not person:
            self.fail(keys, "stated has no by", "write who states it")
        return StatedCheck(str(section["check"]), person)

    def overturned(self, data: dict[str, Json]) -> tuple[OverturnedVerdict, ...]:
        """Return the entries of `overturned`, as `check overturn` writes them."""
        entries = data.get("overturned") or []
        hint = "let `transom check overturn` write it"
        if not isinstance(entries, list):
            self.fail(("overturned",), "overturned is not a list", hint)
        overturned = list[OverturnedVerdict]()
        for index, entry in enumerate(entries):
            keys = ("overturned", index)
            section = self.mapping(entry, _OVERTURNED, keys)
            if section.get("status") not in ("PASS", "FAIL"):
                self.fail((*keys, "status"), "status is not PASS or FAIL", "write one of them")
            texts: dict[str, str] = {}
            for key in _OVERTURNED:
                texts[key] = self.file.written.get((*keys, key), "").strip()
            # Without the meaning the entry would count for any later question.
            for key in ("by", "meaning"):
                if not texts[key]:
                    self.fail(keys, f"an entry has no {key}", hint)
            reason = self.without_secrets(texts["reason"], (*keys, "reason"))
            line = self.file.line_of(*keys)
            verdict = OverturnedVerdict(
                texts["status"], texts["by"], reason, texts["meaning"], line
            )
            overturned.append(verdict)
        return tuple(overturned)

    def name(self, keys: tuple[Key, ...]) -> str:
        """Return a key or a value of `reads_as`, as it is written."""
        written = self.file.written.get(keys, "").strip()
        if not written:
            self.fail(
                keys,
                f"{'.'.join(map(str, keys))} is no name",
                "write one, or remove reads_as to be asked",
            )
        return written

    def input_files(self, data: dict[str, Json]) -> tuple[InputName, ...]:
        keys = ("input_files",)
        names = self.texts(data.get("input_files"), keys, "path")
        # An item without files can still get an ItemSpec.
        if not names:
            self.warn(keys, "input_files is empty; `check run` has nothing to read")
        input_names = []
        for index, name in enumerate(names):
            input_names.append(InputName(name, self.file.line_of(*keys, index)))
        return tuple(input_names)
