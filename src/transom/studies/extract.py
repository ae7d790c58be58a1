"""Reading a solver's outputs: JSON, patterns, tables of CalculiX, results of the Nastran family through pyNastran."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from transom.errors import InputError, install_hint
from transom.studies.job_files import read_dat, read_text
from transom.studies.study import Extractor


def extract(extractor: Extractor, folder: Path) -> float | None:
    """The number that an extractor names, None where its file or the number is not there."""
    path = folder / extractor.file
    if not path.is_file():
        return None
    if extractor.json_pointer is not None:
        return _pointed(path, extractor.json_pointer)
    if extractor.regex is not None:
        return _matched(read_text(path), extractor.regex)
    if extractor.calculix is not None:
        with path.open(encoding="utf-8", errors="replace") as lines:
            found = read_dat(lines)
        return found.stress if extractor.calculix == "mises" else found.displacement
    return _nastran(path, extractor.nastran or "")


def _pointed(path: Path, pointer: str) -> float | None:
    try:
        value = json.loads(read_text(path))
        for part in pointer.strip("/").split("/"):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return float(value)
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _matched(text: str, pattern: str) -> float | None:
    """The first group of the last match, else the whole match."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        return None
    try:
        return float((found[-1].group(1) if found[-1].re.groups else found[-1].group()).upper().replace("D", "E"))
    except ValueError:
        return math.nan


def _nastran(path: Path, what: str) -> float | None:
    try:
        import numpy  # noqa: PLC0415  slow
        from pyNastran.op2.op2 import OP2  # type: ignore[import-untyped]  # noqa: PLC0415  slow
    except ImportError as error:
        raise InputError("reading OP2 needs pyNastran", hint=install_hint("nastran")) from error
    model = OP2(debug=None)
    try:
        model.read_op2(str(path), build_dataframe=False)
    except Exception as error:  # noqa: BLE001  the reader fails in many ways on a file that is cut off
        del error
        return None
    found: list[float] = []
    if what == "displacement":
        found = [float(numpy.linalg.norm(one.data[..., :3], axis=-1).max()) for one in model.displacements.values()]
    elif what == "mass":
        found = [float(one.mass.max()) for one in model.grid_point_weight.values()]
    elif what == "frequency":
        return min((float(min(one.mode_cycles)) for one in model.eigenvectors.values()), default=None)
    else:
        tables = [model.get_result(name) for name in model.op2_results.stress.get_table_types()]
        for one in (result for table in tables for result in table.values()):
            if "von_mises" in (names := list(one.get_headers())):
                found.append(float(numpy.nanmax(one.data[..., names.index("von_mises")])))
    return max(found, default=None)
