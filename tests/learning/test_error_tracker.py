"""Errors are captured and told apart by their words; a product adds kinds of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import InputError
from transom.learning import (
    ErrorPatterns,
    InsightCategory,
)

STR, MIS, *_ = InsightCategory


@pytest.mark.parametrize(
    ("message", "kind", "tag"),
    [
        ("Convergence failure in increment 3", "convergence_failure", "solver"),
        ("the solution DID NOT CONVERGE", "convergence_failure", "convergence"),
        ("negative jacobian in element 4711", "mesh_error", "mesh"),
        ("Meshing failed", "mesh_error", "element"),
        ("pivot ratio too large", "singularity", "boundary"),
        ("the stiffness matrix is singular", "singularity", "singularity"),
        ("std::bad_alloc: allocation of 8 GB failed", "memory_error", "memory"),
        ("out of memory", "memory_error", "performance"),
        ("the model timed out", "timeout", "timeout"),
        ("something odd", "unknown_error", "error"),
        ("", "unknown_error", "error"),
    ],
)
def test_errors_are_told_by_their_words(message: str, kind: str, tag: str) -> None:
    found = ErrorPatterns().classify(message)
    assert found.kind == kind
    assert tag in found.tags


def test_a_product_adds_patterns_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "patterns:\n- {kind: drc, find: ['mesh .* short'], tags: [layout], insight: Metal is too"
        " near}\n"
    )
    patterns = ErrorPatterns(path)
    assert patterns.classify("the mesh has a short").kind == "drc"
    assert patterns.classify("the mesh is bad").kind == "mesh_error"
    assert patterns.tags_of(["mesh with a short", "nonsense"]) == {"drc", "layout"}
    assert patterns.tags_in("Coarse meshes need less memory") == (
        "element",
        "memory",
        "mesh",
        "performance",
    )
    path.write_text("patterns:\n- {kind: drc, find: ['('], insight: x}\n")
    with pytest.raises(InputError, match=r"mine\.yaml:2.*not a regular expression"):
        ErrorPatterns(path)
