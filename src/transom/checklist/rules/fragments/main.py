"""What every atom does around its readers: tell the kind of file, and see to it that nothing is
overlooked.
"""

import re
from typing import Any

from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.fragments.shared import colourless, compiled


class Guards:
    """What must hold for a file beside its entries.

    It is of a dialect that the readers were made for; what begins has its end; each line that
    speaks of the matter is read or known to tell nothing; and what is counted was seen.

    It is of the stage that is asked about, where one is: a name that names this stage alone is
    enough. One that names none is enough only where the kind of file allows it and the text speaks
    of no other stage; and where it must show everything `once`, of no entry a second time, since
    that would be an earlier state of the same thing.
    """

    def __init__(self, name: str, kind: str, about: dict[str, Any]) -> None:
        self.kind, self.about, self.nothing = kind, about, about.get("error_if_nothing_read")
        self.must, self.told, self.skipped = (
            compiled(about.get(guard, []))
            for guard in ("known_by", "must_be_read", "may_be_skipped")
        )
        self.refused = [
            (re.compile(pattern), why) for pattern, why in about.get("refuse", {}).items()
        ]
        self.ends = [
            (re.compile(begin), re.compile(end)) for begin, end in about.get("ends", {}).items()
        ]
        self.counts = compiled(about.get("counts", {}))
        self.stage = about.get("stage", {})
        base = name.replace("\\", "/").rpartition("/")[2]
        named = self.stages(base) if self.stage else set()
        self.silent = bool(self.stage) and not named
        if named - {self.stage.get("asked")} or (self.silent and self.stage["by"] == "named"):
            raise ValueError(
                f"this check is about {self.stage['asked']} alone, and the name {base} does not"
                " say so"
            )
        self.once: set[str] = set()
        self.known = not self.must
        self.speaks = False
        self.first: tuple[int, str] | None = None  # the first line that is not blank
        # which of `ends` is open -> the line that began it
        self.begun: dict[int, tuple[int, str]] = {}
        self.unread: dict[int, str] = {}  # lines of which it is not known yet whether they are read
        self.seen: set[str] = set()  # categories
        self.counted: dict[str, tuple[int, str]] = {}

    def stages(self, text: str) -> set[str]:
        """The stages that a name or a text speaks of."""
        told = "_".join(["", *re.findall(r"[a-z0-9]+", text.lower()), ""])
        return {stage for stage, pattern in self.stage["names"].items() if re.search(pattern, told)}

    def line(self, number: int, line: str) -> None:
        """A line may be refused, begin or end something, speak of the matter, or count it."""
        self.first = self.first or ((number, line) if line.strip() else None)
        if self.silent:  # words that are paths or names of cells name no stage
            plain = " ".join(word for word in line.split() if not re.search(r"[/\\\[\]\d.]", word))
            if self.stages(plain) - {self.stage["asked"]}:
                raise ValueError(
                    f"line {number}: this check is about {self.stage['asked']} alone:"
                    f" {line.strip()}"
                )
        for pattern, why in self.refused:
            if pattern.search(line):
                raise ValueError(f"line {number}: {why}: {line.strip()}")
        self.known = self.known or any(pattern.search(line) for pattern in self.must)
        for at, (begin, end) in enumerate(self.ends):
            if begin.search(line):
                self.begun[at] = (number, line)
            elif end.search(line):
                self.begun.pop(at, None)
        text = colourless(line)
        if self.told:
            self.unread[number] = text
        for category in [
            one for one in self.counts if one not in self.seen and one not in self.counted
        ]:
            found = (match for pattern in self.counts[category] for match in pattern.finditer(text))
            if any(int(match.groupdict().get("count", 1)) for match in found):
                self.counted[category] = (number, text)
        if self.nothing and not self.seen and not self.speaks:
            self.speaks = bool(re.search(self.about.get("mentions", "."), text))

    def read(self, made: list[dict[str, Any]], took: set[int], before: float) -> None:
        """Entries, and the lines that were read; no entry is to come for a line above `before`."""
        for one in made if self.silent and self.stage["by"] == "once" else []:
            name = one["value"].partition(" ")[0]
            if name in self.once:
                raise ValueError(
                    f"line {one['line_number']}: {name} a second time, so maybe of another stage"
                )
            self.once.add(name)
        for one in made:
            self.seen.update(one["parsed_fields"])
        for number in (*took, *(one["line_number"] for one in made)):
            self.unread.pop(number, None)
        settled = next(iter(self.unread), before) < before
        for number in [one for one in self.unread if one < before] if settled else []:
            text = self.unread.pop(number)
            if any(one.search(text) for one in self.told) and not any(
                one.search(text) for one in self.skipped
            ):
                raise ValueError(f"line {number}: not understood: {text.strip()}")

    def end(self) -> None:
        """What must hold for all of a file, once all is read."""
        for category, (number, line) in self.counted.items():
            if category not in self.seen:
                raise ValueError(f"line {number}: it counts what was not seen: {line.strip()}")
        if self.speaks and not self.seen:
            raise ValueError(self.nothing)
        for number, line in self.begun.values():
            raise ValueError(f"line {number}: the file ends before this does: {line.strip()}")
        if self.first and not self.known:
            number, line = self.first
            raise ValueError(
                f"line {number}: no line of a kind that is known for {self.kind}: {line.strip()}"
            )


class Gate:
    """The next line in a text that holds a word of interest, or begins as lines of interest do.

    Args:
        text: whole lines.
        words: an expression for the words, in small letters.
        heads: expressions of lines from their beginnings on.
    """

    def __init__(self, text: str, words: re.Pattern[str], *heads: re.Pattern[str]) -> None:
        # Characters that are no text stand for "of interest", as an expression for ASCII text
        # cannot tell what they are.
        self.text = text if text.isascii() else re.sub(r"[^\x00-\x7f]", "\x1b", text)
        strange = dict.fromkeys([*range(10), *range(11, 32), 127], "\x1b")
        self.small = "\n" + self.text.lower().translate(strange | {9: " "})
        self.words, self.heads = words, heads
        self.word_line = self.head_line = -1

    def next(self, at: int) -> int:
        """Return where the line before that line begins, with which it may go on; the end of a
        piece may be one.
        """
        if self.word_line < at:
            found = self.words.search(self.small, at)
            end = len(self.small) - 1
            self.word_line = self.small.rfind("\n", at, found.start() + 1) if found else end
        if self.head_line < at:
            self.head_line = self.next_head(at)
        return max(at, self.small.rfind("\n", at, min(self.word_line, self.head_line)))

    def next_head(self, at: int) -> int:
        """Return where the next line begins that one of `heads` fits.

        Each line is tried by itself: an expression that may go on into the next lines would try
        all blank lines with each of them.
        """
        begin = at if self.heads else len(self.text)
        while begin < len(self.text):
            end = self.text.find("\n", begin)
            end = len(self.text) if end < 0 else end
            if any(head.match(self.text, begin, end) for head in self.heads):
                break
            begin = end + 1
        return min(begin, len(self.text))


class File:
    """A file that comes in pieces of whole lines: `feed` and `finish` give the entries that are
    certain by then.

    Where its name does not tell the kind, its head is `held` until a line in it is the sign of one;
    without any sign it is of the first kind. Lines that the `gate` of their kind does not show are
    passed over.
    """

    head = 1 << 20  # characters among which a sign must stand

    def __init__(
        self,
        name: str,
        sources: list[Any],
        files: dict[str, Any],
        rules: list[Any],
        make: dict[str, Any],
    ) -> None:
        self.name, self.files, self.rules, self.make = name, files, rules, make
        named = kind_by_name(name, sources)
        self.kind = named or sources[0]["kind"]
        self.signs = {
            kind: about["signs"]
            for kind, about in files.items()
            if "signs" in about and named is None
        }
        self.held = ""
        self.number = 0
        if not self.signs:
            self.settle()

    def settle(self) -> str:
        """The kind is certain, by the first sign in the order of the kinds; the text that was
        held.
        """
        lines = self.held[: self.head].split("\n")
        signed = (
            kind for kind, sign in self.signs.items() if any(re.match(sign, line) for line in lines)
        )
        self.kind = next(signed, self.kind)
        about = self.files[self.kind]
        self.guards = Guards(self.name, self.kind, about)
        self.readers = [
            self.make[rule.get("kind", "rows")](rule)
            for rule in self.rules
            if rule["file"] == self.kind
        ]
        self.gate = compiled(about.get("gate", []))
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
        gate = Gate(text, *self.gate) if self.gate else None
        at = 0
        while at < len(text):
            if gate and not self.busy():
                begin = gate.next(at)
                found += self.passed(text[at:begin]) if begin > at else []
                at = begin
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found += self.line(text[at:end])
            at = end + 1
        return found

    def line(self, line: str) -> list[dict[str, Any]]:
        """The entries that are certain by this line."""
        self.number += 1
        made = [one for reader in self.readers for one in reader.line(self.number, line)]
        self.guards.line(self.number, line)
        return self.accounted(made)

    def busy(self) -> bool:
        """Whether the next line must be seen whatever it holds."""
        waits = self.guards.first is None or self.guards.silent
        return waits or any(reader.busy(self.number) for reader in self.readers)

    def passed(self, text: str) -> list[dict[str, Any]]:
        """The entries that are certain by lines that hold nothing to read."""
        body = text.rstrip()
        last = (self.number + body.count("\n") + 1, body[body.rfind("\n") + 1 :]) if body else None
        self.number += text.count("\n")
        return self.accounted([one for reader in self.readers for one in reader.passed(last)])

    def accounted(self, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Entries, once they are held against the lines that were to be read."""
        took = {number for reader in self.readers for number in reader.took}
        self.guards.read(
            made, took, min((reader.late for reader in self.readers), default=float("inf"))
        )
        return made

    def finish(self) -> list[dict[str, Any]]:
        """The entries that the end of the file makes certain."""
        found = self.feed(self.settle()) if self.signs else []
        made = self.accounted(
            [one for reader in self.readers for one in reader.end()] if self.guards.first else []
        )
        self.guards.end()
        for reader in self.readers:
            if reader.denied and not any(
                one.negative for one in self.readers if one.category == reader.category
            ):
                number, line = reader.denied
                raise ValueError(
                    f"line {number}: a violation that no number here has: {line.strip()}"
                )
        return found + made
