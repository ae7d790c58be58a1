"""`--tests`: requirements and waivers in every combination, expected by the ItemSpec, tried on
its examples.
"""

from __future__ import annotations

from tests.checklist.building.atoms_for_tests import (
    ATOM_A,
    EXAMPLES,
    POINTS,
    REPORT,
    SECTION1,
    SECTION2,
)
from transom.checklist.building.checker import atoms_source
from transom.checklist.building.mutation.gate import Mutation, mutate
from transom.checklist.building.prober import Prober, RealFile
from transom.checklist.building.reading import read_logic
from transom.checklist.writing.document import assemble, parse_spec
from transom.sandbox import Sandbox

PATTERNED = SECTION2.replace("1 (Boolean check)", "3 (Value check with waivers)").replace(
    "existence check", "pattern match"
)
WAIVER = """**Waiver support**: yes

### 3.1 Block of a vendor (Item 2.1)

- **Matching keywords**: "vendor", "layout"
- **Stage words**: "layout"
"""
CHECKER = """capability_type: 3
items:
- {id: "2.1", name: Block power is reported, check: pattern, select: block.power, required: [block.power],
   quantifier: each, keywords: [vendor, layout], stages: [layout]}
"""


async def tested(checker: str = CHECKER, examples: str = EXAMPLES) -> Mutation:
    sections = {
        "1": SECTION1,
        "2": PATTERNED,
        "3": WAIVER,
        "4": f"## 4. Guide\n\n{POINTS}{examples}",
    }
    spec = parse_spec(assemble("POWER", "Report the power of each block.", sections))
    logic = read_logic(f"<checker>\n```yaml\n{checker}```\n</checker>")
    config = logic.config("POWER", spec.description)
    async with Prober(atoms_source(ATOM_A, logic), Sandbox()) as prober:
        return await mutate(prober, config, spec, [RealFile("power.rpt", REPORT)], tests=True)


async def test_all_six_are_run_and_say_what_they_expect() -> None:
    tests = (await tested()).tests
    assert {test.name.removeprefix("POWER_"): test.result for test in tests} == dict.fromkeys(
        [
            "base",
            "global_waiver",
            "selective_waiver",
            "pattern",
            "pattern_global_waiver",
            "pattern_selective_waiver",
        ]
    )
    by_name = {test.name: test for test in tests}
    waived = by_name["POWER_selective_waiver"]
    assert [waiver.pattern for waiver in waived.waivers.waive_items] == [
        "vendor",
        "a waiver that nothing needs",
    ]
    assert (waived.example, waived.expected.waived) == ("power report", ("2.1",))
    assert by_name["POWER_pattern"].expected.violations == ("2.1",)


async def test_a_waiver_of_the_specification_that_the_checker_lacks_disagrees() -> None:
    lacking = (await tested(CHECKER.replace("vendor, ", ""))).tests
    wrong = [test for test in lacking if test.result]
    assert {test.name for test in wrong} == {
        "POWER_selective_waiver",
        "POWER_pattern_selective_waiver",
    }
    assert {test.result.violations for test in wrong if test.result} == {("2.1",)}


async def test_a_type_without_patterns_is_not_asked_for_them() -> None:
    plain = CHECKER.replace("capability_type: 3", "capability_type: 1").replace(
        "check: pattern", "check: existence"
    )
    assert {test.name for test in (await tested(plain)).tests} == {"POWER_base"}
