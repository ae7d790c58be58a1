"""Readers of a solve's files: decks of Abaqus and CalculiX, tables of CalculiX (`.dat`) and
Nastran (F06), outputs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from transom.errors import InputError, install_hint
from transom.formats.text_files import STREAMED_BYTES, TextFile
from transom.studies.study import Extractor

_CARD = re.compile(r"^\*(?!\*)\s*([A-Z][A-Z ]*)", re.IGNORECASE)
_NOT_A_NUMBER = re.compile(r"(?<![\w.])[+-]?(?:nan|inf(?:inity)?)(?![\w.])|\*{8,}", re.IGNORECASE)
_EPSILON = re.compile(r"EPSILON (?:SUB E|ERROR ESTIMATE)\s*=\s*([-+.\dEe]+)")
_STRESSES = 6
_LONGEST_ROW = 4096  # characters
_SPACED = re.compile(r"E I G E N V A L U E|B U C K L I N G")  # tables of CalculiX that name no set
_TITLE = re.compile(r"(?:[A-Z] ){5}")

# With one of these cards, nodes are elsewhere, or there are more supports than *BOUNDARY, or free
# motion is allowed.
_ELSEWHERE = {"INCLUDE", "PART", "INSTANCE", "NGEN", "NFILL", "NCOPY", "ELGEN", "ELCOPY", "NMAP"}
_TIED = {
    "EQUATION",
    "MPC",
    "TIE",
    "RIGID BODY",
    "COUPLING",
    "CONTACT PAIR",
    "CONTACT",
    "SPRING",
    "TRANSFORM",
}
_FREE = {"FREQUENCY", "DYNAMIC", "BUCKLE", "HEAT TRANSFER", "COMPLEX FREQUENCY", "MODAL DYNAMIC"}
_PLANE, _ROUND = ("CPS", "CPE", "B21", "B22", "B23", "T2D"), "CAX"
_NAMED = {"ENCASTRE": (1, 6), "PINNED": (1, 3)}


@dataclass
class Deck:
    """The parts of an input deck that decide whether it can be solved.

    Attributes:
        nodes: number -> coordinates; elements: number -> nodes.
        supports: held (node, direction) pairs; directions 1 to 6.
        zero_thickness: whether a section of a plane element has thickness 0.
        cards: names of all keyword cards; types: types of elements.
    """

    nodes: dict[int, tuple[float, ...]] = field(default_factory=dict)
    elements: dict[int, tuple[int, ...]] = field(default_factory=dict)
    supports: set[tuple[int, int]] = field(default_factory=set)
    zero_thickness: bool = False
    cards: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)

    @property
    def undefined(self) -> list[int]:
        """Nodes that elements use and the deck does not define; [] if nodes may be defined
        elsewhere.
        """
        # An included file may define them; a false alarm would blame a good design.
        if not self.nodes or self.cards & _ELSEWHERE:
            return []
        return sorted(
            {node for nodes in self.elements.values() for node in nodes} - self.nodes.keys()
        )

    @property
    def size(self) -> float:
        """Diagonal of the bounding box, in the model's unit; 0 without nodes."""
        axes = list(zip(*self.nodes.values(), strict=False))
        return math.dist([min(axis) for axis in axes], [max(axis) for axis in axes])

    def free_motion(self) -> str | None:
        """Return why the whole model can certainly move: too few supports, or none along an
        axis; else None.
        """
        # Ties and contacts hold a body in ways that counting supports does not see.
        if not self.elements or self.cards & (_TIED | _FREE | _ELSEWHERE):
            return None
        if not self.supports:
            return "nothing is held: the deck has no supports"
        plane = all(kind.startswith(_PLANE) for kind in self.types)
        axes = (
            {2}
            if any(kind.startswith(_ROUND) for kind in self.types)
            else {1, 2}
            if plane
            else {1, 2, 3}
        )
        if missing := sorted(axes - {direction for _, direction in self.supports}):
            return f"nothing is held along direction {', '.join(map(str, missing))}"
        # Rigid motions of a body: one along an axis, three in a plane, six in space.
        needed = {1: 1, 2: 3, 3: 6}[len(axes)]
        if len(self.supports) < needed:
            return f"only {len(self.supports)} directions are held, a free body has {needed}"
        return None


def read_deck(text: str) -> Deck:
    """Read the parts of an Abaqus or CalculiX input deck that `Deck` has; the rest is ignored."""
    deck = Deck()
    sets: dict[str, list[int]] = {}
    for name, options, rows in _cards(text):
        # `INPUT=` reads a file, as *INCLUDE does.
        deck.cards.update({name, "INCLUDE"} if "INPUT" in options else {name})
        members = sets.setdefault(options.get("NSET", ""), [])
        if name == "NODE":
            numbers = [row for row in map(_numbers, rows) if row]
            deck.nodes.update({int(row[0]): tuple(row[1:4]) for row in numbers})
            members.extend(int(row[0]) for row in numbers)
        elif name == "ELEMENT":
            deck.types.add(options.get("TYPE", "").upper())
            # a line that ends with a comma goes on in the next
            joined = re.sub(r",\s*\n", ",", "\n".join(rows))
            element_rows = filter(None, map(_numbers, joined.split("\n")))
            deck.elements.update({int(row[0]): tuple(map(int, row[1:])) for row in element_rows})
        elif name == "NSET":
            members.extend(_members(rows, "GENERATE" in options, sets))
        elif name == "BOUNDARY":
            deck.supports.update(_supported_nodes(rows, sets))
        elif name in ("SOLID SECTION", "SHELL SECTION"):
            values = []
            for row in rows:
                values.extend(_numbers(row))
            plane = name == "SHELL SECTION" or any(
                kind.startswith(("CPS", "CPE")) for kind in deck.types
            )
            deck.zero_thickness |= plane and values[:1] == [0]
    return deck


def _cards(text: str) -> list[tuple[str, dict[str, str], list[str]]]:
    """Return each card's name, options and data lines."""
    cards: list[tuple[str, dict[str, str], list[str]]] = []
    for line in text.splitlines():
        if card := _CARD.match(line):
            parts = [part.partition("=") for part in line[1:].split(",")[1:]]
            options = {key.strip().upper(): value.strip().upper() for key, _, value in parts}
            cards.append((card[1].strip().upper(), options, []))
        # Two asterisks begin a comment.
        elif cards and line.strip() and not line.startswith("**"):
            cards[-1][2].append(line)
    return cards


def _numbers(line: str) -> list[float]:
    return _floats(part for part in line.upper().replace("D", "E").split(",") if part.strip())


def _members(rows: list[str], generate: bool, sets: dict[str, list[int]]) -> Iterator[int]:
    for row in rows:
        parts = []
        for part in row.split(","):
            if part.strip():
                parts.append(part.strip().upper())
        if generate and len(parts) >= 2 and all(part.isdigit() for part in parts):
            # `first, last, step` stands for a range of nodes.
            first, last, *step = map(int, parts)
            yield from range(first, last + 1, *(step[:1] or [1]))
            continue
        for part in parts:
            yield from [int(part)] if part.isdigit() else sets.get(part, [])


def _supported_nodes(rows: list[str], sets: dict[str, list[int]]) -> Iterator[tuple[int, int]]:
    for row in rows:
        names, *directions = (part.strip().upper() for part in row.split(","))
        nodes = [int(names)] if names.isdigit() else sets.get(names, [])
        numbers = [int(part) for part in directions[:2] if part.isdigit()] or [1, 0]
        # `ENCASTRE` and `PINNED` are Abaqus's names for ranges of directions.
        first, last = _NAMED.get("".join(directions[:1]), (numbers[0], numbers[-1]))
        yield from ((node, direction) for node in nodes for direction in range(first, last + 1))


@dataclass(frozen=True)
class Results:
    """Numbers from the result files of a solve.

    Attributes:
        displacement: the largest length of a displacement vector, in the model's unit; None if none
            is listed.
        stress: the largest von Mises stress in the last listed table; None if none is listed.
        epsilon: largest relative residual of a linear solution, None if none is printed.
        bad: the first line with a value that is not a number.
    """

    displacement: float | None = None
    stress: float | None = None
    epsilon: float | None = None
    bad: str | None = None


def read_dat(lines: Iterable[str]) -> Results:
    """Read the tables of a CalculiX `.dat` file; lines before the first table are ignored."""
    moved: list[float] = []
    stressed: list[float] = []
    bad, table = None, ""
    for line in lines:
        if table and _NOT_A_NUMBER.search(line):
            bad = bad or line.strip()
        if "for set" in line or "for all" in line or _SPACED.search(line):
            table = line.split()[0]
            # Each increment prints a table: the last one is the result.
            stressed = [] if table == "stresses" else stressed
        elif table == "displacements" and (numbers := _floats(line.split()[1:4])):
            moved.append(math.hypot(*numbers))
        elif table == "stresses" and len(numbers := _floats(line.split()[2:])) == _STRESSES:
            stressed.append(mises(*numbers))
    return Results(max(moved, default=None), max(stressed, default=None), bad=bad)


def mises(sxx: float, syy: float, szz: float, sxy: float, sxz: float, syz: float) -> float:
    """Return the von Mises stress of a stress tensor, in its unit."""
    shear = sxy**2 + sxz**2 + syz**2
    return math.sqrt(
        max(0.0, ((sxx - syy) ** 2 + (syy - szz) ** 2 + (szz - sxx) ** 2) / 2 + 3 * shear)
    )


def read_f06(lines: Iterable[str]) -> Results:
    """Read static displacements and residuals; eigenvectors have no scale and are left out."""
    moved: list[float] = []
    residuals: list[float] = []
    bad, inside = None, False
    for line in lines:
        if results := _EPSILON.search(line):
            residuals += map(abs, _floats([results[1]]))
        elif "D I S P L A C E M E N T" in line:
            inside = "C O M P L E X" not in line
        # A `1` in the first column is a new page, whose title says what follows.
        elif (line.startswith("1") and not line[1:2].isspace()) or _TITLE.search(line):
            inside = False
        elif (
            inside
            and len(row := line.split()) == 8
            and row[0].isdigit()
            and (row[1] == "G" or row[1].isdigit())
        ):
            # POINT TYPE T1 T2 T3 R1 R2 R3
            if any(_NOT_A_NUMBER.fullmatch(part) for part in row[2:]):
                bad = bad or line.strip()
            elif translation := _floats(row[2:5]):
                moved.append(math.hypot(*translation))
    return Results(max(moved, default=None), epsilon=max(residuals, default=None), bad=bad)


def _floats(parts: Iterable[str]) -> list[float]:
    try:
        return [float(part) for part in parts]
    except ValueError:
        return []


def read_text(path: Path, limit: int = 8_000_000) -> str:
    """Return the text of an output file: at most `limit` bytes, half from its beginning and half
    from its end; "" for a file that cannot be read, such as half a compressed file.
    """
    try:
        return TextFile(path).ends(limit)
    except InputError:
        return ""


def extract(extractor: Extractor, folder: Path) -> float | None:
    """Return the number of an extractor, None if its file or the number is missing."""
    path = folder / extractor.file
    if not path.is_file():
        return None
    if extractor.json_pointer is not None:
        return _pointed(path, extractor.json_pointer)
    if extractor.regex is not None:
        return _matched(read_text(path), extractor.regex)
    if extractor.calculix is not None:
        try:
            value = read_dat(TextFile(path, limit=STREAMED_BYTES).lines(_LONGEST_ROW))
        except InputError:  # half a compressed file
            return None
        return value.stress if extractor.calculix == "mises" else value.displacement
    return _nastran(path, extractor.nastran or "")


def _pointed(path: Path, pointer: str) -> float | None:
    try:
        value = json.loads(read_text(path))
        for part in pointer.strip("/").split("/"):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return float(value)
    # A half-written file and a missing key are one thing: there is no output.
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _matched(text: str, pattern: str) -> float | None:
    """Return the number in the first group of the last match, else in the whole match; nan if it
    is not one.
    """
    # An iteration prints its value many times; the last one is the result.
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        return None
    try:
        return float(
            (matches[-1].group(1) if matches[-1].re.groups else matches[-1].group())
            .upper()
            .replace("D", "E")
        )
    except ValueError:
        return math.nan


def _nastran(path: Path, quantity: str) -> float | None:
    try:
        import numpy  # noqa: PLC0415  slow
        from pyNastran.op2.op2 import OP2  # type: ignore[import-untyped]  # noqa: PLC0415  slow
    except ImportError as error:
        raise InputError("reading OP2 needs pyNastran", hint=install_hint("nastran")) from error
    model = OP2(debug=None)
    try:
        model.read_op2(str(path), build_dataframe=False)
    # The reader fails in many ways on a file that is cut off.
    except Exception as error:  # noqa: BLE001
        del error
        return None
    if quantity == "frequency":
        # Computed from eigenvalues, since MYSTRAN writes radians into the cycles.
        lowest = min((float(min(item.eigns)) for item in model.eigenvectors.values()), default=None)
        return None if lowest is None else math.sqrt(max(0.0, lowest)) / math.tau
    if quantity == "displacement":
        values = []
        for item in model.displacements.values():
            values.append(numpy.linalg.norm(item.data[..., :3], axis=-1))
    elif quantity == "mass":
        values = [item.mass for item in model.grid_point_weight.values()]
    else:
        tables = []
        for name in model.op2_results.stress.get_table_types():
            tables.append(model.get_result(name).values())
        heads = []
        for table in tables:
            for item in table:
                heads.append((item, list(item.get_headers())))
        values = []
        for item, names in heads:
            if "von_mises" in names:
                values.append(item.data[..., names.index("von_mises")])
    return max((float(numpy.nanmax(item)) for item in values), default=None)
