"""`rows`: the language of domain files for what lines say: rows, blocks, tables and keys, and
what is made of them.
"""

import json
import re
from typing import Any

from transom.checklist.rules.fragments.shared import colourless, compiled, entry, mapped


class RowReader:
    """Entries of one category, as one rule tells it.

    `took` are the lines that the last call read, so that nobody calls them overlooked; `joined` is
    a row that goes on;
    `block` are the fields of an open block, which line `shown` began, `head` the columns of an open
    table; `kept` are entries that wait for the end of the file, by the fields of their group.
    `final` are keys of final figures, with the first line of a step of each; `named` the keys that
    were read. `any` is whether there is an entry, `over` whether its step of the flow is over;
    `denied` is a line that says that there is a violation, `negative` whether a number shows one.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule, self.category = rule, rule["category"]
        self.rows = [(re.compile(row["match"]), row) for row in rule.get("rows", [])]
        self.above, self.keys = compiled(rule.get("above", [])), compiled(rule.get("keys", []))
        self.interim = [
            (re.compile(step), final) for step, final in rule.get("interim", {}).items()
        ]
        self.final: dict[str, tuple[int, str]] = {}
        self.named: set[str] = set()
        names = ("join", "goes_on", "until", "steps", "strip")
        self.re = compiled({name: rule[name] for name in names if name in rule})
        parts = ("from", "to", "before", "head", "row")
        for name in ("inside", "block", "table"):
            told = rule.get(name, {})
            self.re |= compiled({f"{name} {part}": told[part] for part in parts if part in told})
        self.within = "inside from" not in self.re
        self.context: dict[str, Any] = {}
        self.joined: list[tuple[int, str]] = []
        self.block: dict[str, Any] | None = None
        self.shown = (0, "")
        self.head: list[str] | None = None
        self.kept: dict[tuple[Any, ...], tuple[int, str, dict[str, Any]]] = {}
        self.denied: tuple[int, str] | None = None
        self.negative = self.any = self.over = False
        self.text: list[str] = []
        self.took: set[int] = set()

    def finds(self, name: str, text: str) -> bool:
        """Whether an expression that the rule has is found in a line."""
        return name in self.re and bool(self.re[name].search(text))

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entries that are certain by this line."""
        self.took = set()
        if self.keys:
            return self.key_line(number, line)
        if not self.within:
            if not self.finds("inside from", line):
                return []
            self.within = True
            self.took.add(number)
        elif self.finds("inside to", line):
            self.within = False  # behind this line
        goes_on = "goes_on" in self.re
        made = self.whole() if goes_on and not self.finds("goes_on", colourless(line)) else []
        self.joined.append((number, line))
        return made if goes_on or self.finds("join", line) else self.whole()

    def whole(self) -> list[dict[str, Any]]:
        """What a line says with all that goes on with it: a heading, a part of a block or of a
        table, or an entry.
        """
        lines, self.joined = self.joined, []
        if not lines:
            return []
        number, line = lines[0]
        text = colourless(line)
        if len(lines) > 1:
            parts = [re.sub(r"\\\s*$", " ", one) for _, one in lines]
            text = " ".join([parts[0], *(part.strip() for part in parts[1:])])
        if "strip" in self.re:
            text = self.re["strip"].sub("", text)
        before = len(self.took)
        self.over = self.over or (self.any and self.finds("steps", text))
        if self.finds("until", text):
            self.context = {}
        for found in filter(None, [heading.search(text) for heading in self.above]):
            self.context |= {
                name: said for name, said in found.groupdict().items() if said is not None
            }
            self.took.add(number)
        if "table" in self.rule or "block" in self.rule:
            made = (self.of_table if "table" in self.rule else self.of_block)(number, line, text)
        else:
            fields = self.row(number, text)
            made = [] if fields is None else self.give(number, line, fields)
        if len(self.took) > before:
            self.took.update(one for one, _ in lines)
        return made

    def row(self, number: int, text: str) -> dict[str, Any] | None:
        """The groups of the first row that fits, and what it says beside them."""
        for pattern, row in self.rows:
            if found := pattern.search(text):
                if "error" in row:
                    raise ValueError(f"line {number}: {row['error']}: {text.strip()}")
                self.took.add(number)
                groups = {
                    name: said for name, said in found.groupdict().items() if said is not None
                }
                return {
                    **groups,
                    **row.get("says", {}),
                    **({"denies": True} if row.get("denies") else {}),
                }
        return None

    def of_block(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """A block gathers what its rows say, of each field the first, and is one entry."""
        begins = self.finds("block from", text)
        made = self.end_block() if begins or self.finds("block before", text) else []
        if begins:
            self.block, self.shown = {}, (number, line)
        if self.block is not None:
            self.took.add(number)
            self.block = {**(self.row(number, text) or {}), **self.block}
            if self.finds("block to", text):
                made = self.end_block((number, line))
        return made

    def end_block(self, last: tuple[int, str] | None = None) -> list[dict[str, Any]]:
        """The entry of an open block: at its last line, or where another line ends it, at its
        first.
        """
        if self.block is None:
            return []
        (number, line), told, self.block = last or self.shown, self.block, None
        if not last and "block before" not in self.re:
            raise ValueError(f"line {number}: what begins here has no end: {line.strip()}")
        return self.give(number, line, {**self.rule["block"].get("says", {}), **told})

    def of_table(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """Below its head each line is a row: an entry, or one for each of its cells that says
        something.
        """
        told, cells = self.rule["table"], self.cells(text)
        if self.finds("table head", text):
            self.head = cells
            self.took.add(number)
            return []
        self.head = self.head if text.strip() else None
        ruled = re.fullmatch(r"[\s|+=_-]*", text) or (
            "table row" in self.re and not self.finds("table row", text)
        )
        if self.head is None or ruled:
            return []
        if len(cells) != len(self.head):
            raise ValueError(
                f"line {number}: {len(cells)} cells under {len(self.head)} columns: {line.strip()}"
            )
        self.took.add(number)
        named, names = [*zip(self.head, cells, strict=True)], told.get("cells") or told["columns"]
        parts = [dict(reversed(named))]  # of two columns of a name the first
        if "cells" in told:
            each = [{"row": cells[0], "column": column, "cell": cell} for column, cell in named[1:]]
            parts = [one for one in each if one["cell"] not in ("", "N/A", "-", "--")]
        if missing := [part for part in names.values() if parts and part not in parts[0]]:
            raise ValueError(f"line {number}: the table has no column {missing[0]}")
        fields = [{name: one[part] for name, part in names.items()} for one in parts]
        return [made for one in fields for made in self.give(number, line, one)]

    def cells(self, text: str) -> list[str]:
        """What stands between bars, or between wide blanks."""
        if "|" in text:
            return [cell.strip().rstrip(":").strip() for cell in text.strip().strip("|").split("|")]
        return re.split(r"\s{2,}|\t", text.strip())

    def key_line(self, number: int, line: str) -> list[dict[str, Any]]:
        """A line of a file of keys: kept where the file is JSON, else read at once."""
        if self.text or line.lstrip()[:1] in ("{", "["):
            self.text.append(line)
            return []
        found = re.match(r'\s*+"?((?>[\w./ -]*[\w./-])) *+"?\s*+[:=]\s*+', line)
        if found is None:
            return []
        said = line[found.end() :].rstrip().removesuffix(",").strip('"')
        return self.key(number, line, found[1], said)

    def key(self, number: int, line: str, path: str, said: Any) -> list[dict[str, Any]]:
        """The entry of a key that is asked for."""
        if not any(wanted.fullmatch(path) for wanted in self.keys):
            return []
        if said is None or isinstance(said, bool | list | dict) or str(said).strip() == "":
            raise ValueError(f"line {number}: {path} has no value: {line.strip()}")
        self.took.add(number)
        self.named.add(path)
        if finals := [step.sub(final, path) for step, final in self.interim if step.search(path)]:
            self.final.setdefault(finals[0], (number, line))
            return []
        return self.give(number, line, {"key": path, "value": str(said)})

    def json_keys(self) -> list[dict[str, Any]]:
        """The entries of a JSON document, each at the line of its key; what stands in lists has
        no key.
        """
        text, lines, self.text = "\n".join(self.text), self.text, []
        try:
            json.loads(text)
        except ValueError as error:
            raise ValueError(f"line 1: no JSON document: {error}") from error
        made: list[dict[str, Any]] = []
        path: list[str | None] = []  # the keys of what is open, None of lists
        key, at, number = "", 0, 0
        for token in re.finditer(
            r'(?P<key>"(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,:"{}\[\]]+', text
        ):
            if token["key"]:
                key, number, at = (
                    json.loads(token["key"]),
                    number + text.count("\n", at, token.start()),
                    token.start(),
                )
            elif token[0] in "{[":
                path.append(key if token[0] == "{" else None)
                key = ""
            elif token[0] in "}]":
                path.pop()
            elif key and None not in path:
                name = ".".join(one for one in (*path, key) if one)
                made += self.key(number + 1, lines[number], name, json.loads(token[0]))
                key = ""
        return made

    def give(self, number: int, line: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
        """The entry of fields, unless they only add to those that wait for the end of the file."""
        told = {name: said for name, said in fields.items() if said is not None}
        fields = mapped(self.rule, {**self.context, **told, "line": line})
        denies = fields.pop("denies", False)
        for name, wanted in {**self.rule.get("where", {}), **self.rule.get("narrow", {})}.items():
            if not fields.get(name) and not denies:
                raise ValueError(
                    f"line {number}: nothing says whether this is of {wanted}: {line.strip()}"
                )
            if (fields.get(name) or wanted) not in (wanted, *wanted.split("_and_")):
                return []
        if denies:
            self.denied = self.denied or (number, line)
            return []
        if "follow" in self.rule and not fields.get(self.rule["follow"]["field"]):
            raise ValueError(f"line {number}: which file is meant cannot be told: {line.strip()}")
        self.any = True
        self.measure(number, line, fields)
        if self.over:
            raise ValueError(
                f"line {number}: an earlier step of the flow has such a line too: {line.strip()}"
            )
        if "reduce" not in self.rule:
            return [self.entry(number, line, fields)]
        self.reduce(number, line, fields)
        return []

    def measure(self, number: int, line: str, fields: dict[str, Any]) -> None:
        """Numbers in place of their texts, in the unit of their field, and the flag that one
        stands for.
        """
        flag, unit = self.rule.get("flag", {}), self.rule.get("unit")
        for name in self.rule.get("numbers", ()):
            if isinstance(fields.get(name), str):
                fields[name] = self.number(
                    number, line, fields[name], flagged=bool(fields.get(flag.get("field")))
                )
                self.negative = self.negative or fields[name] < 0
        if unit and unit["field"] in self.rule["fields"]:
            if fields.get(unit["of"]) not in unit["powers"]:
                raise ValueError(f"line {number}: no unit is told for this number: {line.strip()}")
            # by its digits: 0.11, not 0.1100000001
            digits, _, power = str(fields[unit["field"]]).partition("e")
            fields[unit["field"]] = float(
                f"{digits}e{int(power or 0) + unit['powers'][fields[unit['of']]]}"
            )
        if flag:
            value, said = fields.get(flag["of"]), fields.get(flag["field"])
            bad = value is not None and (value > 0 if flag.get("bad") == "positive" else value < 0)
            if said == "MET" and bad:
                raise ValueError(
                    f"line {number}: the flag says {said} and the number does not: {line.strip()}"
                )
            fields[flag["field"]] = said or ("VIOLATED" if bad else "MET")

    def number(self, number: int, line: str, said: str, *, flagged: bool) -> float:
        """A number; of `-0.00` nobody can tell whether it is below zero, if no flag says it."""
        told = said.replace(",", "").strip()
        if not re.fullmatch(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", told):
            raise ValueError(f"line {number}: {said!r} is no number: {line.strip()}")
        if told[0] == "-" and float(told) == 0 and not flagged:
            raise ValueError(f"line {number}: {said} may be below zero, or not: {line.strip()}")
        return float(told) if re.search(r"[.eE]", told) else int(told)

    def reduce(self, number: int, line: str, fields: dict[str, Any]) -> None:
        """Into the group of its fields."""
        told = {**self.rule["reduce"]}
        group = tuple(fields.get(name) for name in told.pop("by", ()))
        ((how, name),) = told.items()
        if how == "count":
            fields, how = {**fields, name: 1}, "sum"
        new = (number, line, fields)
        at, shown, old = self.kept.setdefault(group, new)
        if old is fields:
            return
        if (
            how == "last"
            or (how == "min" and fields[name] < old[name])
            or (how == "max" and fields[name] > old[name])
        ):
            self.kept[group] = new
        elif how == "sum":  # what counts is evidence, and not what says zero
            at, shown = (at, shown) if old[name] else (number, line)
            self.kept[group] = (at, shown, {**old, name: old[name] + fields[name]})
        elif how == "merge" and not (old.get(name) and fields.get(name)):
            old.update({key: said for key, said in fields.items() if old.get(key) is None})
        elif how == "same" and fields.get(name) != old.get(name):
            raise ValueError(f"line {number}: line {at} says otherwise: {line.strip()}")

    def entry(self, number: int, line: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The result, with the file that it names."""
        made, follow = entry(self.rule, number, line, fields), self.rule.get("follow")
        if follow:
            made["parsed_fields"]["reference"] = {
                "kind": follow["kind"],
                "path": fields[follow["field"]],
            }
        return made

    def busy(self, number: int) -> bool:  # noqa: ARG002  as other readers
        """Whether the next line must be seen whatever it holds: a line or a table goes on."""
        goes_on = bool(self.joined) and "join" in self.re
        return bool(self.text) or (self.within and (goes_on or self.head is not None))

    def passed(self, last: tuple[int, str] | None) -> list[dict[str, Any]]:  # noqa: ARG002  as other readers
        """Of lines with nothing to read none goes on with the one before."""
        self.took = set()
        return self.whole()

    @property
    def late(self) -> float:
        """The first line for which an entry may still come."""
        return 1 if self.text else self.joined[0][0] if self.joined else float("inf")

    def end(self) -> list[dict[str, Any]]:
        """The entries that the end of the file makes certain."""
        self.took = set()
        made = [*self.whole(), *self.end_block(), *(self.json_keys() if self.text else [])]
        made += [self.entry(*one) for one in self.kept.values()]
        for key, (number, line) in self.final.items():
            if key not in self.named:
                raise ValueError(
                    f"line {number}: this is of a step of the flow, and there is no {key}:"
                    f" {line.strip()}"
                )
        if self.rule.get("error_if_nothing_read") and not self.any:
            raise ValueError(self.rule["error_if_nothing_read"])
        return made
