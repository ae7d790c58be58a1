"""XML files of test and coverage tools, and paths to their elements and attributes."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from transom.errors import InputError


def read_xml(text: str, place: str) -> Element:
    """Return the root element.

    Raises:
        InputError: the text is not XML, with the line; or it declares entities.
    """
    if "<!ENTITY" in text:
        raise InputError(
            "declares XML entities", place=place, hint="write the report without entities"
        )
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        line, _ = error.position
        problem = f"is not XML: {str(error).partition(':')[0]}"
        raise InputError(problem, place=f"{place}:{line}", hint="write the report again") from error


def tag_of(element: Element) -> str:
    """Return the tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def child_path(path: str, parent: Element, child: Element) -> str:
    """Return the path of a child, counted among those with its tag: `/testsuites/testsuite[2]`."""
    tag = tag_of(child)
    siblings = [element for element in parent if tag_of(element) == tag]
    for number, sibling in enumerate(siblings, 1):
        # Equal elements may stand several times, so identity counts.
        if sibling is child:
            return f"{path}/{tag}[{number}]"
    raise ValueError("the element is no child of the parent")


def value_at(root: Element, path: str) -> str | None:
    """Return an attribute's value (`/coverage/@line-rate`), or the attributes and texts of an
    element and of its children, since a failed test case has its message in a child; None if it is
    missing.
    """
    steps = [step for step in path.split("/") if step]
    if not steps or steps[0].partition("[")[0] != tag_of(root):
        return None
    element = root
    for step in steps[1:]:
        if step.startswith("@"):
            return element.get(step[1:])
        name, _, number = step.rstrip("]").partition("[")
        siblings = [sibling for sibling in element if tag_of(sibling) == name]
        place = int(number or 1) - 1 if (number or "1").isdigit() else -1
        if not 0 <= place < len(siblings):
            return None
        element = siblings[place]
    return " ".join(_element_text(part) for part in (element, *element))


def _element_text(element: Element) -> str:
    attributes = " ".join(f'{name}="{value}"' for name, value in element.attrib.items())
    return f"{tag_of(element)} {attributes} {(element.text or '').strip()}".strip()
