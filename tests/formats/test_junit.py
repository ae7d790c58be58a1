from __future__ import annotations

import pytest

from transom.errors import InputError
from transom.formats.junit import read_junit

REPORT = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" tests="6" failures="1" errors="1" skipped="2">
<testcase classname="t.a" name="ok" time="0.25"/>
<testcase classname="t.a" name="bad"><failure message="1 != 2">trace</failure></testcase>
<testcase classname="t.a" name="broken"><error message="no fixture"/></testcase>
<testcase classname="t.a" name="off"><skipped type="pytest.skip" message="later"/></testcase>
<testcase classname="t.a" name="known"><skipped type="pytest.xfail" message="bug"/></testcase>
<testsuite name="inner"><testcase name="alone"/></testsuite>
</testsuite></testsuites>"""


def test_each_case_has_its_status_and_message_and_an_expected_failure_is_a_skip() -> None:
    found = {case.name: (case.status, case.message) for case in read_junit(REPORT).cases}
    assert found == {
        "alone": ("passed", ""),
        "t.a.ok": ("passed", ""),
        "t.a.bad": ("failed", "1 != 2"),
        "t.a.broken": ("error", "no fixture"),
        "t.a.off": ("skipped", "later"),
        "t.a.known": ("skipped", "bug"),
    }
    assert len(read_junit(b'<testsuite><testcase name="a"/></testsuite>').cases) == 1


@pytest.mark.parametrize(
    "text", ["", "<testsuite><testcase", '<!DOCTYPE a [<!ENTITY b "c">]><testsuite/>']
)
def test_what_is_no_report_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(InputError) as error:
        read_junit(text, "r.xml")
    assert str(error.value).startswith("r.xml")
