"""One settings model: every key, every source, every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.config import Settings, find_settings_file, known_keys, load_settings, variable_of
from transom.errors import SettingsError

PUBLISHED_KEYS = [
    "paths.search_root",
    "paths.item_specs_dir",
    "paths.cache_dir",
    "paths.output_dir",
    "llm.agent_a.provider",
    "llm.agent_a.model",
    "llm.agent_a.temperature",
    "llm.agent_a.max_tokens",
    "llm.agent_b.provider",
    "llm.agent_b.model",
    "llm.agent_b.temperature",
    "llm.agent_b.max_tokens",
    "llm.reflect.provider",
    "llm.reflect.model",
    "llm.reflect.temperature",
    "llm.reflect.max_tokens",
    "cache.retention_policy",
    "cache.max_checkpoints_per_hour",
    "cache.cleanup_on_success",
    "execution.max_iterations",
    "execution.timeout_per_stage",
    "execution.enable_streaming",
    "logging.level",
    "logging.log_file",
    "logging.log_llm_calls",
    "tool_constraints.max_read_lines_per_call",
    "tool_constraints.max_total_read_bytes",
    "tool_constraints.require_discovery_before_read",
    "tool_constraints.header_lines_default",
]

AGENT_CONFIG = """\
paths:
  search_root: /designs
  item_specs_dir: ./specs
  cache_dir: ./kept
  output_dir: out
llm:
  agent_a: {provider: openai, model: some-model, temperature: 0.2, max_tokens: 4096}
  agent_b: {provider: openai, model: some-model, temperature: 0, max_tokens: 4000}
  reflect: {provider: azure, model: other, temperature: 0.1, max_tokens: 2048}
cache:
  retention_policy: hourly
  max_checkpoints_per_hour: 7
  cleanup_on_success: true
execution:
  max_iterations: 5
  timeout_per_stage: 120
  enable_streaming: false
logging:
  level: debug
  log_file: logs/agent.log
  log_llm_calls: false
tool_constraints:
  max_read_lines_per_call: 20
  max_total_read_bytes: 1000
  require_discovery_before_read: false
  header_lines_default: 10
"""


def written(folder: Path, text: str, name: str = "transom.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, **environ: str) -> Settings:
    return load_settings(folder, environ=environ)


def value_of(settings: Settings, key: str) -> object:
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def test_every_published_key_is_known_and_changes_its_value(tmp_path: Path) -> None:
    defaults = load(tmp_path)
    written(tmp_path, AGENT_CONFIG, "config/agent_config.yaml")
    settings = load(tmp_path)
    assert set(settings.origins) == set(PUBLISHED_KEYS) <= set(known_keys())
    same = [key for key in PUBLISHED_KEYS if value_of(settings, key) == value_of(defaults, key)]
    assert same == ["cache.retention_policy"]


def test_no_file_means_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.model_dump() == Settings().model_dump()
    assert (settings.model, settings.file, settings.origins) == ("rules", None, {})


def test_paths_are_meant_from_the_folder_of_the_project(tmp_path: Path) -> None:
    written(tmp_path / "a", AGENT_CONFIG, "config/agent_config.yaml")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    paths = load(deep, TRANSOM_PATHS__OUTPUT_DIR="here").paths
    assert paths.item_specs_dir == tmp_path / "a" / "specs"
    assert paths.search_root == Path("/designs")
    assert paths.output_dir == deep / "here", (
        "a variable's path is meant from the folder of the command"
    )


def test_the_nearest_file_counts_and_transom_yaml_comes_first(tmp_path: Path) -> None:
    outer = written(tmp_path, "model: outer")
    inner = written(tmp_path / "x", "model: seed", "config/agent_config.yaml")
    assert find_settings_file(tmp_path) == outer
    assert find_settings_file(tmp_path / "x") == inner
    assert (
        find_settings_file(tmp_path / "x" / "config")
        == inner.parent.parent / "config/agent_config.yaml"
    )
    nearer = written(tmp_path / "x", "model: ours")
    assert load(tmp_path / "x").file == nearer
    assert load_settings(tmp_path / "x", file=outer, environ={}).model == "outer"


def test_command_line_over_environment_over_file_over_default(tmp_path: Path) -> None:
    environ = {"TRANSOM_MODEL": "from-environment"}
    assert load(tmp_path).model == "rules"
    path = written(tmp_path, "\nmodel: from-file\n")
    assert load(tmp_path).model == "from-file"
    assert load(tmp_path).origins == {"model": f"{path}:2"}
    assert load(tmp_path, **environ).model == "from-environment"
    assert load(tmp_path, **environ).origins == {"model": "TRANSOM_MODEL"}
    chosen = load_settings(tmp_path, environ=environ, command_line={"model": "typed"})
    assert (chosen.model, chosen.origins) == ("typed", {"model": "command line"})


VALUES = {
    "llm.agent_a.temperature": ("0.5", 0.5),
    "execution.max_iterations": ("4", 4),
    "execution.timeout_per_stage": ("2.5", 2.5),
    "execution.enable_streaming": ("no", False),
    "cache.cleanup_on_success": ("TRUE", True),
    "logging.level": ("error", "ERROR"),
    "sandbox.level": ("L2", "L2"),
    "model": ("replay:x.json,rules", "replay:x.json,rules"),
}


@pytest.mark.parametrize("key", VALUES)
def test_variables_have_the_type_of_their_key(key: str, tmp_path: Path) -> None:
    text, value = VALUES[key]
    assert value_of(load(tmp_path, **{variable_of(key): text}), key) == value


def test_a_list_of_folders_in_a_variable(tmp_path: Path) -> None:
    assert load(tmp_path, TRANSOM_STORIES__READABLE="a:/b:").stories.readable == (
        tmp_path / "a",
        Path("/b"),
    )
    written(tmp_path, "stories:\n  readable: one\n")
    assert load(tmp_path).stories.readable == (tmp_path / "one",)


def test_every_key_can_be_set_by_its_variable(tmp_path: Path) -> None:
    ours = dict.fromkeys(known_keys(), "1") | {
        "logging.level": "INFO",
        "sandbox.level": "L1",
        "egress.logs": "any",
        "window.margin": "0.1",
    }
    ours["cache.retention_policy"] = "latest"
    ours["handoff.retention"] = "delete"
    ours |= {key: "rules" for key in ours if key.startswith("stories.workers.")}
    ours["llm.agent.strategy"] = "truncate"
    ours["llm.openai.service"] = "azure"
    ours["store"] = "postgresql://localhost/transom"
    ours |= {"agent.kind": "plain", "agent.output": "text", "agents": "{}", "agent.sandbox": "{}"}
    ours["stories.finish"] = "branch"
    ours["notify.events"] = "waiting"
    ours |= {"durability": "full", "paths.artifacts": "database"}
    settings = load(tmp_path, **{variable_of(key): text for key, text in ours.items()})
    assert settings.origins == {key: variable_of(key) for key in known_keys()}


def test_an_empty_variable_and_the_reserved_one_count_as_absent(tmp_path: Path) -> None:
    assert load(tmp_path, TRANSOM_MODEL="", TRANSOM_FAILPOINT="append:1", OTHER="x").origins == {}


MISTAKES = {
    "execution:\n  max_iteration: 4": (
        ":2: unknown setting execution.max_iteration; did you mean execution.max"
    ),
    "max_iterations: 4": (
        ":1: unknown setting max_iterations; did you mean execution.max_iterations?"
    ),
    "paths:\n  searchroot: x": (
        ":2: unknown setting paths.searchroot; did you mean paths.search_root?"
    ),
    "1: 2": ":1: unknown setting 1; did you mean ",
    "a: &a [x]\nb: [*a, *a]": ":1: unknown setting a; did you mean ",
    'execution:\n  max_iterations: "4"': (
        ":2: execution.max_iterations: input should be a valid integer, not '4'"
    ),
    "execution:\n  max_iterations: true": (
        ":2: execution.max_iterations: input should be a valid integer, not True"
    ),
    "execution:\n  timeout_per_stage: 0": (
        ":2: execution.timeout_per_stage: input should be greater than 0, not 0"
    ),
    "execution:\n  timeout_per_stage: .inf": (
        ":2: execution.timeout_per_stage: input should be a valid number"
    ),
    "logging:\n  level: loud": ":2: logging.level: input should be 'DEBUG', 'INFO', ",
    "llm: {agent_a: {temperature: 3}}": (
        ":1: llm.agent_a.temperature: input should be less than or equal to 2, not 3"
    ),
    "paths:\n  cache_dir: [a]": ":2: paths.cache_dir: input should be a path, not a list",
    "paths:\n  cache_dir: ''": ":2: paths.cache_dir: input should be a path, not ''",
    "stories:\n  readable: 7": (":2: stories.readable: input should be a list of paths, not 7"),
    "stories:\n  readable: [7]": ":2: stories.readable: input should be a path, not a list",
    "paths: 3": ":1: paths is a section; indent its settings below it",
    "model:": (
        ":1: model: input should be a valid string, not nothing; give a value, or remove the line"
    ),
    "model: !!python/object/apply:os.getcwd []": (
        ":1: the tag tag:yaml.org,2002:python/object/apply:os.getcwd"
    ),
    "- model: rules": ":1: is not a mapping of settings; write lines like `model: rules`",
    "just words": ":1: is not a mapping of settings",
    "model: rules\nmodel: rules": ":2: the key 'model' is already in line 1",
    "model: [": ":1: is not valid YAML: ",
    "model: rules\n\tpaths: x": ":2: is not valid YAML: found a tab",
    "model: a\n---\nmodel: b": ":2: is not valid YAML: a second document",
    "model: *nowhere": ":1: is not valid YAML: undefined alias",
    "model: \x01": ":1: holds a control character",
    "[" * 5000: ":1: is nested too deeply",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_in_the_file_is_one_line_with_its_place(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert MISTAKES[text] in line
    assert "\n" not in line
    assert len(line) < 300 + len(str(path))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["model: %s", "stories: {readable: %s}", "paths: %s", "other: %s", "%s"]
)
def test_a_billion_laughs_are_not_heard(text: str, tmp_path: Path) -> None:
    lists = ["&a0 [ha]", *(f"&a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30))]
    written(tmp_path, text % f"[{', '.join(lists)}]")
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    assert len(str(caught.value)) < 200 + len(str(tmp_path))


@pytest.mark.parametrize(
    "text", ["", "# nothing set\n", "---\n", "null\n", "paths:\nllm:\n", "\ufeffmodel: rules\n"]
)
def test_an_empty_file_and_empty_sections_set_nothing_odd(text: str, tmp_path: Path) -> None:
    written(tmp_path, text)
    assert load(tmp_path).model_dump() == Settings().model_dump()


def test_merge_keys_and_aliases_are_plain_yaml(tmp_path: Path) -> None:
    written(
        tmp_path,
        "llm:\n  agent_a: &seat {max_tokens: 100}\n  agent_b:\n    <<: *seat\n    temperature:"
        " 1.0\n",
    )
    seats = load(tmp_path).llm
    assert (seats.agent_b.max_tokens, seats.agent_b.temperature) == (100, 1.0)


def test_latin_1_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "transom.yaml").write_bytes(b"model: rules\npaths:\n  search_root: /gr\xfcn\n")
    with pytest.raises(SettingsError, match=r"transom.yaml:3: is not UTF-8"):
        load(tmp_path)


def test_a_folder_a_missing_and_a_huge_file(tmp_path: Path) -> None:
    (tmp_path / "transom.yaml").mkdir()
    with pytest.raises(SettingsError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load_settings(tmp_path, file=tmp_path / "no.yaml", environ={})
    written(tmp_path, "#" * (2 << 20), "huge.yaml")
    with pytest.raises(SettingsError, match="larger than 1 MiB"):
        load_settings(tmp_path, file=tmp_path / "huge.yaml", environ={})


WRONG_VARIABLES = {
    "TRANSOM_EXECUTION__MAX_ITERATION": (
        "4",
        "environment: unknown setting TRANSOM_EXECUTION__MAX_ITERATION; did you",
    ),
    "TRANSOM_EXECUTION__MAX_ITERATIONS": (
        "many",
        ": input should be a valid integer, not 'many'",
    ),
    "TRANSOM_EXECUTION__ENABLE_STREAMING": (
        "perhaps",
        "input should be a valid boolean, not 'perhaps'",
    ),
    "TRANSOM_EXECUTION__TIMEOUT_PER_STAGE": ("nan", "input should be"),
}


@pytest.mark.parametrize(
    "name",
    [
        "TRANSOM_MODELL",
        "TRANSOM_WORKSPCE",
        "TRANSOM_WORK_SPACE",
        "TRANSOM_LLM_MODEL",
        "TRANSOM_STORE_URL",
        "TRANSOM_PATHS_PRICES",
        "TRANSOM_NOWHERE__KEY",
    ],
)
def test_a_variable_that_was_meant_as_a_setting_is_a_mistake(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"environment: unknown setting {name}; did you mean"):
        load_settings(tmp_path, environ={name: "x"})


@pytest.mark.parametrize(
    "name",
    [
        "TRANSOM_PORT",
        "TRANSOM_PORT_8642_TCP_ADDR",
        "TRANSOM_SERVICE_HOST",
        "TRANSOM_WORKER_SERVICE_PORT_HTTP",
        "TRANSOM_VERSION",
        "TRANSOM_IMAGE",
        "TRANSOM_HOME",
        "TRANSOM_DATA",
        "TRANSOM_PYTHON",
    ],
)
def test_a_variable_of_somebody_else_is_left_alone(name: str, tmp_path: Path) -> None:
    assert load_settings(tmp_path, environ={name: "x"}).origins == {}


@pytest.mark.parametrize("name", WRONG_VARIABLES)
def test_a_mistake_in_a_variable_names_it(name: str, tmp_path: Path) -> None:
    text, message = WRONG_VARIABLES[name]
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, **{name: text})
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().model = "other"  # type: ignore[misc]  # frozen: what is tested


@pytest.mark.slow
@given(text=st.text(max_size=200))
def test_any_file_gives_settings_or_one_typed_error(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        settings = load_settings(path.parent, file=path, environ={})
    except SettingsError as error:
        assert "\n" not in str(error)
    else:
        assert set(settings.origins) <= set(known_keys())
