"""`ContextAgent` writes an ItemSpec, tells its nine stages, and never raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.shipped_model import MODEL
from transom.compat.context_agent import ContextAgent

ITEM = (
    "item_id: VER-1\ndescription: Confirm the netlist/spef version is correct.\ninput_files:"
    " [a.v]\n"
)


async def test_an_item_becomes_an_item_spec_with_its_rounds(tmp_path: Path) -> None:
    item = tmp_path / "VER-1.yaml"
    item.write_text(ITEM, "utf-8")
    said: list[str] = []
    agent = ContextAgent(debug_mode=True, llm_config={"model": MODEL}, activity_handler=said.append)
    made = await agent.process({"config_path": str(item), "output_dir": str(tmp_path / "out")})
    assert (made.status, made.errors, made.artifacts["item_id"]) == ("success", (), "VER-1")
    text = Path(made.artifacts["itemspec_path"]).read_text("utf-8")
    assert text == made.artifacts["itemspec_content"]
    assert set(made.artifacts["rounds"]) == {
        "analysis",
        "section1",
        "section2",
        "section3",
        "section4",
    }
    assert made.artifacts["rounds"]["section1"].strip() in text
    assert [line[:9] for line in said if line.startswith("[")] == [
        f"[Stage {n}]" for n in range(1, 10)
    ]
    assert (tmp_path / "out" / "VER-1_debug" / "round1_prompt.md").is_file()


async def test_a_claim_becomes_an_item_spec_without_rounds(tmp_path: Path) -> None:
    item = tmp_path / "STA-1.yaml"
    item.write_text("description: Confirm that setup timing is met.\ninput_files: [a.rpt]\n")
    agent = ContextAgent(debug_mode=True, llm_config={"model": "rules"})
    made = await agent.process({"config_path": str(item), "output_dir": str(tmp_path / "out")})
    assert (made.status, made.errors, made.artifacts["rounds"]) == ("success", (), {})
    copies = {path.name for path in (tmp_path / "out" / "STA-1_debug").iterdir()}
    assert copies == {"config.yaml", "meta.json"}
    assert "Setup timing is met" in made.artifacts["itemspec_content"]


@pytest.mark.parametrize(
    ("inputs", "llm", "error"),
    [
        ({"config_path": "no.yaml", "output_dir": "out"}, {}, "no.yaml: no such file"),
        ({"output_dir": "out"}, {}, "give config_path"),
        (
            {"config_path": "odd.yaml", "output_dir": "out"},
            {"model": "rules"},
            "name a model in llm_config",
        ),
        (
            {"config_path": "odd.yaml", "output_dir": "out"},
            {"model": "nobody:x"},
            "unknown provider",
        ),
    ],
)
async def test_what_went_wrong_is_in_the_result(
    inputs: dict[str, str],
    llm: dict[str, str],
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.yaml").write_text(
        "description: Paint the shed a nice colour.\ninput_files: [a.v]\n", "utf-8"
    )
    made = await ContextAgent(llm_config=llm).process(inputs)
    assert made.status == "failed"
    assert error in made.errors[0]
