"""`--max-cost`: what runs may cost, over their lives; at the cap they pause with their work, and
can be resumed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.checklist.shipped_model import MODEL
from tests.cli.checks import Desk
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.llm import Text

(OPENAI,) = [dialect for dialect in DIALECTS if dialect.name == "openai"]
PRICES = """\
schema: transom.prices/1
as_of: "2026-11-01"
models:
  openai:m: {input: 1000, output: 1000}
"""
SPEC = ("check", "spec", "VER-01.yaml", "-q")


class Model:
    """A server that gives the answers which the written model gave; each costs a dollar: 1,000 tokens at
    1,000 $ a million.
    """

    def __init__(self, desk: Desk) -> None:
        assert desk(*SPEC).code == 0
        self.texts = [
            "".join(part["text"] for part in row["reply"]["parts"])
            for row in desk.records("model_reply")
        ]
        shutil.rmtree(desk.here / ".transom")
        self.usage: dict[str, object] = {"prompt_tokens": 900, "completion_tokens": 100}
        self.given = 0

    def answer(self, wire: Wire, seen: Seen) -> None:
        body = {**OPENAI.whole([Text(self.texts[self.given])]), "usage": self.usage}
        self.given += 1
        wire.answer(200, json.dumps(body).encode())


@pytest.fixture
def desk(model_desk: Desk) -> Desk:
    return model_desk


@pytest.fixture
def model(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    model = Model(desk)
    # From here on the settings name the model.
    monkeypatch.delenv("TRANSOM_MODEL")
    with LocalServer(model.answer) as server:
        address = f"llm: {{openai: {{base_url: '{server.url}/v1'}}}}\n"
        (desk.here / "transom.yaml").write_text(
            "model: openai:m\npaths: {prices: mine.yaml}\nexecution: {enable_streaming:"
            f" false}}\n{address}",
            "utf-8",
        )
        (desk.here / "mine.yaml").write_text(PRICES, "utf-8")
        yield model


@pytest.mark.slow
def test_at_the_cap_a_run_pauses_and_a_higher_one_goes_on_with_it(desk: Desk, model: Model) -> None:
    line = desk(*SPEC, "--max-cost", "1.5").line(3)
    run = desk.run_of("VER-01").name
    assert line.startswith(f"run {run} is paused: stage spec/round3")
    assert line.endswith(
        f"the cap of 1.5 usd is reached (2 used); to continue, run: transom resume {run} --max-cost USD,"
        " with more of them"
    )
    shown = desk("runs", "show", run, "--format", "json").document
    assert (shown["status"], model.given) == ("paused", 2)
    assert [stage["stage"] for stage in shown["stages"] if stage["status"] == "done"], (
        "the work so far is kept"
    )
    assert "the cap of 1.5 usd is reached" in desk("resume", run, "-q").line(3), (
        "the run keeps its cap"
    )
    assert model.given == 2
    assert desk("resume", run, "-q", "--max-cost", "100").code == 0
    assert model.given == len(model.texts), "and no reply was paid for twice"


@pytest.mark.slow
def test_what_a_run_cost_before_counts_too(desk: Desk, model: Model) -> None:
    desk(*SPEC, "--max-cost", "2").line(3)
    desk(*SPEC, "--max-cost", "3").line(3)
    assert model.given == 3
    (desk.here / "transom.yaml").write_text(
        (desk.here / "transom.yaml")
        .read_text("utf-8")
        .replace("execution: {", "execution: {max_cost: 4, "),
        "utf-8",
    )
    assert "the cap of 4 usd" in desk(*SPEC).line(3), "a setting, too"
    assert model.given == 4


@pytest.mark.slow
def test_without_a_price_nothing_begins(desk: Desk, model: Model) -> None:
    (desk.here / "mine.yaml").write_text(PRICES.replace("openai:m", "openai:n"), "utf-8")
    line = desk(*SPEC, "--max-cost", "5").line()
    assert line.startswith(
        "openai:m: no price of it is known (2026-11-01), so its cost cannot be capped; write "
    )
    assert "`models: {openai:m: {input: USD, output: USD}}`" in line
    assert (model.given, desk.records("opened")) == (0, [])
    assert desk(*SPEC, "--model", MODEL, "--max-cost", "0.01").code == 0, (
        "what is on this machine is free"
    )


@pytest.mark.slow
def test_what_the_server_says_of_the_cost_goes_before_the_price_list(
    desk: Desk, model: Model
) -> None:
    model.usage["cost"] = 0.25
    assert desk(*SPEC, "--max-cost", "1.5").code == 0
    costs = [row["reply"]["usage"]["cost"] for row in desk.records("model_reply")]
    assert costs == [0.25] * len(model.texts)


@pytest.mark.slow
def test_items_of_a_batch_that_run_at_once_share_one_purse(desk: Desk, model: Model) -> None:
    (desk.here / "items").mkdir()
    for number in range(1, 7):
        shutil.copy(desk.here / "VER-01.yaml", desk.here / "items" / f"VER-0{number}.yaml")
    answer = desk.check("batch", "items", "-j", "6", "--max-cost", "2.5", "-q")
    assert (answer.code, model.given) == (3, 3)
    assert "the cap of 2.5 usd is reached (3 used)" in answer.out


def test_a_cap_is_an_amount_of_money(desk: Desk) -> None:
    for told in ("0", "-1", "nan"):
        assert "execution.max_cost: input should be" in desk(*SPEC, "--max-cost", told).line()
