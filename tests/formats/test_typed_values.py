"""Values of the result types of Go and Rust."""

from __future__ import annotations

import pytest

from transom.formats.typed_values import go_return, rust_return


@pytest.mark.parametrize(
    ("head", "zero", "other"),
    [
        ("func Area(width, height int) int ", "return 0;", "return 77;"),
        ("func (s *Shelf) Names(prefix string) ([]string, bool) ", "return nil, false;",
         "return make([]string, 3), true;"),
        ("func (s Shelf) Reset() ", "return;", "return;"),
        ("func Read(from func(int) (int, error)) (count int, name string) ", 'return 0, "";',
         'return 77, "w";'),
        ("func Both() (a, b float64) ", "return 0, 0;", "return 77, 77;"),
        ("func Keys[K comparable](of map[K]int) []K ", "return nil;", "return make([]K, 3);"),
        ("func(x int) *Shelf ", "return nil;", "return new(Shelf);"),
        # Only the package of the type can make a value of it.
        ("func Now() time.Time ", "", ""),
        ("func Find(key string) (Shelf, error) ", "", ""),
        ("func Next() <-chan int ", "", ""),
        ("func broken(", "", ""),
    ],
)  # fmt: skip
def test_results_of_go(head: str, zero: str, other: str) -> None:
    assert go_return(head, "w", is_other=False) == zero
    assert go_return(head, "w", is_other=True) == other


def test_an_error_of_go_needs_no_import() -> None:
    statement = go_return("func Open(path string) error ", "w", is_other=True)
    assert statement.startswith("return func() (failure error)")
    assert go_return("func Open(path string) error ", "w", is_other=False) == "return nil;"


@pytest.mark.parametrize(
    ("head", "zero", "other"),
    [
        ("fn area(width: u32) -> u64 ", "return 0;", "return 77;"),
        ("fn names<'a>(of: &'a [i64]) -> Vec<Option<String>> ", "return Vec::new();",
         'return vec![Some(String::from("w"))];'),
        ("fn read(from: fn(i32) -> i32) -> Result<f64, std::io::Error> ", "return Ok(0.0);",
         "return Ok(77.0);"),
        ("fn reset(&mut self) ", "return;", "return;"),
        ("fn title(&self) -> &'static str where Self: Sized ", 'return "";', 'return "w";'),
        ("fn shelf() -> Shelf ", "", ""),
        ("fn walk() -> impl Iterator<Item = u8> ", "", ""),
        ("fn broken", "", ""),
    ],
)  # fmt: skip
def test_results_of_rust(head: str, zero: str, other: str) -> None:
    assert rust_return(head, "w", is_other=False) == zero
    assert rust_return(head, "w", is_other=True) == other
