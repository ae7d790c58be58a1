"""Reading an item: what is meant is read with a warning, what could change a verdict is an error
with file:line.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from transom.checklist.atoms import AnyOf, Waiver
from transom.checklist.item import AcceptEntry, Item, load_item, parse_item
from transom.errors import InputError

HEAD = "description: Confirm the clocks.\n"
FILES = 'input_files: ["a.log"]\n'


def write(folder: Path, text: str | bytes, name: str = "CHK-1.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def item(text: str, *, strict: bool = False) -> Item:
    return parse_item(text, Path("CHK-1.yaml"), strict=strict)


def test_a_whole_item_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEAD
        + "requirements:\n  value: 2\n  pattern_items: ['2025', 'regex:^a.c$']\nwaivers:\n  value:"
        " 2\n  waive_items: ['x*', {pattern: y, reason: eco, owner: ann, expires: 2026-01-31}]\n "
        " waive_reasons: [first, ignored]\ninput_files:\n- ${LOG_ROOT}/a.log\n- b.log\n",
    )
    read = load_item(path)
    assert read.item_id == "CHK-1"
    assert read.requirements is not None
    assert read.requirements.pattern_items == ("2025", "regex:^a.c$")
    assert read.waivers is not None
    assert read.waivers.waive_items == (
        Waiver(pattern="x*", reason="first"),
        Waiver(pattern="y", reason="eco", owner="ann", expires="2026-01-31"),
    )
    assert [(name.written, name.line) for name in read.input_files] == [
        ("${LOG_ROOT}/a.log", 10),
        ("b.log", 11),
    ]
    assert read.warnings == ()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{by: Ann, until: 2027-01-31}", "accept has no reason"),
        ("{reason: r, until: 2027-01-31}", "accept has no by"),
        ("{by: Ann, reason: r}", "accept has no until"),
        ("{by: ' ', reason: r, until: 2027-01-31}", "a by is empty"),
        ("{by: Ann, reason: '', until: 2027-01-31}", "a reason is empty"),
        ("{by: Ann, reason: r, until: }", "a until is empty"),
        ("{by: Ann, reason: r, until: soon}", "'soon' is not a date"),
        ("{by: Ann, reason: r, untill: 2027-01-31}", "unknown key untill; did you mean until?"),
        ("[{by: Ann, reason: r, until: 2027-01-31}]", "unknown key reason"),
        ("yes", "accept is not a mapping"),
        ("", "accept is not a mapping"),
    ],
)
def test_nothing_is_accepted_without_a_person_a_reason_and_a_day(written: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_item(f"{HEAD}accept: {written}\n", Path("I.yaml"))
    assert said in str(caught.value)
    assert str(caught.value).startswith("I.yaml:")


def test_an_acceptance_is_read_with_its_line() -> None:
    text = f"{HEAD}{FILES}accept:\n  by: Ann Lee\n  reason: the tool comes in March\n  until: 2027-03-31\n"
    item = parse_item(text, Path("I.yaml"), strict=True)
    line = text.splitlines().index("accept:") + 1
    assert item.accept == AcceptEntry("Ann Lee", "the tool comes in March", "2027-03-31", line)
    assert item.meaning == parse_item(HEAD, Path("I.yaml")).meaning, "no checker is built anew"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a/NET-01.yaml", HEAD, "NET-01"),
        ("TIM-02/item.yaml", HEAD, "TIM-02"),
        ("TIM-03/item.yaml", "item_id: OWN-9\n" + HEAD, "OWN-9"),
        ("b/with space.yaml", HEAD, "with-space"),
        ("Prüfung é.yaml", HEAD, "Prufung-e"),
    ],
    ids=[
        "stem",
        "folder of a file called item",
        "its own id first",
        "made safe for file names",
        "without accents",
    ],
)
def test_the_item_id(tmp_path: Path, name: str, text: str, expected: str) -> None:
    read = load_item(write(tmp_path, text, name))
    assert read.item_id == expected
    assert read.has_own_id == (expected == "OWN-9")


# name, content, line (None: the file as a whole), part of the message
BAD: list[tuple[str, str | bytes, int | None, str]] = [
    ("empty file", "", None, "is empty"),
    ("only comments", "# nothing\n", None, "is empty"),
    ("a list", "- a\n- b\n", 1, "is a list, not an item"),
    ("a scalar", "hello\n", 1, "is a single value"),
    ("broken YAML", HEAD + "requirements: [a\n", 2, "not valid YAML"),
    ("unclosed quote", HEAD + "input_files: ['a.log]\n", 2, "close the quotation mark"),
    (
        "colon in the text",
        "description: Confirm: the clocks\n",
        1,
        'put a text with ": " in quotes',
    ),
    ("tab", HEAD + "requirements:\n\tvalue: 1\n", 3, "indent with spaces"),
    ("two documents", HEAD + "---\n" + HEAD, 2, "a file has one document"),
    ("Latin-1", HEAD.encode() + b"input_files: ['a\xe9.log']\n", 2, "is not UTF-8 (byte 0xe9)"),
    ("UTF-16", HEAD.encode("utf-16"), 1, "is not UTF-8"),
    ("control character", HEAD + "input_files: ['a\x01']\n", 2, "control character"),
    (
        "alias as a pattern",
        HEAD + "requirements:\n  value: 1\n  pattern_items: [*SPEF*]\n",
        4,
        '"*SPEF*"',
    ),
    ("anchor twice", "description: &a x\ninput_files: [&a b, *a]\n", 2, "defined twice"),
    ("duplicate key", HEAD + "description: again\n", 2, "is already in line 1"),
    ("unknown key", HEAD + "requirments: {value: N/A}\n", 2, "did you mean requirements?"),
    ("unknown key far from all", HEAD + "zzz: 1\n", 2, "the keys here are"),
    (
        "unknown nested key",
        HEAD + "waivers:\n  value: 0\n  waive_item: []\n",
        4,
        "did you mean waive_items?",
    ),
    ("key is null", HEAD + "~: 1\n", 2, "a key is empty"),
    ("tag", HEAD + "input_files: !!python/object/apply:os.system [x]\n", 2, "is not supported"),
    ("no description", FILES, 1, "there is no description"),
    ("description null", "description:\n" + FILES, 1, "there is no description"),
    ("description blank", "description: '  '\n", 1, "the description is empty"),
    ("description is an integer", "description: 2025\n", 1, 'description: "2025"'),
    ("description is a list", "description: [a]\n", 1, "not a text"),
    ("item id with a slash", "item_id: a/b\n" + HEAD, 1, "is not a name"),
    ("requirements is a list", HEAD + "requirements: [a]\n", 2, "not a mapping"),
    (
        "value zero",
        HEAD + "requirements:\n  value: 0\n  pattern_items: []\n",
        3,
        "requirements.value is 0",
    ),
    (
        "value zero beside patterns",
        HEAD + "requirements: {value: 0, pattern_items: [a]}\n",
        2,
        "value is 0",
    ),
    ("value negative", HEAD + "requirements: {value: -1, pattern_items: [a]}\n", 2, "value is -1"),
    (
        "value without patterns",
        HEAD + "requirements:\n  value: 2\n  pattern_items: []\n",
        3,
        "is empty",
    ),
    (
        "value a fraction",
        HEAD + "requirements: {value: 1.5, pattern_items: [a]}\n",
        2,
        "a whole number",
    ),
    ("value true", HEAD + "requirements: {value: true, pattern_items: [a]}\n", 2, "a whole number"),
    (
        "value a list",
        HEAD + "requirements: {value: [1], pattern_items: [a]}\n",
        2,
        "a whole number",
    ),
    (
        "N/A beside patterns",
        HEAD + "requirements:\n  value: N/A\n  pattern_items: [a]\n",
        4,
        "has 1",
    ),
    (
        "no value beside patterns",
        HEAD + "requirements:\n  pattern_items: [a]\n",
        3,
        "N/A or missing",
    ),
    ("pattern empty", HEAD + "requirements: {value: 1, pattern_items: ['']}\n", 2, "is empty"),
    ("pattern null", HEAD + "requirements:\n  value: 1\n  pattern_items:\n  -\n", 5, "is empty"),
    (
        "pattern only bars",
        HEAD + "requirements: {value: 1, pattern_items: [' | ']}\n",
        2,
        "contained in everything",
    ),
    (
        "pattern a mapping",
        HEAD + "requirements:\n  value: 1\n  pattern_items:\n  - regex: ^a\n",
        5,
        "'regex:^a'",
    ),
    (
        "pattern two keys",
        HEAD + "requirements: {value: 1, pattern_items: [{a: 1, b: 2}]}\n",
        2,
        "a pattern is a mapping",
    ),
    (
        "pattern a list",
        HEAD + "requirements: {value: 1, pattern_items: [[a]]}\n",
        2,
        "a pattern is a list",
    ),
    ("patterns a text", HEAD + "requirements: {value: 1, pattern_items: a}\n", 2, "is not a list"),
    (
        "pattern regex",
        HEAD + "requirements:\n  value: 1\n  pattern_items:\n  - 'regex:['\n",
        5,
        "'regex:[' is invalid",
    ),
    (
        "any_of empty",
        HEAD + "requirements: {value: 1, pattern_items: [{any_of: []}]}\n",
        2,
        "any_of is empty",
    ),
    (
        "any_of regex",
        HEAD + "requirements: {value: 1, pattern_items: [{any_of: ['regex:(']}]}\n",
        2,
        "invalid",
    ),
    (
        "waivers negative",
        HEAD + "waivers: {value: -2, waive_items: [a]}\n",
        2,
        "waivers.value is -2",
    ),
    ("waivers without items", HEAD + "waivers: {value: 1, waive_items: []}\n", 2, "is empty"),
    ("N/A beside waivers", HEAD + "waivers: {value: N/A, waive_items: [a]}\n", 2, "has 1"),
    ("waiver blank", HEAD + "waivers: {value: 1, waive_items: ['  ']}\n", 2, "is empty"),
    (
        "waiver only bars",
        HEAD + "waivers: {value: 1, waive_items: ['||']}\n",
        2,
        "would waive everything",
    ),
    ("waiver regex", HEAD + "waivers: {value: 1, waive_items: ['regex:(a|b']}\n", 2, "is invalid"),
    (
        "waiver any_of",
        HEAD + "waivers: {value: 1, waive_items: [{any_of: [a]}]}\n",
        2,
        "is a mapping",
    ),
    (
        "waiver no pattern",
        HEAD + "waivers: {value: 1, waive_items: [{pattern: , reason: a}]}\n",
        2,
        "no pattern",
    ),
    (
        "waiver date",
        HEAD + "waivers: {value: 1, waive_items: [{pattern: a, expires: soon}]}\n",
        2,
        "not a date",
    ),
    (
        "waiver key",
        HEAD + "waivers: {value: 1, waive_items: [{pattern: a, until: x}]}\n",
        2,
        "unknown key until",
    ),
    ("input a mapping", HEAD + "input_files:\n- a: b\n", 3, "is a mapping"),
]


@pytest.mark.parametrize(
    ("text", "line", "part"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_input_is_one_error_with_its_line(
    tmp_path: Path, text: str | bytes, line: int | None, part: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_item(path)
    assert caught.value.place == (f"{path}:{line}" if line else str(path))
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_billion_laughs_and_endless_nesting_end_quickly(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    for text in ("\n".join(rows), "a: &a [*a]\n", "[" * 500_000, "- " * 3000):
        with pytest.raises(InputError, match=r"alias|nested"):
            load_item(write(tmp_path, text))


def test_what_is_no_readable_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        load_item(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_item(tmp_path / "nowhere.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match="not a regular file"):
        load_item(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        load_item(tmp_path / ("x" * 300))
    with pytest.raises(InputError, match="the limit is"):
        load_item(write(tmp_path, "#" * (4 * 1024 * 1024 + 1)))


# name, content, line and part of the warning
WARNED: list[tuple[str, str, int, str]] = [
    ("no input files", HEAD, 1, "input_files is empty"),
    ("N/A spelt otherwise", HEAD + FILES + "requirements: {value: n/a}\n", 3, "write `value: N/A`"),
    ("value null", HEAD + FILES + "requirements:\n  value:\n", 4, "write `value: N/A`"),
    ("section null", HEAD + FILES + "waivers:\n", 3, "waivers: {value: N/A, waive_items: []}"),
    ("list N/A", HEAD + FILES + "waivers: {value: N/A, waive_items: N/A}\n", 3, "waive_items: []"),
    (
        "quoted number",
        HEAD + FILES + 'requirements: {value: "1", pattern_items: [a]}\n',
        3,
        "without quotes",
    ),
    (
        "count differs",
        HEAD + FILES + "requirements: {value: 3, pattern_items: [a]}\n",
        3,
        "the list counts",
    ),
    (
        "bare number",
        HEAD + FILES + "requirements:\n  value: 1\n  pattern_items:\n  - 2025\n",
        6,
        'quotes: "2025"',
    ),
    (
        "reasons short",
        HEAD + FILES + "waivers: {value: 1, waive_items: [a], waive_reasons: [x, y]}\n",
        3,
        "2 waive",
    ),
    (
        "split regex",
        HEAD + FILES + "requirements: {value: 1, pattern_items: ['regex:^(M|O)$']}\n",
        3,
        "write any_of: [",
    ),
]


@pytest.mark.parametrize(
    ("text", "line", "part"), [row[1:] for row in WARNED], ids=[row[0] for row in WARNED]
)
def test_slips_are_read_as_meant_with_a_warning_and_are_errors_when_strict(
    text: str, line: int, part: str
) -> None:
    (notice,) = item(text).warnings
    assert notice.line == line
    assert part in notice.message
    with pytest.raises(InputError) as caught:
        item(text, strict=True)
    assert part in str(caught.value)
    assert caught.value.place == f"CHK-1.yaml:{line}"


def test_a_bare_number_keeps_the_digits_that_were_written() -> None:
    read = item(
        HEAD + FILES + "requirements: {value: 3, pattern_items: [010, 20.10, 2025-01-02]}\n"
    )
    assert read.requirements is not None
    assert read.requirements.pattern_items == ("010", "20.10", "2025-01-02")


def test_the_list_is_authoritative_over_the_count() -> None:
    read = item(HEAD + FILES + "waivers: {value: 5, waive_items: [a, b]}\n")
    assert read.waivers is not None
    assert read.waivers.value == 2


def test_a_missing_section_is_told_apart_from_not_applicable() -> None:
    assert item(HEAD + FILES).waivers is None
    read = item(HEAD + FILES + "waivers: {value: N/A, waive_items: []}\n")
    assert read.waivers is not None
    assert read.waivers.value is None


def test_alternatives_as_a_list_keep_their_meaning() -> None:
    read = item(
        HEAD
        + FILES
        + "requirements: {value: 1, pattern_items: [{any_of: ['regex:^MET$', 'regex:^OK$']}]}\n"
    )
    assert read.requirements is not None
    assert read.requirements.pattern_items == (AnyOf(any_of=("regex:^MET$", "regex:^OK$")),)


def test_under_a_global_waiver_items_are_comments_not_patterns() -> None:
    read = item(
        HEAD
        + FILES
        + "waivers: {value: 0, waive_items: ['regex:[ is fine here'], waive_reasons: [a, why]}\n"
    )
    assert read.waivers is not None
    assert read.waivers.value == 0
    assert [(w.pattern, w.reason) for w in read.waivers.waive_items] == [
        ("regex:[ is fine here", "a"),
        ("why", None),
    ]


@pytest.mark.parametrize(
    "text", ["description: x\r\ninput_files:\r\n- a.log\r\n", "\ufeffdescription: x\n" + FILES]
)
def test_windows_line_ends_and_byte_order_marks(tmp_path: Path, text: str) -> None:
    assert load_item(write(tmp_path, text)).input_files[0].written == "a.log"


def test_a_file_that_is_no_yaml_by_its_name_is_called_no_item(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# Items\n\n- `VER-01`: the netlist\n\t%x\n")
    with pytest.raises(InputError, match=r"README\.md: is not an item: items are YAML files"):
        load_item(path)
    path.rename(tmp_path / "item.yaml")
    with pytest.raises(InputError, match="not valid YAML"):
        load_item(tmp_path / "item.yaml")
