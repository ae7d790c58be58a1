"""Reading an item's YAML: values, patterns and waivers with their lines, slips named, mistakes
refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NoReturn

from transom.canonical import Json
from transom.checklist.atoms import AnyOf, Requirements, Waiver, Waivers
from transom.checklist.patterns import is_split_regex, parts, pattern_problem
from transom.errors import InputError
from transom.formats.yaml_files import Key, YamlFile
from transom.formats.yaml_models import nearest_key
from transom.telemetry import Redactor

_NOT_APPLICABLE = ("n/a", "na", "")
_WAIVER = ("pattern", "reason", "owner", "expires")


@dataclass(frozen=True)
class Notice:
    """Something that a person should know and that stops nothing.

    `is_secret` marks a secret in the file: it is reported even if there is no verdict.
    """

    line: int
    message: str
    is_secret: bool = False


class SectionReader:
    """Reads what one file requires and waives; collects warnings on the way.

    Args:
        file: the YAML.
        strict: what would be a warning is an error.
    """

    def __init__(self, file: YamlFile, *, strict: bool) -> None:
        self.file = file
        self.strict = strict
        self.warnings: list[Notice] = []
        self._redact = Redactor()

    # -- sections

    def requirements(self, data: dict[str, Json]) -> Requirements | None:
        section = self.section(data, "requirements", ("value", "pattern_items"))
        if section is None:
            return None
        value = self.number("requirements", section)
        patterns = self.patterns(section.get("pattern_items"), ("requirements", "pattern_items"))
        value = self.counted("requirements", value, "pattern_items", patterns, least=1)
        return Requirements(value=value, pattern_items=tuple(patterns))

    def waivers(self, data: dict[str, Json]) -> Waivers | None:
        section = self.section(data, "waivers", ("value", "waive_items", "waive_reasons"))
        if section is None:
            return None
        value = self.number("waivers", section)
        waivers = self.waiver_list(section.get("waive_items"), is_comment=value == 0)
        waivers = self.with_reasons(waivers, section.get("waive_reasons"), is_comment=value == 0)
        value = self.counted("waivers", value, "waive_items", waivers, least=0)
        return Waivers(value=value, waive_items=tuple(waivers))

    def section(
        self, data: dict[str, Json], name: str, keys: tuple[str, ...]
    ) -> dict[str, Json] | None:
        if name not in data:
            return None
        # A section without contents is N/A, which people write in several ways.
        value = data[name]
        if value is None or (isinstance(value, str) and value.strip().lower() in _NOT_APPLICABLE):
            self.warn(
                (name,),
                f"{name} is empty and read as N/A; write `{name}: {{value: N/A, {keys[1]}: []}}`",
            )
            return {}
        return self.mapping(value, keys, (name,))

    def number(self, name: str, section: dict[str, Json]) -> int | None:
        """Read the section's `value`; None is N/A."""
        keys, value = (name, "value"), section.get("value")
        written = self.file.written.get(keys, "").strip()
        if value is None or (isinstance(value, str) and written.lower() in _NOT_APPLICABLE):
            if written != "N/A" and "value" in section:
                subject = f"{written!r} is" if written else "is empty and"
                self.warn(keys, f"{name}.value {subject} read as N/A; write `value: N/A`")
            return None
        # A quoted number is what is meant; anything else could be.
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", written):
            self.warn(
                keys, f'{name}.value "{written}" is read as a number; write it without quotes'
            )
            return int(written)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(
                keys,
                f"{name}.value is {written or 'not a number'!r}",
                "write N/A or a whole number",
            )
        return value

    def counted(
        self, name: str, value: int | None, key: str, entries: Sequence[object], *, least: int
    ) -> int | None:
        """Compare the number of entries with `value`.

        The value decides the type, the list its contents.
        """
        keys, count = (name, "value"), len(entries)
        # The list would be ignored, which nobody who wrote it can want.
        if value is None:
            if entries:
                problem = f"{name}.value is N/A or missing, but {key} has {count}"
                self.fail((name, key), problem, f"write {name}.value: {count}, or empty the list")
        elif value < least:
            self.fail(
                keys,
                f"{name}.value is {value}",
                "write N/A, 0 (waivers: waive all) or the number of entries",
            )
        elif value and not entries:
            self.fail(
                keys, f"{name}.value is {value}, but {key} is empty", "fill the list, or write N/A"
            )
        elif value and value != count:
            self.warn(
                keys, f"{name}.value is {value}, but {key} has {count}; the list counts: correct it"
            )
        if value:
            return count
        return value

    # -- lists

    def patterns(self, value: Json, keys: tuple[Key, ...]) -> list[str | AnyOf]:
        patterns: list[str | AnyOf] = []
        for index, entry in enumerate(self.entries(value, keys)):
            entry_keys = (*keys, index)
            if isinstance(entry, dict) and set(entry) == {"any_of"}:
                texts = self.texts(entry["any_of"], (*entry_keys, "any_of"), "pattern")
                if not texts:
                    self.fail(entry_keys, "any_of is empty", 'write any_of: ["first", "second"]')
                patterns.append(AnyOf(any_of=tuple(texts)))
            else:
                patterns.append(self.text(entry, entry_keys, "pattern"))
            # Refused here, where the line is known, and not when a log is compared.
            for part in parts(patterns[-1]):
                self.refuse(pattern_problem(part), entry_keys)
                if is_split_regex(part):
                    hint = (
                        "| separates alternatives before regex: is read; write any_of:"
                        " ['regex:...', 'regex:...']"
                    )
                    self.warn(entry_keys, f"{part!r} is compared as literal texts, because {hint}")
        return patterns

    def waiver_list(self, value: Json, *, is_comment: bool) -> list[Waiver]:
        waivers: list[Waiver] = []
        for index, entry in enumerate(self.entries(value, ("waivers", "waive_items"))):
            keys = ("waivers", "waive_items", index)
            waivers.append(self.waiver(entry, keys))
            self.refuse(
                None if is_comment else pattern_problem(waivers[-1].pattern, waiver=True), keys
            )
        return waivers

    def waiver(self, entry: Json, keys: tuple[Key, ...]) -> Waiver:
        if not isinstance(entry, dict) or "pattern" not in entry:
            return Waiver(pattern=self.text(entry, keys, "waiver"))
        self.mapping(entry, _WAIVER, keys)
        present = []
        for key in _WAIVER:
            if entry.get(key) is not None:
                present.append(key)
        fields = {}
        for key in present:
            fields[key] = self.text(entry[key], (*keys, key), key, may_be_any=key == "expires")
        if "pattern" not in fields:
            self.fail(keys, "the waiver has no pattern", "write `pattern: text`")
        if "reason" in fields:
            fields["reason"] = self.without_secrets(fields["reason"], (*keys, "reason"))
        if "expires" in fields:
            fields["expires"] = self.day(fields["expires"], (*keys, "expires"))
        return Waiver(**fields)

    def day(self, text: str, keys: tuple[Key, ...]) -> str:
        """Return a date as ISO 8601."""
        try:
            return date.fromisoformat(text.strip()).isoformat()
        except ValueError:
            self.fail(keys, f"{text!r} is not a date", "write it as 2026-01-31")

    def with_reasons(self, waivers: list[Waiver], value: Json, *, is_comment: bool) -> list[Waiver]:
        """Give waivers the reasons that stand beside them.

        A wrong count misleads a reader, not the verdict: a warning, as for value.
        """
        keys, count = ("waivers", "waive_reasons"), len(waivers)
        entries = enumerate(self.entries(value, keys))
        reasons = []
        for number, entry in entries:
            reason = self.text(entry, (*keys, number), "reason", may_be_blank=True).strip()
            reasons.append(self.without_secrets(reason, (*keys, number)))
        # Comments have no pattern, so reasons beyond the list are comments as well.
        if is_comment:
            waivers = [*waivers, *(Waiver(pattern=reason) for reason in reasons[count:] if reason)]
        elif reasons and len(reasons) != count:
            self.warn(
                keys,
                f"there are {len(reasons)} waive_reasons for {count} waive_items; write one for"
                " each",
            )
        pairs = zip(waivers, [*reasons[:count], *[""] * len(waivers)], strict=False)
        complete_waivers: list[Waiver] = []
        for waiver, why in pairs:
            complete_waivers.append(
                waiver.model_copy(update={"reason": waiver.reason or why or None})
            )
        return complete_waivers

    # -- entries

    def entries(self, value: Json, keys: tuple[Key, ...]) -> list[Json]:
        if isinstance(value, list):
            return value
        if isinstance(value, str) and value.strip().lower() in _NOT_APPLICABLE:
            self.warn(
                keys, f"{keys[-1]} {value!r} is read as an empty list; write `{keys[-1]}: []`"
            )
        elif value is not None:
            self.fail(
                keys, f"{keys[-1]} is not a list", "put each entry on its own line after `- `"
            )
        return []

    def texts(self, value: Json, keys: tuple[Key, ...], name: str) -> list[str]:
        texts: list[str] = []
        for index, entry in enumerate(self.entries(value, keys)):
            texts.append(self.text(entry, (*keys, index), name))
        return texts

    def text(
        self,
        entry: Json,
        keys: tuple[Key, ...],
        name: str,
        *,
        may_be_blank: bool = False,
        may_be_any: bool = False,
    ) -> str:
        """Read a text as it was written; `may_be_any` accepts numbers and dates as texts."""
        written = "" if entry is None else self.file.written.get(keys, "")
        if isinstance(entry, dict | list):
            key = next(iter(entry), "") if isinstance(entry, dict) else ""
            value = self.file.written.get((*keys, key), "...")
            # An unquoted `regex: ...` is a mapping of YAML; quotes make it the text that is meant.
            if key == "regex":
                example = f"regex:{value}"
            elif key:
                example = f"{key}: {value}"
            else:
                example = "[a]"
            kind = "mapping" if isinstance(entry, dict) else "list"
            self.fail(
                keys,
                f"a {name} is a {kind}",
                f"write one text per entry, the whole of it in quotes: '{example}'",
            )
        if not (written.strip() or may_be_blank):
            self.fail(keys, f"a {name} is empty", "write a text, or remove the line")
        if written and not isinstance(entry, str) and not may_be_any:
            self.warn(
                keys, f'the {name} {written} is read as text; write it in quotes: "{written}"'
            )
        return written

    def mapping(self, value: Json, keys: Collection[str], path: tuple[Key, ...]) -> dict[str, Json]:
        """Read a mapping of known keys, or of any keys if none are known."""
        if not isinstance(value, dict):
            self.fail(
                path,
                f"{path[-1]} is not a mapping",
                "write `key: value` lines beneath it, indented",
            )
        for key in value if keys else ():
            if key not in keys:
                near = nearest_key(key, tuple(keys))
                hint = f"did you mean {near}?" if near else f"the keys here are {', '.join(keys)}"
                self.fail((*path, key), f"unknown key {key}", hint)
        return value

    def without_secrets(self, text: str, keys: tuple[Key, ...]) -> str:
        """Return a sentence of the file as models and the workspace get it.

        A secret in it is a warning. Patterns and paths stay: they are compared with files.
        """
        cleaned = self._redact(text)
        if cleaned != text:
            name = next(key for key in reversed(keys) if isinstance(key, str))
            message = f"{name} holds a secret, which is read as [redacted]; remove it"
            self.warn(keys, message, is_secret=True)
        return cleaned

    # -- what is said

    def refuse(self, problem: str | None, keys: tuple[Key, ...]) -> None:
        if problem:
            self.fail(keys, problem, "mend it, or remove the line")

    def warn(self, keys: tuple[Key, ...], message: str, *, is_secret: bool = False) -> None:
        if self.strict:
            self.fail(keys, message, None)
        self.warnings.append(Notice(self.file.line_of(*keys), message, is_secret))

    def fail(self, keys: tuple[Key, ...], problem: str, hint: str | None) -> NoReturn:
        raise InputError(problem, place=self.file.place_of(*keys), hint=hint)
