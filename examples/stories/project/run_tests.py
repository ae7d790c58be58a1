"""Runs the tests and writes a JUnit report: python run_tests.py REPORT.xml"""

import sys
import unittest
from xml.sax.saxutils import quoteattr


class Listing(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.rows = []

    def row(self, test, inner=""):
        kind, _, name = test.id().rpartition(".")
        self.rows.append(
            f"<testcase classname={quoteattr(kind)} name={quoteattr(name)}>{inner}</testcase>"
        )

    def addSuccess(self, test):
        self.row(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.row(test, f"<failure message={quoteattr(str(err[1]))}/>")

    def addError(self, test, err):
        super().addError(test, err)
        self.row(test, f"<error message={quoteattr(repr(err[1]))}/>")

    def addSkip(self, test, reason):
        self.row(test, f"<skipped message={quoteattr(reason)}/>")


result = Listing()
unittest.defaultTestLoader.discover("tests", top_level_dir=".").run(result)
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as report:
        report.write(f"<testsuite>{''.join(result.rows)}</testsuite>")
print(f"{result.testsRun} tests, {len(result.failures) + len(result.errors)} failed")
sys.exit(not result.wasSuccessful())
