"""Files as they are: variables, compression, encodings, references; and what makes a check an
ERROR.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from tests.checklist.judging.support import (
    DESIGN,
    LOG,
    NETLIST,
    SPEF,
    checker,
    ids,
    own_warnings,
    run,
    write_files,
)
from tests.formats.reading import whole_text
from transom.canonical import pretty_json
from transom.checklist.atoms import Source
from transom.checklist.judging import Roots, classify, load_checker
from transom.checklist.results import BuildRecord, MutationRow
from transom.errors import InputError
from transom.runs import Workspace


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no such file"),
        ({"sta.log": ""}, "is empty"),
        ({"sta.log": " \n\t\n"}, "is empty"),
        ({"sta.log.gz": gzip.compress(LOG.encode() * 99)[:40]}, "cut short"),
        ({"sta.log": b"\x1f\x8b but no gzip"}, "cut short or damaged"),
        ({"sta.log/.inner": "x"}, "is a folder"),
        (
            {**DESIGN, "top.spef": None, "top.spef.gz": gzip.compress(SPEF.encode())[:-9]},
            "cut short",
        ),
    ],
    ids=["missing", "empty", "blank", "truncated gz", "no gzip", "a folder", "truncated reference"],
)
def test_what_cannot_be_read_is_an_error_and_never_a_pass(
    tmp_path: Path, files: dict[str, str | bytes | None], message: str
) -> None:
    there = {name: content for name, content in files.items() if content is not None}
    item = "waivers: {value: 0, waive_items: [all]}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, there, item=item)
    assert (verdict.status, verdict.exit_code) == ("ERROR", 2)
    assert verdict.errors[0].source_file is not None
    assert message in verdict.errors[0].message
    assert (verdict.found_items, verdict.missing_items, verdict.waived) == ((), (), ())


def test_all_unreadable_files_are_named_at_once(tmp_path: Path) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, {"b.log": ""}, inputs=["a.log", "b.log"])
    assert [one.source_file for one in verdict.errors] == ["a.log", "b.log"]


def test_no_input_files_is_an_error(tmp_path: Path) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, {}, inputs=[])
    assert verdict.status == "ERROR"
    assert "nothing to read" in verdict.errors[0].message


def test_compressed_files_are_read_even_if_named_without_gz(tmp_path: Path) -> None:
    files = {f"{name}.gz": gzip.compress(text.encode()) for name, text in DESIGN.items()}
    verdict = run(checker(tmp_path, "versions"), tmp_path, files)
    assert verdict.status == "PASS"
    assert [one.path for one in verdict.inputs] == ["sta.log.gz", "top.v.gz", "top.spef.gz"]
    assert {one.answered_by for one in verdict.sources} == {"primary", "secondary"}


def test_inputs_are_named_with_digest_size_and_lines(tmp_path: Path) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, DESIGN)
    first = verdict.inputs[0]
    assert (first.path, first.bytes, first.lines) == ("sta.log", len(LOG), 4)
    assert first.sha256 == hashlib.sha256(LOG.encode()).hexdigest()


def test_windows_line_ends_and_form_feeds_keep_line_numbers(tmp_path: Path) -> None:
    log = "page one\r\n\x0cTimer\x85\r\nread_verilog top.v\r\nread_spef top.spef\r\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, {**DESIGN, "sta.log": log})
    assert verdict.status == "PASS"
    assert [one.line_number for one in verdict.found_items if one.source_file == "sta.log"] == [
        3,
        4,
    ]
    write_files(tmp_path, {"x": "a\x0cb\u2028c\rd\r\ne"})
    text, facts = whole_text(tmp_path / "x")
    assert text.splitlines() == text.split("\n") == ["a b c d", "e"]
    assert facts.lines == 2


def test_latin_1_is_read_with_a_warning_and_true_lines(tmp_path: Path) -> None:
    log = b"temp 25\xb0C\n" + LOG.encode()
    verdict = run(checker(tmp_path, "versions"), tmp_path, {**DESIGN, "sta.log": log})
    assert verdict.status == "PASS"
    assert "byte 0xb0 in line 1); read as Latin-1" in verdict.warnings[0].message
    assert verdict.found_items[0].line_number == 3


def test_utf_16_and_byte_order_marks(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        **DESIGN,
        "sta.log": LOG.encode("utf-16"),
        "top.v": b"\xef\xbb\xbf" + NETLIST.encode(),
    }
    assert run(checker(tmp_path, "versions"), tmp_path, files).status == "PASS"
    write_files(tmp_path, {"odd": b"\xff\xfea"})
    note = "read as UTF-16, with damaged characters (line 1)"
    assert whole_text(tmp_path / "odd")[1].note == note


def test_a_text_that_swells_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"bomb.gz": gzip.compress(b"0" * 5_000_000), "big": b"0" * 5_000})
    for name in ("bomb.gz", "big"):
        with pytest.raises(InputError, match="holds more than"):
            whole_text(tmp_path / name, limit=4_000 if name == "big" else 1 << 20)


def test_an_undefined_variable_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        run(checker(tmp_path, "versions"), tmp_path, DESIGN, inputs=["${NOWHERE}/sta.log"])
    assert "${NOWHERE}" in str(caught.value)
    assert "--var NOWHERE=PATH" in str(caught.value)
    assert str(caught.value.place).endswith("ITEM-1.yaml:3")


def test_a_given_variable_wins_over_the_default(tmp_path: Path) -> None:
    usual = Roots.with_defaults({}, Path("/search"), Path("/base"))
    assert usual.expand("${CHECKLIST_ROOT}/a", "") == Path("/search/a")
    assert usual.expand("${LOG_ROOT}/a", "") == Path("/search/logs/a")
    given = Roots.with_defaults({"LOG_ROOT": Path("/mine")}, Path("/search"), Path("/base"))
    assert given.expand("${LOG_ROOT}/a", "") == Path("/mine/a")
    assert given.expand("a", "") == Path("/base/a")
    with pytest.raises(InputError, match="null character"):
        given.expand("a\0b", "")


def test_files_are_shown_relative_to_the_root_that_was_given(tmp_path: Path) -> None:
    root = tmp_path / "data"
    write_files(root, {f"run/{name}": text for name, text in DESIGN.items()})
    (tmp_path / "link").symlink_to(root)
    for var in (root, tmp_path / "link"):
        verdict = run(
            checker(tmp_path, "versions"),
            tmp_path,
            {},
            inputs=["${D}/run/sta.log"],
            roots={"D": var},
        )
        assert [one.path for one in verdict.inputs] == ["run/sta.log", "run/top.v", "run/top.spef"]
        assert verdict.status == "PASS"


def test_two_roots_with_the_same_names_beneath_stay_apart(tmp_path: Path) -> None:
    write_files(tmp_path / "a", DESIGN)
    write_files(tmp_path / "b", {**DESIGN, "top.v": "module top;\n"})
    roots = {"A": tmp_path / "a", "B": tmp_path / "b"}
    verdict = run(
        checker(tmp_path, "versions"),
        tmp_path,
        {},
        inputs=["${A}/sta.log", "${B}/sta.log"],
        roots=roots,
    )
    names = [one.path for one in verdict.inputs]
    assert len(names) == len(set(names)) == 6
    assert verdict.status == "FAIL"
    assert [(one.id, one.source_file) for one in verdict.missing_items] == [("2.2", "${B}/top.v")]
    (tmp_path / "b/top.v").unlink()
    verdict = run(
        checker(tmp_path, "versions"),
        tmp_path,
        {},
        inputs=["${B}/sta.log"],
        roots={"B": tmp_path / "b"},
    )
    assert [(one.id, one.value) for one in verdict.missing_items] == [("2.2", "top.v")]


def test_a_file_that_is_gone_is_not_mistaken_for_another_of_its_name(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {f"a/{name}": text for name, text in DESIGN.items()}
        | {"b/sta.log": "read_verilog a/top.v\n"},
    )
    verdict = run(checker(tmp_path, "versions"), tmp_path, {}, inputs=["a/sta.log", "b/sta.log"])
    assert [(one.id, one.value) for one in verdict.missing_items] == [
        ("2.2", "a/top.v (of b/sta.log)")
    ]


@pytest.mark.parametrize("where", ["beside", "root", "gz under the root"])
def test_a_reference_is_looked_for_beside_the_log_then_under_the_roots_then_compressed(
    tmp_path: Path, where: str
) -> None:
    write_files(
        tmp_path, {"logs/sta.log": LOG.replace("top.spef", "ext/top.spef"), "logs/top.v": NETLIST}
    )
    if where == "beside":
        write_files(tmp_path, {"logs/ext/top.spef": SPEF})
    elif where == "root":
        write_files(tmp_path, {"root/ext/top.spef": SPEF})
    else:
        write_files(tmp_path, {"root/ext/top.spef.gz": gzip.compress(SPEF.encode())})
    (tmp_path / "root").mkdir(exist_ok=True)
    loaded = checker(tmp_path, "versions")
    verdict = run(loaded, tmp_path, {}, inputs=["logs/sta.log"], roots={"R": tmp_path / "root"})
    assert verdict.status == "PASS"


def test_a_file_that_the_log_loaded_but_that_is_gone_is_loaded_and_not_available(
    tmp_path: Path,
) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, {"sta.log": LOG, "top.v": NETLIST})
    assert verdict.status == "FAIL"
    spef = next(one for one in verdict.found_items if one.id == "2.3")
    assert spef.parsed_fields["spef"] == {"loaded": True, "available": False}
    (missing,) = verdict.missing_items
    assert (missing.id, missing.value, missing.source_file, missing.line_number) == (
        "2.4",
        "top.spef",
        "sta.log",
        3,
    )
    assert "cannot be found" in missing.reason
    assert [(w.source_file, w.line_number) for w in own_warnings(verdict)] == [("sta.log", 3)]


def test_a_failed_read_command_is_not_loaded_whatever_is_on_disk(tmp_path: Path) -> None:
    log = "read_verilog top.v\nread_spef top.spef\nError: cannot read file\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, {**DESIGN, "sta.log": log})
    (missing,) = verdict.missing_items
    assert (missing.id, missing.line_number, missing.reason) == (
        "2.3",
        2,
        "spef.loaded is false, not true",
    )


def test_the_last_word_of_a_log_counts_and_a_second_log_must_agree(tmp_path: Path) -> None:
    failed = "read_spef top.spef\nError: no\n"
    loaded = checker(tmp_path, "versions")
    again = {**DESIGN, "sta.log": failed + LOG}
    verdict = run(loaded, tmp_path, again)
    # The file is loaded in the end, and the error of the first attempt is a person's to accept.
    assert (verdict.status, verdict.would_be) == ("NEEDS_REVIEW", "PASS")
    assert {(one.rule, one.line_number) for one in verdict.capped_by} == {("trouble", 2)}
    both = {**DESIGN, "two.log": failed}
    verdict = run(loaded, tmp_path, both, inputs=["sta.log", "two.log"])
    assert [(one.id, one.source_file) for one in verdict.missing_items] == [("2.3", "two.log")]


def test_nothing_in_the_log_and_no_file_is_not_loaded(tmp_path: Path) -> None:
    verdict = run(
        checker(tmp_path, "versions"),
        tmp_path,
        {"sta.log": "read_verilog top.v\n", "top.v": NETLIST},
    )
    loading, version = verdict.missing_items
    assert loading.parsed_fields == {"spef": {"loaded": False}}
    assert version.parsed_fields == {"spef": {"program": None, "version": None, "date": None}}
    assert (loading.source_file, loading.line_number) == ("sta.log", None)


def test_where_log_and_header_disagree_the_header_counts_and_both_are_named(tmp_path: Path) -> None:
    files = {**DESIGN, "sta.log": LOG + "netlist top.v version 3.9\n"}
    verdict = run(checker(tmp_path, "versions"), tmp_path, files)
    assert verdict.status == "PASS"
    version = next(one for one in verdict.found_items if one.id == "2.2")
    assert (version.source_file, version.line_number) == ("top.v", 1)
    (warned,) = own_warnings(verdict)
    assert "sta.log:5 says" in warned.message
    assert "top.v:1 says" in warned.message


def test_the_topmost_of_several_headers_counts(tmp_path: Path) -> None:
    files = {**DESIGN, "top.v": NETLIST + "// made by Older 1.0 on 2001-01-01\n"}
    item = "requirements: {value: 2, pattern_items: ['Weaver', 'Extractor']}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, item=item)
    assert verdict.status == "PASS"


def test_an_empty_referenced_file_is_missing_contents(tmp_path: Path) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, {**DESIGN, "top.spef": "\n"})
    (missing,) = verdict.missing_items
    assert (missing.id, missing.reason) == ("2.4", "top.spef is empty")


def test_a_reference_out_of_the_folders_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.spef"
    secret.write_text(SPEF)
    log = f"read_verilog top.v\nread_spef ../secret.spef\nread_spef {secret}\nread_spef link.spef\n"
    folder = tmp_path / "in"
    write_files(folder, {"sta.log": log, "top.v": NETLIST})
    (folder / "link.spef").symlink_to(secret)
    verdict = run(checker(tmp_path, "versions"), folder, {})
    assert [one.path for one in verdict.inputs] == ["sta.log", "top.v"]
    assert [one.id for one in verdict.missing_items] == ["2.4"] * 3
    assert all("outside" in warned.message for warned in own_warnings(verdict))


@pytest.mark.parametrize("written", ["../design/", "{folder}/design/", "../logs/../"])
def test_the_items_own_folder_holds_files_that_a_log_may_name(tmp_path: Path, written: str) -> None:
    """A log below the item's folder names files beside its own folder, as tools write them."""
    place = written.format(folder=tmp_path)
    log = LOG.replace("top.v", f"{place}top.v").replace("top.spef", f"{place}top.spef")
    design = "" if written == "../logs/../" else "design/"
    files = {"logs/sta.log": log, f"{design}top.v": NETLIST, f"{design}top.spef": SPEF}
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, inputs=["logs/sta.log"])
    assert (verdict.status, len(verdict.inputs)) == ("PASS", 3)


def test_each_root_may_hold_files_that_a_log_names(tmp_path: Path) -> None:
    item_folder = tmp_path / "project"
    write_files(tmp_path, {"netlists/top.v": NETLIST, "parasitics/top.spef": SPEF})
    loaded = checker(tmp_path, "versions")
    verdict = run(loaded, item_folder, {"sta.log": LOG}, others=(tmp_path / "netlists",))
    assert (verdict.status, ids(verdict.missing_items)) == ("FAIL", ["2.4"])
    both = (tmp_path / "netlists", tmp_path / "parasitics")
    assert run(loaded, item_folder, {}, others=both).status == "PASS"


@pytest.mark.parametrize("path", ["${NOWHERE}/x.spef", "n" * 300 + ".spef", ".", "loop.spef"])
def test_strange_references_are_findings_not_crashes(tmp_path: Path, path: str) -> None:
    (tmp_path / "loop.spef").symlink_to("loop.spef")
    log = f"read_verilog top.v\nread_spef {path}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, {"sta.log": log, "top.v": NETLIST})
    assert verdict.status == "FAIL"
    assert ids(verdict.missing_items) == ["2.4"]


def test_a_circle_of_references_ends(tmp_path: Path) -> None:
    verdict = run(
        checker(tmp_path, "versions"),
        tmp_path,
        {**DESIGN, "top.v": NETLIST + "read_verilog top.v\nread_spef sta.log\n"},
    )
    assert verdict.status in ("PASS", "FAIL")
    assert [one.path for one in verdict.inputs] == ["sta.log", "top.v", "top.spef"]


def test_a_chain_of_references_without_end_is_an_error(tmp_path: Path) -> None:
    files = {f"n{index}.v": f"{NETLIST}read_verilog n{index + 1}.v\n" for index in range(9)}
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, inputs=["n0.v"])
    assert verdict.status == "ERROR"
    assert "references deep" in verdict.errors[0].message


def test_without_a_log_the_files_speak_for_themselves(tmp_path: Path) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, DESIGN, inputs=["top.v", "top.spef"])
    assert ids(verdict.found_items) == ["2.2", "2.4"]
    assert ids(verdict.missing_items) == ["2.1", "2.3"]


def test_kinds_by_name() -> None:
    sources = [
        Source(kind="netlist", rank="secondary", files=("*.v", "*.vg")),
        Source(kind="log", rank="primary", files=("sta*", "exact.txt")),
    ]
    assert classify("a/b/top.v.gz", sources) == ("netlist", "secondary")
    assert classify("sta_top.v", sources) == ("log", "primary")
    assert classify("exact.txt", sources) == ("log", "primary")
    assert classify("x.def", sources) == (None, "fallback")


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("checker.yaml", None, "no such file"),
        ("atoms.py", None, "no such file"),
        ("checker.yaml", b"schema: transom.checker/1\n", "field required"),
        ("checker.yaml", b"a: [", "not valid YAML"),
        ("atoms.py", b"\xff", "not UTF-8"),
        ("build.json", b"{", "no record of a build"),
        ("build.json", b"[]", "no record of a build"),
        ("item.yaml", b"description: 5\n", "not a text"),
    ],
)
def test_a_damaged_checker_folder_is_one_clear_error(
    tmp_path: Path, name: str, content: bytes | None, part: str
) -> None:
    folder = checker(tmp_path, "versions").folder
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_checker(folder)
    assert part in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("hints: [made by]", "hints: ['regex:[']", 19, "'regex:[' is invalid"),
        ("hints: [made by]", "hint: [made by]", 19, "did you mean hints?"),
        ("op: equals, value: true", "op: matches, value: '('", 9, "missing )"),
        ("op: equals, value: true", "op: matches", 9, "needs a regular expression"),
        ("op: equals, value: true", "op: in, value: 1", 9, "needs a list"),
        ("op: equals, value: true", "op: lt, value: x", 9, "needs a number"),
        ("op: equals, value: true", "op: about, value: x", 9, "input should be"),
        ("items:", "requirements: {value: 1, pattern_items: ['regex:(']}\nitems:", 5, "invalid"),
        (
            "items:",
            "waivers: {value: 1, waive_items: [{pattern: ' '}]}\nitems:",
            5,
            "waive everything",
        ),
    ],
)
def test_a_wrong_checker_yaml_is_an_error_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, part: str
) -> None:
    with pytest.raises(InputError) as caught:
        checker(tmp_path, "versions", changes={old: new})
    assert part in str(caught.value)
    assert str(caught.value.place).endswith(f"checker.yaml:{line}")


def test_the_checkers_own_copy_of_the_item_is_used_without_another(tmp_path: Path) -> None:
    folder = checker(tmp_path, "versions").folder
    (folder / "item.yaml").write_text("description: x\ninput_files: [a.log]\n")
    record = BuildRecord.of((), "", "", "L3", "VER-1", "rules", None)
    tried = MutationRow(killed=4, applicable=5)
    (folder / "build.json").write_text(pretty_json(record.model_copy(update={"mutation": tried})))
    again = load_checker(folder)
    assert again.item is not None
    assert again.item.item_id == "VER-1"
    verdict = run(again, tmp_path, DESIGN)
    made = verdict.made_by
    assert (made.provider, made.model, made.mutation_score, made.approved_by) == (
        "rules",
        None,
        0.8,
        None,
    )
    assert made.checker_sha256 == again.sha256
    with pytest.raises(InputError, match="no checker folder"):
        load_checker(tmp_path / "nowhere")


def test_a_glob_a_folder_and_the_home_name_all_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        "a[1]/x.rpt",
        "a[1]/y.rpt.gz",
        "a[1]/x.rpt.gz",
        "a[1]/.hidden.rpt",
        "a[1]/deep/z.rpt",
        "a[1]/s.log",
        "q*.rpt",
    )
    write_files(tmp_path, dict.fromkeys(names, "text\n"))
    (tmp_path / "a[1]" / "lost.rpt").symlink_to("nowhere")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    roots = Roots({"TOP": tmp_path / "a[1]"}, base=tmp_path)

    def named(written: str) -> list[str]:
        return [
            path.relative_to(tmp_path).as_posix()
            for _, path in roots.spread(written, "item.yaml:3")
        ]

    # A link to nothing is not left out: reading it is an error.
    listed = ["a[1]/lost.rpt", "a[1]/x.rpt", "a[1]/y.rpt.gz"]
    assert named("a[1]/*.rpt") == named("${TOP}/*.rpt") == named("~/a[1]/?*.rpt") == listed
    assert named("**/*.rpt") == sorted([*listed, "a[1]/deep/z.rpt", "q*.rpt"])
    assert named("a[1]") == [
        "a[1]/deep/z.rpt",
        "a[1]/lost.rpt",
        "a[1]/s.log",
        "a[1]/x.rpt",
        "a[1]/y.rpt.gz",
    ]
    assert named("q*.rpt") == ["q*.rpt"], "a file of that very name"
    assert (named("empty"), named("none/*.rpt")) == (["empty"], ["none/*.rpt"]), (
        "errors when they are read"
    )
    with pytest.raises(InputError, match=r"item.yaml:3: the variable \$\{X\} is not defined"):
        roots.spread("${X}/*", "item.yaml:3")


IN_OTHER_FOLDERS = {
    # What an item in `items` names with --root one --root two: the files that are meant.
    "hold.rpt": ["items/hold.rpt"],
    "setup.rpt": ["one/setup.rpt"],
    "power.rpt": ["two/power.rpt.gz"],
    "rep/*.rpt": ["two/rep/a.rpt", "two/rep/b.rpt"],
    "rep": ["two/rep/a.rpt", "two/rep/b.rpt"],
    "lost.rpt": ["items/lost.rpt"],
    "none.rpt": ["items/none.rpt"],
    "${TOP}/setup.rpt": ["top/setup.rpt"],
}


@pytest.mark.parametrize("written", IN_OTHER_FOLDERS)
def test_a_file_that_the_items_folder_lacks_is_found_in_the_other_folders(
    tmp_path: Path, written: str
) -> None:
    names = [
        *("items/hold.rpt", "one/hold.rpt", "one/setup.rpt", "two/setup.rpt", "two/lost.rpt"),
        *("two/power.rpt.gz", "two/rep/a.rpt", "two/rep/b.rpt"),
    ]
    write_files(tmp_path, dict.fromkeys(names, "text\n"))
    (tmp_path / "items" / "lost.rpt").symlink_to("nowhere")
    folders = (tmp_path / "one", tmp_path / "two")
    roots = Roots({"TOP": tmp_path / "top"}, base=tmp_path / "items", other_roots=folders)
    found = [path for _, path in roots.spread(written, "item.yaml:3")]
    assert [path.relative_to(tmp_path).as_posix() for path in found] == IN_OTHER_FOLDERS[written]


@pytest.mark.parametrize("workspace", ["ws", ".transom", "results"])
def test_a_workspace_below_the_items_folder_is_no_input(tmp_path: Path, workspace: str) -> None:
    """Neither by a glob or folder, nor because a log names a file in it."""
    Workspace.at(tmp_path / workspace).database.touch()
    draft = f"{workspace}/runs/A/top.spef"
    write_files(
        tmp_path, {"sta.log": LOG.replace("top.spef", draft), "top.v": NETLIST, draft: SPEF}
    )
    roots = Roots({"TOP": tmp_path}, base=tmp_path)
    for written in ("**/*.spef", "${TOP}/**/*.spef", f"{workspace[:2]}*/**/*.spef"):
        ((name, _),) = roots.spread(written, "item.yaml:3")
        assert name == written, "no file fits"
    read = [path.name for _, path in roots.spread(".", "item.yaml:3") if path.is_file()]
    assert read == ["sta.log", "top.v"]
    named = [path for _, path in roots.spread(f"{workspace}/runs/A/*.spef", "item.yaml:3")]
    assert named == [tmp_path / draft], "a person who names the folder means it"
    verdict = run(checker(tmp_path, "versions"), tmp_path, {})
    assert (verdict.status, ids(verdict.missing_items)) == ("FAIL", ["2.4"])
    (warning,) = own_warnings(verdict)
    assert "it lies in a workspace of Transom" in warning.message


def test_every_file_of_a_glob_is_judged(tmp_path: Path) -> None:
    """One good file never hides a bad one, nor does one that cannot be read."""
    write_files(
        tmp_path, {"in/a.spef": SPEF, "in/b.spef": SPEF.replace('*DATE "2026-01-16"\\n', "")}
    )
    verdict = run(checker(tmp_path, "versions"), tmp_path, {}, inputs=["in/*.spef"])
    assert {one.path for one in verdict.inputs} == {"in/a.spef", "in/b.spef"}
    (tmp_path / "in" / "c.spef").symlink_to("nowhere")
    assert run(checker(tmp_path, "versions"), tmp_path, {}, inputs=["in/*.spef"]).status == "ERROR"
