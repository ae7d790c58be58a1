"""Functions that work, and return something else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from transom.formats.declared_values import declared_names, with_other_values
from transom.formats.source_functions import (
    BodyKind,
    changed_functions,
    files_beside,
    with_bodies,
)

MARK = "zebra"
PYTHON = """
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Visitor:
    name: str
    badge: int = 0

    def __post_init__(self):
        if self.badge < 0:
            raise ValueError(self.badge)


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __add__(self, other):
        return Money(self.cents + other.cents)

    def __eq__(self, other):
        return True

    def __len__(self):
        return self.cents


def count(stop):
    yield from range(stop)


@contextmanager
def opened(log):
    log.append("open")
    yield log
    log.append("close")


def table(value):
    return {"rows": [value, "x"], "none": None}


def is_large(value):
    return outer(value) > 1


def outer(value):
    return value


def refuse(value):
    raise ValueError(value)


def add(log, value):
    log.append(value)
"""


def changed(path: str, text: str, kind: BodyKind) -> dict[str, str]:
    body = with_bodies(path, text, changed_functions(path, None, text), kind, MARK)
    assert body is not None
    return {path: body, **files_beside(path, text, kind, MARK)}


def module(kind: BodyKind) -> Any:
    loaded = types.ModuleType("changed_module")
    # Data classes look for their module.
    sys.modules[loaded.__name__] = loaded
    code = compile(changed("m.py", PYTHON, kind)["m.py"], "m.py", "exec", dont_inherit=True)
    exec(code, loaded.__dict__)
    return loaded


def test_values_inside_become_others_and_the_shape_stays() -> None:
    made = module("inner")
    assert made.table(2) == {"rows": [-13, MARK], "none": None}
    assert list(made.count(2)) == [-7, -10]


def test_objects_of_the_changed_code_hold_other_values() -> None:
    made = module("inner")
    total = made.Money(3) + made.Money(4)
    assert total.cents == -28
    # A method of the product that compares stays as it is.
    assert total == made.Money(7)
    assert vars(made.Visitor("Ann")) == {"name": MARK, "badge": -7}


def test_an_object_that_cannot_be_made_is_refused_as_before() -> None:
    made = module("inert")
    assert not made.Visitor("Ann")
    with pytest.raises(ValueError, match="-1"):
        made.Visitor("Ann", -1)


def test_only_the_outermost_call_is_changed() -> None:
    assert module("inner").is_large(2) is True
    assert module("inner").is_large(0) is False


def test_truth_values_have_kinds_of_their_own() -> None:
    assert module("turned").is_large(2) is False
    assert module("turned").table(2) == {"rows": [2, "x"], "none": None}


def test_each_call_gives_another_value() -> None:
    made = module("varying")
    assert made.outer(2) != made.outer(2)
    assert made.Visitor("Ann") != made.Visitor("Ann")


@pytest.mark.parametrize("kind", ["inner", "lower", "higher", "inert", "varying"])
def test_a_context_manager_still_works(kind: BodyKind) -> None:
    log: list[str] = []
    with module(kind).opened(log):
        assert log == ["open"]
    assert log == ["open", "close"]


def test_errors_become_others_or_none() -> None:
    with pytest.raises(Exception, match=MARK) as error:
        module("other-error").refuse(1)
    assert not isinstance(error.value, ValueError)
    assert not module("no-error").refuse(1)
    with pytest.raises(ValueError, match="1"):
        module("inner").refuse(1)


def test_what_a_function_does_is_done_with_other_arguments() -> None:
    log: list[int] = []
    module("arguments").add(log, 2)
    # The list is another one, too.
    assert log == []
    with pytest.raises(BaseException, match=MARK):
        module("no-arguments").add(log, 2)


def test_a_file_whose_functions_all_return_has_no_other_arguments() -> None:
    text = "def f(a):\n    return a\n"
    assert (
        with_bodies("a.py", text, changed_functions("a.py", None, text), "arguments", "z") is None
    )


JAVASCRIPT = """
export class Box {
  constructor(size) { this.size = size; }
  plus(other) { return new Box(this.size + other.size); }
  equals(other) { return other instanceof Box; }
}
export function* count(stop) { for (let i = 0; i < stop; i++) yield i; }
export const rows = (value) => ({ rows: [value, "x"] });
export async function wait(value) { return value; }
export function add(log, value) { log.push(value); }
"""
JAVASCRIPT_CALLS = """
import * as m from "./m.js";
const log = [];
try { m.add(log, 5); } catch (error) { log.push(error.message); }
const box = new m.Box(2).plus(new m.Box(3));
console.log(JSON.stringify([
  box, box.equals(box), [...m.count(2)], m.rows(2), await m.wait(1), log,
]));
"""
JAVASCRIPT_RESULTS: dict[BodyKind, list[Any]] = {
    "inner": [{"size": -22}, True, [-7, -10], {"rows": [-13, MARK]}, -10, [5]],
    "shape": [{"size": 5}, True, [0, 1, MARK], {"rows": [2, "x"], MARK: MARK}, 1, [5]],
    "turned": [{"size": 5}, False, [0, 1], {"rows": [2, "x"]}, 1, [5]],
    "arguments": [{"size": 5}, True, [0, 1], {"rows": [2, "x"]}, 1, []],
    "no-arguments": [{"size": 5}, True, [0, 1], {"rows": [2, "x"]}, 1, [5, MARK]],
}


def results_of(folder: Path, files: dict[str, str], command: list[str]) -> str:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("kind", [*JAVASCRIPT_RESULTS])
def test_functions_of_javascript(tmp_path: Path, kind: BodyKind) -> None:
    files = {"package.json": '{"type": "module"}', "calls.js": JAVASCRIPT_CALLS}
    files |= changed("m.js", JAVASCRIPT, kind)
    printed = results_of(tmp_path, files, ["node", "calls.js"])
    assert json.loads(printed) == JAVASCRIPT_RESULTS[kind]


GO = """package main

import (
	"errors"
	"io"
	"os"
)

type Depth struct {
	Metres int
	name   string
}

func (d Depth) Add(other Depth) Depth { return Depth{d.Metres + other.Metres, "a"} }

func Names(text string) (names []string, err error) {
	names = append(names, text)
	return
}

func Parse(text string) (int, error) {
	if text == "" {
		return 0, errors.New("none")
	}
	return 9, nil
}

func IsDeep(metres int) bool { return metres > 3 }

type Namer interface{ Name() string }

func (d *Depth) Name() string { return "d" }

func Lookup() Namer { return &Depth{1, "d"} }

func Value() interface{} { return map[string]interface{}{"a": 2} }

func Writer() io.Writer { return os.Stdout }
"""
GO_CALLS = """package main

import (
	"fmt"
	"os"
)

func main() {
	names, _ := Names("b")
	number, failure := Parse("")
	fmt.Println(Depth{2, ""}.Add(Depth{3, ""}), names, number, failure, IsDeep(4), Lookup(), Value(), Writer() == os.Stdout)
}
"""
# A package may have names of libraries of its own.
GO_NAMES = "package main\n\nvar math, reflect, strings, atomic, unsafe = 1, 2, 3, 4, 5\n"
GO_RESULTS: dict[BodyKind, str] = {
    "inner": "{-22 zebra} [zebra] -7 none true &{-10 zebra} map[a:-13] true\n",
    "shape": "{5 a} [b ] 0 none true &{1 d} map[a:2] true\n",
    "higher": "{13 azebra} [b zebra] 3 none true &{5 dzebra} map[a:7] true\n",
    "inert": "{0 } [] 0 none true <nil> <nil> true\n",
    "turned": "{5 a} [b] 0 none false &{1 d} map[a:2] true\n",
    "other-error": "{5 a} [b] 0 zebra true &{1 d} map[a:2] true\n",
    "no-error": "{5 a} [b] 0 <nil> true &{1 d} map[a:2] true\n",
    # The text `b` became another one.
    "arguments": "{5 a} [zebra] 9 <nil> true &{1 d} map[a:2] true\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*GO_RESULTS])
def test_functions_of_go(tmp_path: Path, kind: BodyKind) -> None:
    files = {"go.mod": "module x\n\ngo 1.19\n", "main.go": GO_CALLS, "names.go": GO_NAMES}
    files |= changed("m.go", GO, kind)
    assert results_of(tmp_path, files, ["go", "run", "."]) == GO_RESULTS[kind]


RUST = """
#[derive(Debug, Clone)]
pub struct Grist { pub kilos: u32, names: Vec<String> }
#[derive(Debug)]
pub enum Grade { Fine, Coarse }
#[derive(Debug)]
pub struct Pair(pub f64, Box<dyn std::any::Any>);
pub fn mix(one: Grist, _two: Grist) -> Grist { one }
pub fn parse(text: &str) -> Result<i32, Box<dyn std::error::Error>> { let number: i32 = text.parse()?; Ok(number) }
pub fn loads(stop: u32) -> impl Iterator<Item = u32> { 0..stop }
pub fn grade() -> Grade { if true { return Grade::Coarse; } Grade::Fine }
pub fn is_fine() -> bool { true }
pub fn first<'a>(rows: &'a [&'a str]) -> Option<&'a str> { rows.first().copied() }
pub fn faculty(number: u64) -> u64 { if number < 2 { 1 } else { number * faculty(number - 1) } }
pub const fn fixed() -> u8 { 7 }
pub fn any<T: Clone>(value: T) -> Vec<T> { vec![value] }
pub mod inner {
    pub mod deep { pub fn pair(number: i8) -> (i8, bool) { (number, true) } }
}
impl Grist {
    pub fn new(kilos: u32) -> Self { Self { kilos, names: vec!["a".to_string()] } }
    pub fn names_mut(&mut self) -> &mut Vec<String> { &mut self.names }
    pub fn into_pair(self) -> Pair { Pair(self.kilos as f64, Box::new(1)) }
}
"""
RUST_CALLS = """
mod m;
use m::*;
fn main() {
    let mut grist = Grist::new(1);
    grist.names_mut().push("b".to_string());
    println!("{:?} {} {:?} {:?}", mix(grist, Grist::new(2)), parse("7").unwrap(),
        loads(2).collect::<Vec<_>>(), grade());
    println!("{} {:?} {} {:?} {:?} {}", is_fine(), first(&["x"]), faculty(3), any("q").len(),
        inner::deep::pair(4), Grist::new(3).into_pair().0);
    assert!(parse("x").is_err() && fixed() > 0);
}
"""
RUST_RESULTS: dict[BodyKind, str] = {
    "near": (
        'Grist { kilos: 3, names: ["azebrazebra", "bzebra"] } 8 [71] Fine\n'
        'true Some("xzebra") 7 1 (5, true) 5\n'
    ),
    "lower": (
        'Grist { kilos: 5, names: ["zebra0"] } -28 [71] Fine\n'
        'true Some("zebra0") 4 1 (-19, true) -34\n'
    ),
    "higher": (
        'Grist { kilos: 13, names: ["a", "azebra", "b", "bzebra"] } 17 [93, 93] Fine\n'
        'true Some("xzebra") 15 1 (11, true) 21\n'
    ),
    "shape": (
        'Grist { kilos: 1, names: ["a", "a", "b", "b"] } 7 [0, 1] Coarse\n'
        'true Some("x") 6 1 (4, true) 3\n'
    ),
    "turned": (
        'Grist { kilos: 1, names: ["a", "b"] } 7 [0, 1] Coarse\nfalse Some("x") 6 1 (4, false) 3\n'
    ),
    "above": (
        'Grist { kilos: 1, names: ["a", "b"] } 8 [0, 1] Coarse\ntrue Some("x") 7 1 (4, true) 3\n'
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*RUST_RESULTS])
def test_functions_of_rust(tmp_path: Path, kind: BodyKind) -> None:
    files = {"main.rs": RUST_CALLS, **changed("m.rs", RUST, kind)}
    command = ["rustc", "--cap-lints=allow", "main.rs", "-o", "program"]
    results_of(tmp_path, files, command)
    assert results_of(tmp_path, {}, [str(tmp_path / "program")]) == RUST_RESULTS[kind]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("inert", "faculty(3)"),
        ("inert", 'first(&["x"])'),
        ("no-truth", "is_fine()"),
        ("no-number", 'parse("7")'),
    ],
)
def test_a_useless_result_of_rust_ends_the_test(tmp_path: Path, kind: BodyKind, call: str) -> None:
    program = f"""
        mod m;
        use m::*;
        fn main() {{
            if std::env::args().len() > 1 {{ let _ = {call}; }}
            let _ = (inner::deep::pair as fn(i8) -> (i8, bool), Grist::names_mut as fn(_) -> _);
        }}
    """
    files = {"main.rs": program, **changed("m.rs", RUST, kind)}
    results_of(tmp_path, files, ["rustc", "--cap-lints=allow", "main.rs", "-o", "program"])
    assert results_of(tmp_path, {}, [str(tmp_path / "program")]) == ""
    result = subprocess.run(
        [tmp_path / "program", "x"], capture_output=True, text=True, check=False
    )
    assert MARK in result.stderr


@pytest.mark.parametrize(
    ("path", "old", "new", "lower"),
    [
        ("a.py", None, 'LIMIT = 8\nNAMES = {"a": "b"}\n', "LIMIT = 4\nNAMES = {'a': 'zebra'}\n"),
        (
            "a.py",
            None,
            "class A(Enum):\n    X = 9\n\n    def f(self):\n        return 9\n",
            "class A(Enum):\n    X = 4\n\n    def f(self):\n        return 9\n",
        ),
        (
            "a.js",
            None,
            'import a from "b";\nconst rate = 19;\n',
            'import a from "b";\nconst rate = 9;\n',
        ),
        ("a.toml", "x = 3\n", 'x = 3\ny = "b"\n', 'x = 3\ny = "zebra"\n'),
        ("a.yaml", None, "opening: late\n", "opening: zebra\n"),
        ("a.sql", None, "ALTER TABLE visitor ADD COLUMN email;\n", ""),
    ],
)
def test_declared_values_become_others(path: str, old: str | None, new: str, lower: str) -> None:
    assert with_other_values(path, old, new, "lower", MARK) == lower


def test_a_file_of_functions_alone_declares_no_values() -> None:
    assert with_other_values("a.py", None, "def f():\n    return 3\n", "lower", MARK) is None


def test_unit_tests_of_rust_declare_no_values() -> None:
    text = "pub fn f() -> u32 {\n    3\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {\n"
    text += "        assert_eq!(super::f(), 3);\n    }\n}\n"
    assert with_other_values("a.rs", None, text, "lower", MARK) is None


@pytest.mark.parametrize(
    ("path", "line", "names"),
    [
        ("a.py", "LIMIT: int = 30", {"LIMIT"}),
        ("a.py", 'NAMES = {"a": 1}', {"NAMES"}),
        ("a.py", "log = getLogger(__name__)", set()),
        ("a.js", "export const rate = 19;", {"rate"}),
        ("a.go", 'var ErrHot = errors.New("hot")', set()),
        ("a.rs", "pub const RATE: u32 = 7;", {"RATE"}),
    ],
)
def test_names_of_declared_literals(path: str, line: str, names: set[str]) -> None:
    assert declared_names(path, None, f"{line}\n") == names
