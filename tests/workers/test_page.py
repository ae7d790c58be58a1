"""The page on farms: its roles have the rights that they need, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import Farm
from tests.workers.test_distributed_batch import ended
from transom.store import PostgresAddress

pytestmark = [pytest.mark.fence, pytest.mark.slow]

SPEC = ("check", "spec", "items/items-00.yaml", "-q")
SCHEMA = "team"


@pytest.fixture
def farms(postgres: Server, tmp_path: Path, root: Path) -> dict[str, Farm]:
    """A farm for each role of the page, all in one folder."""
    page = (root / "docs" / "farm.md").read_text(encoding="utf-8")
    block = re.search(r"```text\n(CREATE ROLE .*?)```", page, re.DOTALL)
    assert block
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(block[1])  # type: ignore[arg-type,unused-ignore]  # of the page
    made: dict[str, Farm] = {}
    for role in re.findall(r"^CREATE ROLE (\w+)", block[1], re.MULTILINE):
        url = postgres.url(schema=SCHEMA).replace("user=postgres", f"user={role}")
        made[role] = Farm(tmp_path, PostgresAddress(url))
    made["transom"].items("items", 2)
    return made


def test_the_roles_of_the_page_have_the_rights_that_they_need(farms: dict[str, Farm]) -> None:
    owner, user, reader = farms["transom_owner"], farms["transom"], farms["transom_reader"]
    try:
        code, output = ended(user.start(*SPEC))
        assert (code, "access to the database is denied" in output) == (2, True), output
        # The first commands of the owner create the tables.
        for command in (SPEC, ("workers",), ("playbook", "list"), ("memory", "search", "netlist")):
            code, output = ended(owner.start(*command))
            assert code in (0, 3), output
        user.worker(2)
        code, output = ended(user.batch("items"))
        assert code == 3, output
        text = "Never sign off on a stale netlist"
        code, output = ended(user.start("playbook", "add", "mis", text))
        assert code == 0, output
        code, output = ended(reader.start("runs", "list"))
        assert (code, "items-00" in output) == (0, True), output
        code, output = ended(reader.start("check", "spec", "items/items-01.yaml", "-q"))
        assert (code, "access to the database is denied" in output) == (2, True), output
    finally:
        for farm in farms.values():
            farm.close()
