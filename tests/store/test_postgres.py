from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from .conformance import StoreConformance
from .postgres_server import Server

pytestmark = [pytest.mark.fence, pytest.mark.slow]


class TestPostgresStore(StoreConformance):
    opener: ClassVar[str] = "tests.store.postgres_server:open_at"

    @pytest.fixture
    def location(self, tmp_path: Path, postgres: Server) -> Path:
        path = tmp_path / "address"
        path.write_text(postgres.fresh_address().url, encoding="utf-8")
        return path
