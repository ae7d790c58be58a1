"""Outputs of solvers and of machines, in texts of our own after public documentation.

What a broken machine or set-up says must not be called the design's fault, and what a solver says
of a design must not be called the machine's.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from transom.studies.failures import classify
from transom.studies.job_output import JobOutput
from transom.studies.taxonomy import load_taxonomy

TAXONOMY = load_taxonomy()

MACHINE = [
    ("abaqus", 1, "Abaqus License Manager checked out no tokens: 12 requested, 3 available."),
    ("abaqus", 1, "Abaqus Error: All standard tokens of the license pool are checked out."),
    ("ansys", 7, "*** ERROR ***\n ANSYS license: request for mech_2 was denied by host lic01."),
    ("ansys", 1, "*** FATAL ***\n Could not connect to any license server. Server is down."),
    ("nastran", 1, "NASTRAN: license request was rejected, maximum number of users reached (-4)"),
    ("nastran", 1, "sh: /apps/nastran/bin/nastran: Permission denied"),
    ("ls-dyna", 1, "LSTC license: no program MPPDYNA slots are free, request queued and dropped"),
    ("star-ccm", 1, "error: Server process has exited: host n12 is unreachable"),
    ("fluent", 1, "Error: licence feature cfd_base: all seats are taken"),
    ("comsol", 1, "Error: Could not obtain license for Structural Mechanics Module (-4)."),
    ("matlab", 1, "License checkout of Optimization_Toolbox denied: limit of 2 reached."),
    ("openfoam", 127, "bash: simpleFoam: command not found"),
    ("openfoam", 127, "simpleFoam: error while loading shared libraries: libOpenFOAM.so: missing"),
    ("openfoam", 1, "simpleFoam: symbol lookup error: libfvOptions.so: undefined symbol: _ZN4Foam"),
    ("code_aster", 1, "as_run: No module named 'asrun'"),
    ("calculix", 1, "ccx: /lib/libm.so.6: version `GLIBC_2.38' not found (required by ccx)"),
    ("calculix", 126, "bash: ./ccx: cannot execute binary file: Exec format error"),
    ("calculix", 1, "forrtl: severe (38): error during write, unit 8: Disk quota exceeded"),
    ("calculix", 1, "cannot write job.frd: No space left on device"),
    ("su2", 1, "mpirun was unable to reach node n03: connection refused"),
    ("su2", 1, "There are not enough slots available in the system to satisfy the 16 slots asked."),
    ("su2", 1, "ORTE has lost communication with a remote daemon. HNP daemon on n01"),
    ("lammps", 1, "MPI_Init failed: PMI server not found, errors in fabric setup"),
    ("lammps", 1, "CUDA driver version is insufficient for CUDA runtime version"),
    ("gromacs", 1, "Error: GPU 0 is not available: device was lost"),
    ("gromacs", 1, "srun: error: Unable to create step for job 811: Node failure on n07"),
    ("quantum espresso", 1, "slurmstepd: error: *** JOB 88 ON n02 CANCELLED DUE TO PREEMPTION ***"),
    ("quantum espresso", 1, "slurmstepd: error: Detected 1 oom_kill event in StepId=88.0"),
    ("elmer", 1, "ssh: connect to host node17 port 22: No route to host"),
    ("elmer", 1, "ssh: Could not resolve hostname node17: Name or service not known"),
    ("elmer", 1, "Host key verification failed."),
    (
        "python",
        1,
        "Traceback (most recent call last):\nModuleNotFoundError: No module named 'gmsh'",
    ),
    ("python", 1, "ImportError: libGLU.so.1: cannot open shared object file"),
    (
        "python",
        1,
        '  File "job.py", line 4\n    return (\n           ^\nSyntaxError: unexpected EOF',
    ),
    ("python", 1, "IndentationError: unexpected indent (job.py, line 12)"),
    ("python", 1, "PermissionError: [Errno 13] Permission denied: '/scratch/job'"),
    ("python", 1, "ConnectionRefusedError: [Errno 111] Connection refused"),
    ("python", 1, "OSError: [Errno 116] Stale file handle: '/net/deck.inp'"),
    ("python", 1, "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
    ("python", 1, "OSError: [Errno 28] No space left on device"),
    ("docker", 1, "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
    ("apptainer", 255, "FATAL: could not mount /data: Input/output error"),
    ("modules", 1, "ERROR: Unable to locate a modulefile for 'ansys/2024R1'"),
    ("shell", 1, "bash: fork: Cannot allocate memory"),
    ("shell", 126, "/bin/sh: ./solve.sh: /usr/bin/python4: bad interpreter"),
    ("shell", 1, "cp: error reading 'deck.inp': Input/output error"),
    ("shell", 1, "open of results.db failed: Too many open files"),
    ("shell", -9, ""),
]

DESIGN = [
    ("abaqus", 1, "***ERROR: 12 elements have zero or negative volume in part ARM"),
    ("abaqus", 1, "***ERROR: TOO MANY ATTEMPTS MADE FOR THIS INCREMENT"),
    (
        "ansys",
        8,
        "*** ERROR ***\n Element 44 has a Jacobian ratio above the limit, and is inverted.",
    ),
    ("ansys", 8, "*** ERROR ***\n The solution did not converge within 25 iterations."),
    ("nastran", 1, " *** USER FATAL MESSAGE 9137 (SEKRRS)\n EXCESSIVE PIVOT RATIOS IN MATRIX KLL"),
    ("nastran", 1, " *** USER FATAL MESSAGE 4297 \n CQUAD4 77 HAS AN INTERIOR ANGLE OVER 180"),
    ("ls-dyna", 1, " *** Error 40509 (SOL+509)\n     negative volume in brick element 1201"),
    ("star-ccm", 1, "error: Floating point exception in the solver: solution diverged"),
    ("fluent", 1, "Error: divergence detected in AMG solver: pressure correction"),
    ("comsol", 1, "Error: Failed to find a solution. The linear solver did not converge."),
    ("openfoam", 1, "--> FOAM FATAL ERROR:\nMaximum number of iterations exceeded: 100"),
    ("openfoam", 1, " ***Negative volumes in 3 cells, minimum -1.2e-12"),
    ("code_aster", 1, " ! <F> <FACTOR_11> la matrice est singuliere au noeud N12 !"),
    ("code_aster", 1, " ! <S> <MECANONLINE9_7> defaut de convergence sur 20 iterations !"),
    ("calculix", 201, "*ERROR in e_c3d: nonpositive jacobian determinant in element 30"),
    ("calculix", 201, "*ERROR: too many cutbacks; best solution kept"),
    ("su2", 1, "Error: SU2 has diverged (Residual > 10^20 detected)."),
    ("lammps", 1, "ERROR: Simulation box volume is negative, cell is degenerate element"),
    ("gromacs", 1, "Fatal error: 11 particles moved too far; the step size is too small"),
    ("elmer", 1, "ERROR:: SolveSystem: iteration did not converge to tolerance"),
    ("radioss", 0, " ERROR ID :  205\n ** NEGATIVE VOLUME IN SOLID 9\n RUN STOPPED: ENERGY ERROR"),
    ("xfoil", 0, " VISCAL:  Convergence failed\n Point not converged, alpha = 12"),
    ("avl", 0, " Trim convergence failed"),
    ("ngspice", 0, "doAnalyses: TRAN:  Timestep too small\nrun simulation(s) aborted"),
    (
        "ngspice",
        1,
        "Warning: singular matrix:  check node out\ndoAnalyses: iteration limit reached",
    ),
    (
        "quantum espresso",
        0,
        " Program PWSCF v.7\n convergence NOT achieved after 99 steps\n JOB DONE.",
    ),
    ("gmsh", 1, "Error   : Self-intersecting facets: the surface mesh overlaps itself"),
    ("netgen", 1, "Error: meshing failed, too many attempts in volume 1"),
    ("opencascade", 1, "StdFail_NotDone: BRep_API: command not done, fillet of radius 4"),
    ("tetgen", 1, "Error: a self-intersection was found: PLC error at facet 12"),
    ("python", 1, "ValueError: the hole is outside of the plate: geometry is empty shape"),
    ("python", 1, "ZeroDivisionError: float division by zero"),
    ("python", 1, "FloatingPointError: the iteration did not converge"),
    ("python", 1, "numpy.linalg.LinAlgError: Singular matrix"),
    ("python", 1, "AssertionError: wall thickness must be positive"),
    ("mfem", 1, "PCG: No convergence after 2000 iterations"),
    ("petsc", 1, "Linear solve did not converge due to DIVERGED_ITS iterations 10000"),
    ("openmdao", 1, "AnalysisError: Solver 'NL: Newton' on system 'wing' failed to converge"),
    ("modelica", 1, "Simulation aborted: the nonlinear system 12 did not converge at time 0.3"),
    ("aswing", 1, "Newton iteration not converged: mechanism, matrix is singular"),
    ("mpi", 139, "mpirun noticed that process rank 3 with PID 77 exited on signal 11 (SIGSEGV)"),
    ("shell", -11, "Segmentation fault (core dumped)"),
    ("shell", 3, "the wall buckled at 0.8 of the load"),
]

SOLVED = [
    (
        "calculix",
        "CalculiX Version 2.21\n *WARNING: no convergence of the first cutback\n Job finished",
    ),
    ("openfoam", "OpenFOAM v2312\nlicensed under the GNU General Public License\nEnd"),
    ("su2", "SU2_CFD 8.0\nErrors in the mesh: none\nExit Success (SU2_CFD)"),
    (
        "gromacs",
        ":-) GROMACS - gmx mdrun (-:\nconnection table: 12 bonds lost none\nFinished mdrun",
    ),
    ("lammps", "LAMMPS (2 Aug 2023)\nDangerous builds = 0\nTotal wall time: 0:00:03"),
    ("quantum espresso", " Program PWSCF v.7\n convergence has been achieved\n JOB DONE."),
    ("xfoil", " XFOIL Version 6.99\n VISCAL:  rms: 0.3E-05\n Point added to stored polar  1"),
    ("avl", " Athena Vortex Lattice  Program\n Trim converged in 4 iterations"),
    (
        "ngspice",
        "Note: No compatibility mode selected!\nNote: Source stepping completed\nNo. rows: 9",
    ),
    ("radioss", " RADIOSS ENGINE\n ERROR TERMINATION LIMIT 5 %\n     NORMAL TERMINATION"),
    ("comsol", "License expires in 12 days\nSolution time: 12 s"),
    ("python", "warning: the connection of beam 2 is rigid\nmass = 12.5"),
]


def severity(text: str, return_code: int) -> tuple[str | None, str]:
    """Return the class of an output and its severity."""
    found = classify(JobOutput({"stdout.txt": text + "\n"}, return_code=return_code), TAXONOMY)
    return found.failure, found.severity


def test_at_most_one_in_twenty_machine_failures_is_called_the_designs_fault() -> None:
    blamed = [
        (solver, text, severity(text, code)[0])
        for solver, code, text in MACHINE
        if severity(text, code)[1] not in ("machine", "study")
    ]
    assert len(blamed) <= 0.05 * len(MACHINE), blamed


@pytest.mark.parametrize(("solver", "code", "text"), DESIGN)
def test_what_a_solver_says_of_a_design_is_not_the_machines(
    solver: str, code: int, text: str
) -> None:
    failure, kind = severity(text, code)
    assert failure is not None and kind in ("design", "unclear")


def test_the_texts_that_name_a_fault_of_the_design_are_the_designs() -> None:
    unclear = []
    for solver, code, text in DESIGN:
        if severity(text, code)[1] == "unclear":
            unclear.append((solver, text))
    # A signal, a division by zero and a sentence without a word of a class tell no cause.
    assert len(unclear) <= 6, unclear


@pytest.mark.parametrize(("solver", "text"), SOLVED)
def test_a_good_run_with_frightening_words_is_solved(solver: str, text: str) -> None:
    assert severity(text, 0)[0] is None


def test_the_table_is_as_large_as_it_claims() -> None:
    rows = [row[0] for row in (*MACHINE, *DESIGN, *SOLVED)]
    assert len(rows) >= 100 and len(MACHINE) >= 30 and len(set(rows)) >= 15


UNSEEN = yaml.safe_load(
    Path(__file__).with_name("data").joinpath("machine_or_design.yaml").read_text("utf-8")
)


@pytest.mark.parametrize("row", UNSEEN, ids=lambda row: f"{row['solver']}-{row['kind']}")
def test_outputs_that_were_written_without_looking_at_the_classes(row: dict[str, object]) -> None:
    failure, blamed = severity(str(row["text"]), int(str(row["return_code"])))
    allowed = {
        "machine": ("machine", "study", "unclear"),
        "design": ("design", "unclear"),
        "solved": ("warning",),
    }
    assert blamed in allowed[str(row["kind"])]
    assert (failure is None) == (row["kind"] == "solved")


def test_most_outputs_that_tell_of_a_design_are_the_designs() -> None:
    named, told = 0, 0
    for row in UNSEEN:
        if row["kind"] == "design":
            told += 1
            named += severity(row["text"], row["return_code"])[1] == "design"
    assert named >= 0.75 * told


IN_OTHER_WORDS = yaml.safe_load(
    Path(__file__).with_name("data").joinpath("design_words.yaml").read_text("utf-8")
)


def test_at_most_one_in_twenty_outages_in_words_of_designs_is_called_the_designs() -> None:
    blamed = []
    for source, code, text in IN_OTHER_WORDS["machine"]:
        if severity(text, code)[1] == "design":
            blamed.append((source, text))
    # These lead to a control if they come in a row: see test_control.py.
    assert len(blamed) <= 0.05 * len(IN_OTHER_WORDS["machine"]), blamed


def test_no_fault_of_a_design_in_words_of_machines_is_called_the_machines() -> None:
    for source, code, text in IN_OTHER_WORDS["design"]:
        assert severity(text, code)[1] in ("design", "unclear"), (source, text)


ENDS_WITH_0 = yaml.safe_load(
    Path(__file__).with_name("data").joinpath("convergence.yaml").read_text("utf-8")
)


def test_at_most_one_in_twenty_solves_that_say_that_they_did_not_converge_is_solved() -> None:
    solved = []
    for source, text in ENDS_WITH_0["unconverged"]:
        if severity(text, 0)[0] is None:
            solved.append((source, text))
    assert len(solved) <= 0.05 * len(ENDS_WITH_0["unconverged"]), solved


def test_at_most_one_in_fifty_solves_that_mention_convergence_otherwise_failed() -> None:
    failed = []
    for source, text in ENDS_WITH_0["solved"]:
        if severity(text, 0)[0] is not None:
            failed.append((source, text))
    assert len(failed) <= 0.02 * len(ENDS_WITH_0["solved"]), failed
