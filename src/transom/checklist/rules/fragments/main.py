"""What every atom does around its readers: tell the kind of file, and see to it that nothing is overlooked."""

import re
from typing import Any

from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.fragments.shared import colourless


class Known:
    """Whether a file is of a dialect that the readers were made for: what a build refuses, a run refuses too."""

    def __init__(self, kind: str, about: dict[str, Any]) -> None:
        self.kind = kind
        self.must = [re.compile(pattern) for pattern in about.get("known_by", ())]
        self.refused = [(re.compile(pattern), why) for pattern, why in about.get("refuse", {}).items()]
        self.ends = [(re.compile(begin), re.compile(end)) for begin, end in about.get("ends", {}).items()]
        self.begun: dict[int, tuple[int, str]] = {}  # which of `ends` is open -> the line that began it
        self.known = not self.must
        self.first: tuple[int, str] | None = None  # the first line that is not blank

    def line(self, number: int, line: str) -> None:
        """A line may be of a kind that is known, or of one that is refused."""
        self.first = self.first or ((number, line) if line.strip() else None)
        for pattern, why in self.refused:
            if pattern.search(line):
                raise ValueError(f"line {number}: {why}: {line.strip()}")
        self.known = self.known or any(pattern.search(line) for pattern in self.must)
        for at, (begin, end) in enumerate(self.ends):
            if begin.search(line):
                self.begun[at] = (number, line)
            elif at in self.begun and end.search(line):
                del self.begun[at]

    def end(self) -> None:
        """One line must have been of a kind that is known, and what began must have ended."""
        for number, line in self.begun.values():
            raise ValueError(f"line {number}: the file ends before this does: {line.strip()}")
        if self.first and not self.known:
            number, line = self.first
            raise ValueError(f"line {number}: no line of a kind that is known for {self.kind}: {line.strip()}")


class Account:
    """Every line that speaks of a verdict must be read, or be known to tell nothing; and what is counted was seen."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about, self.nothing = about, about.get("error_if_nothing_read")
        self.told = [re.compile(pattern) for pattern in about.get("must_be_read", ())]
        self.skipped = [re.compile(pattern) for pattern in about.get("may_be_skipped", ())]
        self.counts = {
            category: [re.compile(pattern) for pattern in patterns]
            for category, patterns in about.get("counts", {}).items()
        }
        self.unread: dict[int, str] = {}
        self.seen: set[str] = set()
        self.counted: dict[str, tuple[int, str]] = {}
        self.speaks = False

    def line(self, number: int, line: str) -> None:
        """A line may speak of a verdict, say how many there were, or say what the file is about."""
        for pattern in self.told:
            if pattern.search(line):
                if not any(skipped.search(line) for skipped in self.skipped):
                    self.unread[number] = line
                break
        for category, patterns in self.counts.items():
            if category in self.seen or category in self.counted:
                continue
            if any(int(match.groupdict().get("count", 1)) for pattern in patterns for match in pattern.finditer(line)):
                self.counted[category] = (number, line)
        if self.nothing and not self.seen and not self.speaks:
            self.speaks = bool(re.search(self.about["mentions"], line))

    def read(self, made: list[dict[str, Any]], took: set[int]) -> None:
        """What became an entry, or a part of one, was not overlooked."""
        for number in (*took, *(one["line_number"] for one in made)):
            self.unread.pop(number, None)
        for one in made:
            self.seen.update(one["parsed_fields"])

    def check(self, before: float) -> None:
        """No line above this one was overlooked, now that no entry is to come for one of them."""
        for number, line in self.unread.items():
            if number < before:
                raise ValueError(f"line {number}: not understood: {line.strip()}")

    def end(self) -> None:
        """Something was read where it has to be."""
        self.check(float("inf"))
        for category in self.counts:
            if category in self.counted and category not in self.seen:
                number, line = self.counted[category]
                raise ValueError(f"line {number}: it counts what was not seen: {line.strip()}")
        if self.nothing and not self.seen and self.speaks:
            raise ValueError(self.nothing)


class Reading:
    """A file of a kind, line by line: its readers, who watches them, and what must hold for all of it."""

    def __init__(self, kind: str, about: dict[str, Any], readers: list[Any], watchers: list[Any]) -> None:
        self.readers = readers
        self.known = Known(kind, about)
        self.account = Account(about)
        self.watchers = watchers

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entries that are certain by this line."""
        made = [one for reader in self.readers for one in reader.line(number, line)]
        for watcher in self.watchers:
            watcher.line(number, line)
            watcher.read(made)
        self.account.line(number, colourless(line))
        made = self.accounted(made)
        self.known.line(number, line)
        return made

    def accounted(self, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Entries, once they are held against the lines that were to be read."""
        self.account.read(made, self.took())
        if self.account.unread:
            self.account.check(min((reader.late() for reader in self.readers), default=float("inf")))
        return made

    def busy(self, number: int) -> bool:
        """Whether the line behind this one must be seen whatever it holds."""
        waits = any(reader.busy(number) for reader in self.readers) or any(one.silent for one in self.watchers)
        return waits or self.known.first is None

    def passed(self, number: int, text: str) -> list[dict[str, Any]]:
        """The entries that are certain by lines behind this one that hold nothing to read."""
        body = text.rstrip()
        last = (number + body.count("\n") + 1, body[body.rfind("\n") + 1 :]) if body else None
        return self.accounted([one for reader in self.readers for one in reader.passed(last)])

    def took(self) -> set[int]:
        """The lines that the readers read with their last one, whether or not they make an entry."""
        return {number for reader in self.readers for number in getattr(reader, "took", ())}

    def end(self) -> list[dict[str, Any]]:
        """The entries that the end of the file makes certain."""
        made = [one for reader in self.readers for one in reader.end()] if self.known.first else []
        for watcher in self.watchers:
            watcher.read(made)
        self.account.read(made, self.took())
        self.account.end()
        self.known.end()
        for reader in self.readers:
            if getattr(reader, "denied", None) and not any(
                one.negative for one in self.readers if one.category == reader.category
            ):
                number, line = reader.denied
                raise ValueError(f"line {number}: a violation that no number here has: {line.strip()}")
        return made


class Gate:
    """Where in a text the next line stands that holds a word of interest, or begins as lines of interest do."""

    def __init__(self, text: str, words: re.Pattern[str], *heads: re.Pattern[str]) -> None:
        strange = dict.fromkeys([*range(10), *range(11, 32), 127], "\x1b")  # each is of interest
        small = text.lower().translate(strange | {9: " "})
        self.told = [(words, "\n" + small), *((one, "\n" + text) for one in heads)]
        self.begins = [-1] * len(self.told)

    def next(self, at: int) -> int:
        """Where the line before it begins, with which it may go on; the end of a piece may be one."""
        for n, (regex, text) in enumerate(self.told):
            if self.begins[n] < at:
                found = regex.search(text, at)
                self.begins[n] = text.rfind("\n", at, found.start() + 1) if found else len(text) - 1
        return max(at, self.told[0][1].rfind("\n", at, min(self.begins)))


class File:
    """A file that comes in pieces of whole lines: `feed` and `finish` give the entries that are certain by then.

    Where its name does not tell the kind, its head is `held` until a line in it is the sign of one; without any sign it
    is of the first kind. Lines that the `gate` of their kind does not show are passed over.
    """

    head = 1 << 20  # characters among which a sign must stand

    def __init__(
        self,
        source_file: str,
        sources: list[dict[str, Any]],
        files: dict[str, Any],
        readers: dict[str, list[Any]],
        watchers: tuple[Any, ...] = (),
    ) -> None:
        self.name, self.files, self.readers, self.watchers = source_file, files, readers, watchers
        named = kind_by_name(source_file, sources)
        self.kind = named or sources[0]["kind"]
        self.signs = {kind: about["signs"] for kind, about in files.items() if "signs" in about and named is None}
        self.held = ""
        self.number = 0
        if not self.signs:
            self.settle()

    def settle(self) -> str:
        """The kind is certain, by the first sign in the order of the kinds; the text that was held."""
        lines = self.held[: self.head].split("\n")
        signed = (kind for kind, sign in self.signs.items() if any(re.match(sign, line) for line in lines))
        self.kind = next(signed, self.kind)
        about = self.files[self.kind]
        watching = [make(self.name, about) for make in self.watchers]
        self.reading = Reading(self.kind, about, self.readers[self.kind], watching)
        self.gate = [re.compile(one) for one in about.get("gate", ())]
        text, self.held, self.signs = self.held, "", {}
        return text

    def feed(self, text: str) -> list[dict[str, Any]]:
        """The entries that are certain by the end of a piece."""
        if self.signs:
            self.held += text
            if len(self.held) < self.head:
                return []
            text = self.settle()
        text = text.replace("\r\n", "\n")
        found: list[dict[str, Any]] = []
        gate = Gate(text, *self.gate) if self.gate and text.isascii() else None
        at = 0
        while at < len(text):
            if gate and not self.reading.busy(self.number):
                begin = gate.next(at)
                found += self.reading.passed(self.number, text[at:begin]) if begin > at else []
                self.number, at = self.number + text.count("\n", at, begin), begin
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            self.number += 1
            found += self.reading.line(self.number, text[at:end])
            at = end + 1
        return found

    def finish(self) -> list[dict[str, Any]]:
        """The entries that the end of the file makes certain."""
        found = self.feed(self.settle()) if self.signs else []
        return found + self.reading.end()
