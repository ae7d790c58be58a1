"""`transom init`: what it writes is read by the commands, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from transom.checklist.writing.views import check_prompts, load_prompt, own_prompt
from transom.cli import main
from transom.config import load_settings
from transom.formats.yaml_files import load_yaml


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_are_read_by_transom_and_by_an_editor(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init"]) == 0
    assert capsys.readouterr().out == "wrote transom.schema.json\nwrote transom.yaml\n"
    settings = project / "transom.yaml"
    name = settings.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
    schema = json.loads((project / name).read_text(encoding="utf-8"))
    jsonschema.validate(load_yaml(settings).data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"modell": "rules"}, schema)
    assert load_settings(project, environ={}).model == "rules"


@pytest.mark.parametrize("name", ["transom.yaml", "config/agent_config.yaml"])
def test_files_that_exist_are_kept(
    project: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "config").mkdir()
    (project / name).write_text("model: rules  # mine\n", encoding="utf-8")
    (project / "transom.schema.json").write_text("{}", encoding="utf-8")
    assert main(["init"]) == 0
    assert f"kept {Path(name).name}\n" in capsys.readouterr().out
    assert (project / name).read_text(encoding="utf-8") == "model: rules  # mine\n"
    assert (project / "transom.schema.json").read_text(encoding="utf-8") == "{}"
    # A new transom.yaml would hide the other file.
    assert (project / "transom.yaml").exists() == (name == "transom.yaml")


def test_a_link_is_not_written_through(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "transom.yaml").symlink_to(project / "elsewhere.yaml")
    assert main(["init"]) == 0
    assert "kept transom.yaml" in capsys.readouterr().out
    assert not (project / "elsewhere.yaml").exists()


def test_a_file_that_hides_another_one_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "sub").mkdir()
    assert main(["init"]) == 0
    assert main(["init", "sub", "--format", "json"]) == 0
    capsys.readouterr()
    (project / "sub" / "transom.yaml").unlink()
    assert main(["init", "sub"]) == 0
    assert f"it takes the place of {project / 'transom.yaml'}" in capsys.readouterr().out


def test_a_folder_that_is_missing_or_cannot_be_written_is_one_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "nowhere"]) == 2
    assert capsys.readouterr().err == (
        "transom: nowhere: there is no such folder; create it first\n"
    )
    (project / "transom.schema.json").mkdir()
    assert main(["init"]) == 0
    assert "kept transom.schema.json" in capsys.readouterr().out


def test_the_shipped_prompts_are_written_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "task_round2.md").write_text("Ours.\n")
    assert main(["init", "--prompts"]) == 0
    out = capsys.readouterr().out
    assert "kept prompts/task_round2.md" in out and "wrote prompts/template_section1.md" in out
    assert "paths: {prompts_dir: prompts}" in out
    # Each of them is one that a role reads, and says what the shipped one says.
    check_prompts(tmp_path / "prompts")
    kept, other = (own_prompt(name, tmp_path / "prompts") for name in ("task_round2", "role"))
    assert (kept, other) == ("Ours.", load_prompt("role"))
