"""XML files of test and coverage tools, and paths to their elements and attributes."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from transom.errors import InputError


def read_xml(text: str, where: str) -> Element:
    """Return the root element.

    Raises:
        InputError: the text is not XML, with the line; or it declares entities.
    """
    if "<!ENTITY" in text:
        raise InputError(
            "declares XML entities", where=where, hint="write the report without entities"
        )
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        line, _ = error.position
        what = f"is not XML: {str(error).partition(':')[0]}"
        raise InputError(what, where=f"{where}:{line}", hint="write the report again") from error


def tag_of(element: Element) -> str:
    """Return the tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def child_path(path: str, parent: Element, child: Element) -> str:
    """Return the path of a child, counted among those with its tag: `/testsuites/testsuite[2]`."""
    same = [one for one in parent if tag_of(one) == tag_of(child)]
    return f"{path}/{tag_of(child)}[{next(n for n, one in enumerate(same, 1) if one is child)}]"


def value_at(root: Element, path: str) -> str | None:
    """Return an attribute's value (`/coverage/@line-rate`), or an element's attributes and text;
    None if missing.
    """
    steps = [step for step in path.split("/") if step]
    if not steps or steps[0].partition("[")[0] != tag_of(root):
        return None
    element = root
    for step in steps[1:]:
        if step.startswith("@"):
            return element.get(step[1:])
        name, _, number = step.rstrip("]").partition("[")
        same = [one for one in element if tag_of(one) == name]
        place = int(number or 1) - 1 if (number or "1").isdigit() else -1
        if not 0 <= place < len(same):
            return None
        element = same[place]
    attributes = " ".join(f'{name}="{value}"' for name, value in element.attrib.items())
    return f"{tag_of(element)} {attributes} {(element.text or '').strip()}".strip()
