"""Reading a tagged reply: complete pairs only, the last one that says something."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from transom.errors import ReplyError
from transom.formats.tags import read_fences, read_tag

BODY = st.text(alphabet="ab`~<>/ \n#-*é", max_size=60)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<a>one</a>", "one"),
        ("Sure.\n<a>\none\n</a>\nDone.", "one"),
        ("<a>first</a> <a>second</a>", "second"),
        ("<a>draft</a>\nBetter:\n<a>final</a>\n<a></a>", "final"),
        ("<a></a> is what I fill:\n<a>real</a>", "real"),
        ("<a>out <a>in</a> side</a>", "out <a>in</a> side"),
        ("<a>before <b>x</b> after</a>", "before <b>x</b> after"),
        ("<a>say `</a>` to end</a>", "say `</a>` to end"),
        ("<a>say `<a>` to begin</a>", "say `<a>` to begin"),
        ("<a>\n```xml\n</a>\n```\nrest\n</a>", "```xml\n</a>\n```\nrest"),
        ("I answer in `<a>`:\n\n<a>\nx\n</a>", "x"),
        ("I answer between <a> tags now.\n<a>\nx\n</a>", "x"),
        ("```xml\n<a>\nx\n</a>\n```", "x"),
        ("```xml\n<a>\n```python\ny\n```\n</a>\n```", "```python\ny\n```"),
        ("<a>\n```python\nnever closed\n</a>", "```python\nnever closed"),
        ("<a>\r\none\r\ntwo\r\n</a>\r\n", "one\ntwo"),
        ("<A class='x'>one</A >", "one"),
        (
            "<a>\n```markdown\n## 1. T\n\n```python\n{}\n```\n```\n</a>",
            "## 1. T\n\n```python\n{}\n```",
        ),
        ("</a> first, then <a>x</a>", "x"),
    ],
)
def test_text_between_the_tags(reply: str, text: str) -> None:
    assert read_tag(reply, "a").text == text


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("no tags at all", "has no <a>"),
        ("", "has no <a>"),
        ("<b>x</b> <ab>y</ab>", "has no <a>"),
        ("<a>cut off", "<a> without </a>"),
        ("<a>x</a>\nOnce more, complete:\n<a>\ncut", "<a> without </a>"),
        ("<a>x</a>\nOnce more: <a>new text that is cut", "<a> without </a>"),
        ("Here: <a>text of <a>x</a> and then cut", "<a> without </a>"),
        ("<a>text `<a></a>` cut", "<a> without </a>"),
        ("<a>text\n```\n<a>x</a>\n```\ncut", "<a> without </a>"),
        ("<a></a>", "nothing between"),
        ("<a> \n </a><a></a>", "nothing between"),
        ("x</a>", "</a> without <a>"),
    ],
)
def test_a_reply_that_cannot_be_read_names_the_tag(reply: str, why: str) -> None:
    with pytest.raises(ReplyError) as error:
        read_tag(reply, "a")
    assert why in str(error.value)
    assert error.value.hint


def test_what_was_odd_is_a_warning() -> None:
    assert read_tag("<a>x</a>", "a").warnings == ()
    assert "2 <a> pairs" in read_tag("<a>x</a><a>y</a>", "a").warnings[0]
    assert "mentions" in read_tag("I use <a> tags.\n<a>\nx\n</a>", "a").warnings[0]
    assert "fence" in read_tag("<a>\n```md\nx\n```\n</a>", "a").warnings[0]


def test_without_any_tag_the_caller_decides() -> None:
    taken = read_tag("\n## 1. T\n", "a", accept=lambda text: text.startswith("## 1."))
    assert taken.text == "## 1. T"
    assert "no <a>" in taken.warnings[0]
    with pytest.raises(ReplyError, match="has no <a>"):
        read_tag("Sorry, I cannot.", "a", accept=lambda text: text.startswith("## 1."))
    with pytest.raises(ReplyError, match="without </a>"):
        read_tag("<a>## 1. T", "a", accept=lambda text: True)


@given(before=BODY, body=BODY, after=BODY)
def test_one_pair_is_found_whatever_stands_around_it(before: str, body: str, after: str) -> None:
    assume(body.strip())
    text = f"{before}\n<tag>\n{body}\n</tag>\n{after}"
    assert read_tag(text, "tag").text == body.strip()


@given(before=BODY, body=BODY, keep=st.integers(min_value=0))
def test_a_truncated_reply_is_never_accepted(before: str, body: str, keep: int) -> None:
    assume(body.strip())
    head = f"{before}\n<tag>\n"
    whole = f"{body}\n</tag"
    with pytest.raises(ReplyError):
        read_tag(head + whole[: keep % (len(whole) + 1)], "tag")


@given(
    echoes=st.lists(st.sampled_from(["<tag></tag>", "<tag>\n</tag>", "`<tag>`"]), max_size=4),
    body=BODY,
)
def test_echoed_empty_pairs_do_not_count(echoes: list[str], body: str) -> None:
    # a fence that is left open hides what follows
    assume(body.strip() and "`" not in body and "~~~" not in body)
    text = "\n\n".join([*echoes, f"<tag>\n{body}\n</tag>", *echoes])
    assert read_tag(text, "tag").text == body.strip()


def test_fences_of_every_kind() -> None:
    text = (
        "x\r\n```yml\r\na: 1\r\n```\r\n- item\n  ```py\n  z = 1\n  ```\n\n"
        "    ```Python title\n    y = 1\n    ```\n~~~\nn\n~~~\n```json\n{}"
    )
    assert [(fence.lang, fence.text, fence.line) for fence in read_fences(text)] == [
        ("yaml", "a: 1\n", 3),
        ("python", "z = 1\n", 7),
        ("python", "y = 1\n", 11),
        ("", "n\n", 14),
        ("json", "{}", 17),
    ]
    assert [fence.line for fence in read_fences(text, "python", "")] == [7, 11, 14]


def test_text_without_a_fence_has_none() -> None:
    assert read_fences("just `code` and\n\n    an indented block\n") == []
