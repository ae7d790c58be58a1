"""How solves ended: own small cases through files, and every case of the acceptance data."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from pathlib import Path

import pytest

from transom.errors import InputError
from transom.studies.failures import Diagnosis, classify
from transom.studies.job_output import JobOutput
from transom.studies.taxonomy import MessageStart, Taxonomy, load_taxonomy

TAXONOMY = load_taxonomy()

PLATE = """*NODE,NSET=ALL
1,0.,0.,0.
2,10.,0.,0.
3,10.,10.,0.
4,0.,10.,0.
*ELEMENT,TYPE=CPS4,ELSET=E
1,1,2,3,4
*NSET,NSET=LEFT
1,4
*SOLID SECTION,ELSET=E,MATERIAL=M
{thickness}
*BOUNDARY
{held}
*STEP
*STATIC
*END STEP
"""
CCX = "CalculiX Version 2.20\n the word ERROR, a singular matrix and no convergence in a sentence\n"

FEA = {
    "00_ok": None,
    "01_geometry_disconnected": "geometry_error",
    "02_negative_jacobian": "mesh_error",
    "03_nonconv_collapse": "convergence_failure",
    "04_underconstrained_nl": "singularity",
    "05_singular_no_bc_linear": "singularity",
    "06_singular_one_dir_linear": "singularity",
    "07_singular_no_bc_nl": "singularity",
    "08_undefined_material": "input_error",
    "09_missing_elastic": "input_error",
    "10_bad_card": "input_error",
    "11_undefined_node_in_element": "input_error",
    "12_inc_limit": "convergence_failure",
    "13_memory_ulimit": "memory_error",
    "14_timeout": "timeout",
    "15_input_missing": "input_error",
    "16_zero_thickness": "input_error",
    "17_nu_half": "input_error",
    "18_neg_E": "input_error",
    "19_disconnected_piece_free": "singularity",
    "20_unwritable_dir_bigdeck_segv": "input_error",
    "30_gmsh_fillet_too_big": "geometry_error",
    "31_gmsh_selfintersect": "geometry_error",
    "32_gmsh_open_loop": "geometry_error",
    "33_gmsh_plc_overlap": "geometry_error",
    "34_gmsh_cut_all": "geometry_error",
    "35_gmsh_curved_neg_jac": "mesh_error",
}
F06 = {
    "GEN__mystran_bad_sol": "input_error",
    "GEN__mystran_coincident": "mesh_error",
    "GEN__mystran_missing_grid": "input_error",
    "GEN__mystran_no_enddata": "input_error",
    "GEN__mystran_no_spc_noauto": "input_error",
    "GEN__mystran_singular_default": "singularity",
    "GEN__mystran_zero_t": "input_error",
    "GEN__nastran95_card": "input_error",
    "GEN__nastran95_load": "input_error",
    "GEN__nastran95_missgrid": "input_error",
    "GEN__nastran95_one": "singularity",
    "GEN__nastran95_spc": "singularity",
    "NASTRAN-95__demoout__d01000a": "input_error",
}
"""The failures; all other files there are of runs that went well."""


def judged(folder: Path, return_code: int | None = 0, **files: str) -> Diagnosis:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return classify(JobOutput.read(folder, return_code), TAXONOMY)


@pytest.mark.parametrize(
    ("output", "return_code", "failure"),
    [
        (CCX + "\n Job finished\n", 0, None),
        (CCX + "\n *ERROR: increment size smaller than minimum\n", 201, "convergence_failure"),
        (
            CCX + "\n *ERROR in e_c3d: nonpositive jacobian\n        determinant in element 3\n",
            201,
            "mesh_error",
        ),
        (CCX, 0, "no_result"),
        ("", -11, "crash"),
        ("", 3, "solver_error"),
        ("", 127, "missing_solver"),
        ("sh: 1: license-tool: command not found\n", 127, "missing_solver"),
        ("***ERROR: TOO MANY ATTEMPTS MADE FOR THIS INCREMENT\n", 1, "convergence_failure"),
        ("***ERROR: The volume of 4 elements is zero, small, or negative.\n", 1, "mesh_error"),
        (
            (
                " *** USER FATAL MESSAGE 9050 (SEKRRS)\n     RUN TERMINATED DUE TO EXCESSIVE PIVOT"
                " RATIOS\n"
            ),
            0,
            "singularity",
        ),
        (
            (
                " *ERROR   981: THE FACTORIZATION OF THE MATRIX KLL BY SUPERLU HAD ERROR WITH INFO"
                " = 30.\n"
            ),
            0,
            "singularity",
        ),
        (
            " *ERROR  1928: ELEMENT 1 HAS JACOBIAN LESS THAN OR EQUAL TO ZERO. BAD GEOMETRY\n",
            0,
            "mesh_error",
        ),
        (" *ERROR  1911: QUAD4 ELEMENT 1 HAS ITS 2 DIAGONALS PARALLEL.\n", 0, "mesh_error"),
        (
            "0*** USER FATAL MESSAGE 2026,ELEMENT 1 GEOMETRY YIELDS UNREASONABLE MATRIX\n",
            0,
            "mesh_error",
        ),
        (
            "0*** USER FATAL MESSAGE 311, NON-UNIQUE FIELD 2 ON BULK DATA CARD GRID 1\n",
            0,
            "input_error",
        ),
        (
            (
                " NORMAL MODES ERROR NO.2  EIGENVALUE EXTRACTION DATA REQUIRED\n * * * END OF JOB *"
                " * *\n"
            ),
            0,
            "input_error",
        ),
        (
            " *ERROR in cascade: the DOF is detected on the\n dependent side of a MPC and a SPC\n",
            201,
            "input_error",
        ),
        (
            " *ERROR in d[n,s]aupd: info=-3\n # of converged eigenvalues=0\n",
            201,
            "convergence_failure",
        ),
        (" *** SYSTEM FATAL MESSAGE 3008\n     INSUFFICIENT CORE FOR MODULE\n", 0, "memory_error"),
        (
            (
                "Traceback (most recent call last):\n  ...\nOSError: [Errno 28] No space left on"
                " device\n"
            ),
            1,
            "disk_full",
        ),
        ("ERROR: could not checkout a license from the server\n", 5, "license_error"),
        ("Error: a message that nobody foresaw\n", 1, "solver_error"),
        (
            "ERROR: none\n*** FATAL ERRORS: 0\n*** ERROR COUNT = 0\n---- ERROR SUMMARY: 0 errors\n",
            0,
            None,
        ),
        ("Error: 0.02 %\nError [%] 0.5\n", 0, None),
        (
            (
                "Info    : 0.00 < quality < 0.10 :         0 elements\nInfo    : 14 nodes 24"
                " elements\n"
            ),
            0,
            None,
        ),
        ("Info    : 9 nodes 0 elements\n", 0, "geometry_error"),
        ("*** ERROR COUNT = 10\n", 0, "solver_error"),
        ("the iteration did not converge at first, then it did\n", 0, None),
    ],
)
def test_messages_at_a_lines_beginning_decide_and_words_within_a_line_do_not(
    tmp_path: Path, output: str, return_code: int, failure: str | None
) -> None:
    found = judged(tmp_path, return_code, stdout__txt=output)
    assert found.failure == failure, found
    assert bool(found.evidence) == (failure is not None)


def test_what_the_deck_shows_is_the_reason_behind_what_was_seen(tmp_path: Path) -> None:
    stopped = CCX + "\n *ERROR: increment size smaller than minimum\n"
    deck = PLATE.format(thickness="1.", held="1,1,1\n4,1,1")
    found = judged(tmp_path, 201, stdout__txt=stopped, job__inp=deck)
    assert (found.failure, found.evidence[0].text) == (
        "singularity",
        "nothing is held along direction 2",
    )
    held = PLATE.format(thickness="1.", held="LEFT,1,2")
    assert judged(tmp_path, 201, job__inp=held).failure == "convergence_failure"
    finished = CCX + "\n Job finished\n"
    thin = PLATE.format(thickness="0.", held="LEFT,1,2")
    assert judged(tmp_path, stdout__txt=finished, job__inp=thin).failure == "input_error"
    torn = held.replace("1,1,2,3,4", "1,1,2,3,77")
    assert "77" in judged(tmp_path, -11, job__inp=torn).reason
    assert judged(tmp_path, stdout__txt=finished, job__inp=held).failure is None


def test_a_body_that_went_away_is_no_result_though_the_solver_is_content(tmp_path: Path) -> None:
    table = " displacements (vx,vy,vz) for set ALL and time  0.1E+01\n\n      3  {}  0.0  0.0\n"
    deck = PLATE.format(thickness="1.", held="LEFT,1,2")
    finished = CCX + "\n Job finished\n"
    here = judged(tmp_path, stdout__txt=finished, job__inp=deck, job__dat=table.format("1.5E-01"))
    gone = judged(tmp_path, job__dat=table.format("3.0E+11"))
    lost = judged(tmp_path, job__dat=table.format("NaN"))
    assert (here.failure, gone.failure, lost.failure) == (None, "singularity", "not_finite")
    assert "in a model of size 14.1" in gone.reason


def test_a_line_of_stars_in_a_table_of_another_program_is_no_failure(tmp_path: Path) -> None:
    assert (
        judged(tmp_path, 0, result__dat="*" * 40 + "\n* max. mass: inf\n mass 3.1\n").failure
        is None
    )
    eigen = "     E I G E N V A L U E   O U T P U T\n\n      1   NaN  0.0\n"
    assert judged(tmp_path, 0, result__dat=eigen).failure == "not_finite"


def test_a_log_of_any_size_is_judged_by_its_beginning_and_end(tmp_path: Path) -> None:
    with (tmp_path / "stdout.txt").open("w") as file:
        file.write(CCX)
        file.seek(3_000_000_000)  # sparse: no disk is used
        file.write("\n *ERROR in u_calloc: error allocating memory\n")
    assert classify(JobOutput.read(tmp_path, 1), TAXONOMY).failure == "memory_error"


def test_a_person_adds_a_class_and_words(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "messages:\n  - {kind: error, starts: 'E-\\d+ '}\n"
        "return_codes: {42: hinge_error}\n"
        "classes:\n"
        "  hinge_error: {title: a hinge is loose, severity: design, words: ['hinge']}\n"
        "  mesh_error: {title: bad elements, severity: design, words: ['crooked']}\n"
    )
    taxonomy = load_taxonomy(own)
    for text, code, failure in [
        ("E-17 the hinge of part 4\n", 0, "hinge_error"),
        ("E-18 crooked\n", 0, "mesh_error"),
        ("E-19 jacobian\n", 0, "mesh_error"),
        ("", 42, "hinge_error"),
    ]:
        job = JobOutput(texts={"log.txt": text}, return_code=code)
        assert classify(job, taxonomy).failure == failure
    own.write_text("classes:\n  x: {title: t, severity: design, words: ['(']}\n")
    with pytest.raises(InputError, match=r"own.yaml:2: .*not a regular expression"):
        load_taxonomy(own)
    own.write_text("return_codes: {3: nowhere}\n")
    with pytest.raises(InputError, match="unknown class nowhere"):
        load_taxonomy(own)


def written() -> list[tuple[str, str, str | None, JobOutput]]:
    """Source, name, class and output of the cases in `data/outputs.txt`, written before the
    patterns were.
    """
    found = []
    for part in (
        (Path(__file__).with_name("data") / "outputs.txt").read_text("utf-8").split("=== ")[1:]
    ):
        head, _, text = part.partition("\n")
        name, failure, code, file = (word.strip() for word in head.split("|"))
        job = JobOutput({file: text}, int(code))
        found.append((name.split()[0], name, None if failure == "ok" else failure, job))
    return found


def cases(data: Path) -> list[tuple[str, str, str | None, JobOutput]]:
    """Source, name, class and output of every case of the acceptance data."""
    found = []
    for folder in sorted(path for path in (data / "fea").iterdir() if path.is_dir()):
        kept = folder / "rc.txt"
        code = int(kept.read_text()) if kept.exists() else _result_code(folder)
        source = (
            "gmsh" if folder.name[:2] in ("01", *(str(n) for n in range(30, 36))) else "calculix"
        )
        found.append((source, folder.name, FEA[folder.name], JobOutput.read(folder, code)))
    for path in sorted((data / "f06").iterdir()):
        if path.suffix != ".tsv":
            source = next(
                one
                for one in ("mystran", "nastran95", "NASTRAN-95", "pyNastran")
                if one in path.name
            )
            source = (
                "nastran-95"
                if source in ("nastran95", "NASTRAN-95")
                else "msc-nastran"
                if "py" in source
                else source
            )
            found.append((source, path.stem, F06.get(path.stem), JobOutput.read(path)))
    return found


def _result_code(folder: Path) -> int | None:
    kept = folder / "result.json"
    code = json.loads(kept.read_text())["rc"] if kept.exists() else None
    assert code is None or isinstance(code, int)
    return code


def wrong(
    every: list[tuple[str, str, str | None, JobOutput]],
) -> dict[str, tuple[str | None, str | None, str]]:
    judged = {name: (failure, classify(job, TAXONOMY)) for _, name, failure, job in every}
    return {
        name: (failure, is_.failure, is_.reason)
        for name, (failure, is_) in judged.items()
        if is_.failure != failure
    }


def test_outputs_of_many_solvers_failed_and_successful() -> None:
    assert len(written()) > 100
    assert not wrong(written())


def test_every_case_of_the_acceptance_data(shared_data: Path) -> None:
    assert not wrong(cases(shared_data))


@pytest.mark.slow
def test_patterns_that_other_sources_support_find_the_failures_of_each_source(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leave one source out: only message and word patterns that match a failure of another
    source are kept.
    """
    every = [*cases(shared_data), *written()]
    lines, recall = [], []
    for held_out in sorted({source for source, *_ in every}):
        texts = [
            text
            for source, _, failure, job in every
            if source != held_out and failure
            for text in job.texts.values()
        ]
        kept = supported(TAXONOMY, texts)
        mine = [
            (failure, classify(job, kept).failure)
            for source, _, failure, job in every
            if source == held_out
        ]
        ends = [(failure, found) for failure, found in mine if failure]
        detected = sum(found is not None for _, found in ends)
        named = sum(failure == found for failure, found in ends)
        false_alarms = sum(found is not None for failure, found in mine if not failure)
        lines.append(
            f"{held_out}: detected {detected}/{len(ends)}, class {named}/{len(ends)}, alarms"
            f" {false_alarms}"
        )
        assert not false_alarms
        recall.append((detected, named, len(ends)))
    detected, named, failed = map(sum, zip(*recall, strict=True))
    with capsys.disabled():
        sys.stdout.write(
            "\n"
            + "\n".join([*lines, f"all: detected {detected}, class {named}, of {failed}"])
            + "\n"
        )
    assert detected >= 0.9 * failed
    assert named >= 0.65 * failed


def supported(taxonomy: Taxonomy, texts: list[str]) -> Taxonomy:
    """The taxonomy as it would be, had only these outputs been seen."""
    starts = [line for text in texts for line in text.splitlines()]
    messages = [one for one in taxonomy.messages if any(_starts(one, line) for line in starts)]
    fields = {name: getattr(taxonomy, name) for name in Taxonomy.model_fields}
    narrowed = Taxonomy.model_validate(fields | {"messages": tuple(messages)})
    said = [
        one.text
        for text in texts
        for one in classify(JobOutput({"x.txt": text}, 1), narrowed).evidence
    ]
    classes = {
        name: one.model_copy(
            update={
                "words": tuple(
                    word for word in one.words if any(_holds(word, text) for text in said)
                )
            }
        )
        for name, one in taxonomy.classes.items()
    }
    return Taxonomy.model_validate(fields | {"messages": tuple(messages), "classes": classes})


def _starts(message: MessageStart, line: str) -> bool:
    return Taxonomy(messages=(message,)).starts.match(line) is not None


def _holds(word: str, text: str) -> bool:
    return re.search(word, text, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    "output",
    [
        "The hydraulic network did not converge",
        "Picard loop failed to reach convergence",
        "step 0 did not converge",
        "CG never converged on partition 3",
        "The account of heat did not converge (imbalance 3 %)",
        "did not converge - max 200 iterations",
        "WARNING: coupled cluster iterations did not converge",
        "did not converge on account of contact chatter",
        "fan blade analysis did not converge",
        "thermal storage model did not converge",
        "Batch 3: solution has not converged",
        "The district heat network has not converged after 300 sweeps",
        "server rack airflow: no convergence",
        "pressure in the host rock did not converge",
        "Load case 4 failed to converge because the gap closed",
        "inner loop of the swap operator never converged",
        "token ring resonator: field not converged (residual 2.1e-2)",
        "Analysis did not converge: residual 4.7e-1",
        "equilibrium not converged, max residual 0.3",
        "memory alloy model did not converge due to a snap-through",
        "SCF not converged for spin state 2",
        "Solution did not converge\nThe licence daemon converged on seat 4",
        "Solution did not converge\nntp clock converged\nwrote out.json",
        "substep 4 converged\nThe cache friendly cluster solver did not converge",
        "peer wheel contact failed to converge",
        "unable to converge with 40 iterations",
        "cloud droplet model: unconverged",
        "The guest molecule geometry did not converge since its bond broke",
        "Warning: maximum iterations reached without convergence in account sheet 2",
    ],
)
def test_a_solve_that_says_that_it_did_not_converge_is_never_solved(
    tmp_path: Path, output: str
) -> None:
    found = judged(tmp_path, 0, stdout__txt=f"iteration 1 energy -75.1\n{output}\n")
    assert found.failure in ("convergence_failure", "no_result"), found


@pytest.mark.parametrize(
    "output",
    [
        "the iteration did not converge at first, then it did",
        "all 12 load cases converged; 0 not converged",
        "0 of 12 steps did not converge",
        "sweep 1 did not converge, so the time step was halved",
        "Number of points without convergence: 0",
        "outer iteration 2: not converged\nouter iteration 3: converged",
        "Step 3 did not converge, retrying with half the step",
        "Step 3 did not converge; cutting the increment\nfinished",
        "steps that did not converge: 0",
        "Not converged: none",
        "Converged in 12 iterations",
        "Aborting as solve did not converge, cutting the time step",
        "did not converge in 20 iterations, restarted with a smaller step",
        "load step 2 did not converge and was bisected",
        "if the run does not converge, increase maxiter",
        "all cells converged within 1e-6",
        "did not converge with Newton, switched to arc length",
        "did not converge (trying again)",
        "elements not converged = 0",
    ],
)
def test_a_word_on_convergence_that_is_no_verdict_leaves_a_solve_solved(
    tmp_path: Path, output: str
) -> None:
    found = judged(tmp_path, 0, stdout__txt=f"iteration 1 energy -75.1\n{output}\n")
    assert found.failure is None, found


def test_all_that_a_class_of_ones_own_lists_blames_a_design_without_a_noun(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "classes:\n"
        "  mine: {title: mine, severity: design, exceptions: [ArithmeticError], errors: [EDOM]}\n"
        "  words: {title: words, severity: design, words: [gizmo]}\n"
        "  machine_error: {title: more, severity: machine, words: [gremlin]}\n"
    )
    taxonomy = load_taxonomy(own)
    texts = {
        "ZeroDivisionError: division by zero": "mine",
        f"Error: {os.strerror(errno.EDOM)}": "mine",
        "ERROR: gizmo stuck on host n1": "words",
        "ERROR: gremlin": "machine_error",
        # A shipped class keeps what it lists beside its words.
        "BrokenPipeError: [Errno 32] write": "machine_error",
        f"Error: {os.strerror(errno.ESTALE)}": "machine_error",
    }
    assert {text: taxonomy.class_of(text) for text in texts} == texts


def test_names_in_paths_say_nothing_about_a_cause() -> None:
    for place in ("/tmp/run/x.step", "/srv/server/queue/x", "~/cache/a.msh", "C:\\jobs\\x.igs"):
        assert TAXONOMY.class_of(f"the profile is not closed in {place}") == "geometry_error"
        assert TAXONOMY.class_of(f"gone: {place}".replace("x", "mesh-failed")) is None
    # A device and a mount point are the machine's.
    for place in ("/dev/disk/sda", "/scratch"):
        assert TAXONOMY.class_of(f"negative volume of {place}") != "mesh_error"
