"""`rows`: the language of domain files for what lines say: rows, blocks, tables and keys, and what is made of them."""

import json
import re
from typing import Any

from transom.checklist.rules.fragments.shared import colourless, entry


class RowReader:
    """Entries of one category, as one rule tells it.

    `took` are the lines that the last call read, so that nobody calls them overlooked; `joined` is a row that goes on,
    from line `begun`; `block` are the fields of an open block, `head` the columns of an open table; `kept` are entries
    that wait for the end of the file, by the fields of their group. `steps` are those of the flow that have entries,
    `denied` is a line that says that there is a violation, `negative` whether a number shows one.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule, self.category = rule, rule["category"]
        self.rows = [(re.compile(row["match"]), row) for row in rule.get("rows", [])]
        named = ("above", "inside", "block", "table")
        self.res = {name: self.compiled(rule[name]) for name in named if rule.get(name)}
        self.res |= {
            name: re.compile(rule[name]) for name in ("join", "goes_on", "until", "steps", "strip") if rule.get(name)
        }
        self.context: dict[str, Any] = {}
        self.within = "from" not in rule.get("inside", {"to": None})
        self.joined: list[tuple[int, str]] = []
        self.block: dict[str, Any] | None = None
        self.shown = (0, "")
        self.head: list[str] | None = None
        self.kept: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.step = 0
        self.steps: set[int] = set()
        self.denied: tuple[int, str] | None = None
        self.negative = False
        self.text: list[str] = []
        self.took: set[int] = set()
        self.any = False

    def compiled(self, told: Any) -> Any:
        """Regexes in place of their texts, in a list or under the keys that hold one."""
        if isinstance(told, list):
            return [re.compile(one) for one in told]
        texts = {name: one for name, one in told.items() if name in ("from", "to", "before", "head", "row") and one}
        return {name: re.compile(one) for name, one in texts.items()}

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entries that are certain by this line."""
        self.took = set()
        if "keys" in self.rule:
            return self.key_line(number, line)
        inside = self.res.get("inside", {})
        if not self.within:
            if not ("from" in inside and inside["from"].search(line)):
                return []
            self.within = True
            self.took.add(number)
        elif "to" in inside and inside["to"].search(line):
            self.within = False  # behind this line
        goes_on, join = self.res.get("goes_on"), self.res.get("join")
        made = self.whole() if self.joined and goes_on and not goes_on.search(colourless(line)) else []
        self.joined.append((number, line))
        waits = goes_on or (join and join.search(line))
        return made if waits else self.whole()

    def whole(self) -> list[dict[str, Any]]:
        """A line with all that goes on with it."""
        lines, self.joined = self.joined, []
        number, line = lines[0]
        text = colourless(line)
        if len(lines) > 1:
            parts = [re.sub(r"\\\s*$", " ", one) for _, one in lines]
            text = " ".join([parts[0], *(part.strip() for part in parts[1:])])
        if "strip" in self.res:
            text = self.res["strip"].sub("", text)
        before = len(self.took)
        made = self.told(number, line, text)
        if len(self.took) > before:
            self.took.update(one for one, _ in lines)
        return made

    def told(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """What a line says: a heading, a part of a block or of a table, or an entry."""
        if "until" in self.res and self.res["until"].search(text):
            self.context = {}
        if "steps" in self.res and self.res["steps"].search(text):
            self.step += 1
        for heading in self.res.get("above", ()):
            if found := heading.search(text):
                self.context.update({name: said for name, said in found.groupdict().items() if said is not None})
                self.took.add(number)
        if "table" in self.res:
            return self.of_table(number, line, text)
        if "block" in self.res:
            return self.of_block(number, line, text)
        fields = self.row(number, text)
        return [] if fields is None else self.give(number, line, fields)

    def row(self, number: int, text: str) -> dict[str, Any] | None:
        """The groups of the first row that fits, and what it says beside them."""
        for pattern, row in self.rows:
            if found := pattern.search(text):
                if "error" in row:
                    raise ValueError(f"line {number}: {row['error']}: {text.strip()}")
                self.took.add(number)
                groups = {name: said for name, said in found.groupdict().items() if said is not None}
                return {**groups, **row.get("says", {}), **({"denies": True} if row.get("denies") else {})}
        return None

    def of_block(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """A block gathers what its rows say, of each field the first, and is one entry."""
        ends, made = self.res["block"], []
        begins = ends["from"].search(text)
        if begins or ("before" in ends and ends["before"].search(text)):
            made = self.closed()
        if begins:
            self.block, self.shown = {}, (number, line)
        if self.block is None:
            return made
        self.took.add(number)
        self.block = {**(self.row(number, text) or {}), **self.block}
        if "to" in ends and ends["to"].search(text):
            made = self.whole_block(*(self.shown if self.rule["block"].get("shown") == "from" else (number, line)))
        return made

    def whole_block(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry of a block."""
        told, self.block = self.block or {}, None
        return self.give(number, line, {**self.rule["block"].get("says", {}), **told})

    def closed(self) -> list[dict[str, Any]]:
        """Of a block that another line ends, the entry; no other may be open here."""
        if self.block is None:
            return []
        if "before" not in self.res["block"]:
            raise ValueError(f"line {self.shown[0]}: what begins here has no end: {self.shown[1].strip()}")
        return self.whole_block(*self.shown)

    def of_table(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """Below its head each line is a row: an entry, or one for each of its cells."""
        told = self.rule["table"]
        if self.res["table"]["head"].search(text):
            self.head = self.cells(text)
            self.took.add(number)
            return []
        if self.head is None or re.fullmatch(r"[\s|+=_-]*", text):
            if not text.strip():
                self.head = None
            return []
        if not self.res["table"]["row"].search(text):
            return []
        cells = self.cells(text)
        if len(cells) != len(self.head):
            raise ValueError(f"line {number}: {len(cells)} cells under {len(self.head)} columns: {line.strip()}")
        self.took.add(number)
        if told.get("cells"):
            names = zip(self.head[1:], cells[1:], strict=True)
            each = [dict(zip(("row", "column", "cell"), (cells[0], *pair), strict=True)) for pair in names]
            return [
                one
                for cell in each
                if cell["cell"] not in told["empty"]
                for one in self.give(number, line, {name: cell[part] for name, part in told["cells"].items()})
            ]
        places = {name: self.head.index(column) for name, column in told["columns"].items() if column in self.head}
        if len(places) < len(told["columns"]):
            raise ValueError(f"line {number}: the table has not all of {', '.join(told['columns'].values())}")
        return self.give(number, line, {name: cells[at] for name, at in places.items()})

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
        found = re.match(r'\s*"?([\w./ -]+?)"?\s*[:=]\s*(.*?),?\s*$', line)
        return self.key(number, line, found[1], found[2].strip('"')) if found else []

    def key(self, number: int, line: str, path: str, said: Any) -> list[dict[str, Any]]:
        """The entry of a key that is asked for."""
        if not any(re.fullmatch(wanted, path) for wanted in self.rule["keys"]):
            return []
        if said is None or isinstance(said, bool | list | dict) or str(said).strip() == "":
            raise ValueError(f"line {number}: {path} has no value: {line.strip()}")
        self.took.add(number)
        return self.give(number, line, {"key": path, "value": str(said)})

    def json_keys(self) -> list[dict[str, Any]]:
        """The entries of a JSON document, each at the line of its key."""
        text = "\n".join(self.text)
        try:
            data = json.loads(text, object_pairs_hook=lambda pairs: pairs)
        except ValueError as error:
            raise ValueError(f"line 1: no JSON document: {error}") from error
        made: list[dict[str, Any]] = []
        at = 0  # behind the last key

        def walk(path: str, value: Any) -> None:
            nonlocal at
            named = isinstance(value, list) and all(isinstance(one, tuple) for one in value)
            for key, one in value if named else ():
                wanted = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:")
                if not (found := wanted.search(text, at)):
                    raise ValueError(f"line 1: the key {key} is not found as it is read")
                at, inner = found.end(), f"{path}.{key}" if path else key
                line = text.count("\n", 0, found.start())
                if not isinstance(one, list):
                    made.extend(self.key(line + 1, self.text[line], inner, one))
                walk(inner, one)

        walk("", data)
        return made

    def give(self, number: int, line: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
        """An entry of these fields, at once or with its group at the end."""
        fields = {**self.context, **{name: said for name, said in fields.items() if said is not None}, "line": line}
        for name, words in self.rule.get("maps", {}).items():
            fields[name] = words.get(fields.get(name), fields.get(name))
        denies = fields.pop("denies", False)
        for name, wanted in {**self.rule.get("where", {}), **self.rule.get("narrow", {})}.items():
            if not fields.get(name) and not denies:
                raise ValueError(f"line {number}: nothing says whether this is of {wanted}: {line.strip()}")
            if (fields.get(name) or wanted) not in (wanted, *wanted.split("_and_")):
                return []
        if denies:
            self.denied = self.denied or (number, line)
            return []
        if "follow" in self.rule and not fields.get(self.rule["follow"]["field"]):
            raise ValueError(f"line {number}: which file is meant cannot be told: {line.strip()}")
        self.measured(number, line, fields)
        self.steps.add(self.step)
        if len(self.steps) > 1:
            raise ValueError(f"line {number}: an earlier step of the flow has such a line too: {line.strip()}")
        if "reduce" not in self.rule:
            return [self.entry(number, line, fields)]
        self.reduced(number, line, fields)
        return []

    def measured(self, number: int, line: str, fields: dict[str, Any]) -> None:
        """Numbers in place of their texts, in the unit of their field, and the flag that they stand for."""
        flag = self.rule.get("flag", {})
        for name in self.rule.get("numbers", ()):
            if isinstance(fields.get(name), str):
                fields[name] = self.number(number, line, fields[name], flagged=bool(fields.get(flag.get("field"))))
                self.negative = self.negative or fields[name] < 0
        unit = self.rule.get("unit")
        if unit and unit["field"] in self.rule["fields"]:
            if fields.get(unit["of"]) not in unit["powers"]:
                raise ValueError(f"line {number}: no unit is told for this number: {line.strip()}")
            digits, _, power = str(fields[unit["field"]]).partition("e")  # by its digits: 0.11, not 0.1100000001
            fields[unit["field"]] = float(f"{digits}e{int(power or 0) + unit['powers'][fields[unit['of']]]}")
        if flag:
            self.flagged(number, line, fields, flag)

    def flagged(self, number: int, line: str, fields: dict[str, Any], flag: dict[str, Any]) -> None:
        """The flag that a number stands for, where no flag is printed; one that is must not belie its number."""
        value, said = fields.get(flag["of"]), fields.get(flag["field"])
        bad = value is not None and (value > 0 if flag["bad"] == "positive" else value < 0)
        if said is None:
            fields[flag["field"]] = "VIOLATED" if bad else "MET"
        elif said == "MET" and bad:
            raise ValueError(f"line {number}: the flag says {said} and the number does not: {line.strip()}")

    def number(self, number: int, line: str, said: str, *, flagged: bool) -> float:
        """A number; of `-0.00` nobody can tell whether it is below zero, if no flag says it."""
        told = said.replace(",", "").strip()
        if not re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", told):
            raise ValueError(f"line {number}: {said!r} is no number: {line.strip()}")
        if told[0] == "-" and float(told) == 0 and not flagged:
            raise ValueError(f"line {number}: {said} may be below zero, or not: {line.strip()}")
        return float(told) if re.search(r"[.eE]", told) else int(told)

    def reduced(self, number: int, line: str, fields: dict[str, Any]) -> None:
        """Into the group of its fields."""
        how = self.rule["reduce"]
        group = tuple(fields.get(name) for name in how.get("by", ()))
        told = {"number": number, "line": line, "fields": fields}
        old = self.kept.get(group)
        counted = {**fields, how["count"]: 1} if "count" in how else fields
        if old is None:
            self.kept[group] = {**told, "fields": counted}
        elif "sum" in how or "count" in how:
            name = how.get("sum") or how["count"]
            if not old["fields"][name]:  # what counts is evidence, and not what says zero
                old.update(number=number, line=line)
            old["fields"] = {**old["fields"], name: old["fields"][name] + counted[name]}
        elif "min" in how or "max" in how:
            name = how.get("min") or how["max"]
            if (fields[name] < old["fields"][name]) == ("min" in how) and fields[name] != old["fields"][name]:
                self.kept[group] = told
        elif "last" in how:
            self.kept[group] = told
        elif "merge" in how:
            self.merged(old["fields"], fields, how["merge"])
        elif "same" in how and fields.get(how["same"]) != old["fields"].get(how["same"]):
            raise ValueError(f"line {number}: line {old['number']} says otherwise: {line.strip()}")

    def merged(self, old: dict[str, Any], fields: dict[str, Any], head: str) -> None:
        """What the first one lacks, from those behind it; but not from one that has the field `head` too."""
        if not (old.get(head) and fields.get(head)):
            old.update({name: said for name, said in fields.items() if old.get(name) is None})

    def entry(self, number: int, line: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The result, with the file that it names."""
        self.any = True
        made = entry({**self.rule, "maps": {}}, number, line, fields)
        follow = self.rule.get("follow")
        if follow and fields.get(follow["field"]):
            made["parsed_fields"]["reference"] = {"kind": follow["kind"], "path": fields[follow["field"]]}
        return made

    def busy(self, number: int) -> bool:  # noqa: ARG002  as other readers
        """Whether the next line must be seen whatever it holds: a line or a table goes on."""
        goes_on = bool(self.joined) and "join" in self.res
        return bool(self.text) or (self.within and (goes_on or self.head is not None))

    def passed(self, last: tuple[int, str] | None) -> list[dict[str, Any]]:  # noqa: ARG002  as other readers
        """Of lines with nothing to read none goes on with the one before."""
        self.took = set()
        return self.whole() if self.joined else []

    def late(self) -> float:
        """The first line for which an entry may still come."""
        return 1 if self.text else self.joined[0][0] if self.joined else float("inf")

    def end(self) -> list[dict[str, Any]]:
        """The entries that the end of the file makes certain."""
        self.took = set()
        made = [*(self.whole() if self.joined else []), *self.closed()]
        if self.text:
            made += self.json_keys()
        made += [self.entry(one["number"], one["line"], one["fields"]) for one in self.kept.values()]
        if self.rule.get("error_if_nothing_read") and not self.any:
            raise ValueError(self.rule["error_if_nothing_read"])
        return made
