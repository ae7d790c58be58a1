"""Code that is appended to a checker's atoms, so that atom A sees a long file piece by piece."""

from __future__ import annotations

import re

from transom.checklist.atoms import LOCKED_LAYER

# Appended to a checker's atoms. It gives a piece of whole lines to what atom A has begun for the
# file, or cuts it into lines or records and asks atom A about each. This is done there and not
# here, because RECORD_START is the atoms' own expression: it could keep this process busy.
_PIECES = (
    '''

TRANSOM_HELD = []  # lines of a record whose end a later piece will show
TRANSOM_BEGUN = []  # what atom A has begun for the file


def transom_piece(text, source_file, record_start, at, last, most):
    """Run atom A on the lines or the records of a piece that begins after line `at`."""
    import re
    if record_start is None and "begin_context" in globals():
        return transom_further(text, source_file, at, last)
    lines = text.split("\\n")
    if lines[-1] == "":
        lines.pop()
    found, problems = [], []

    def keep(made, before, count):
        if not isinstance(made, list):
            problems.append(f"extract_context returned {type(made).__name__}, not a list")
            return
        for one in made:
            number = one.get("line_number") if isinstance(one, dict) else None
            if isinstance(number, int) and not 1 <= number <= count:
                problems.append(f"an entry points to line {number} of {count}")
            elif isinstance(number, int):
                one = {**one, "line_number": number + before}
            found.append(one)

    def see(held, end):
        made = extract_context(text="\\n".join(held), source_file=source_file)
        keep(made, end - len(held), len(held))

    if record_start is None:
        for before, line in enumerate(lines, at):
            made = extract_context(text=line, source_file=source_file)
            if made != []:
                keep(made, before, 1)
        return {"entries": found, "problems": problems[:1]}
    starts = re.compile(record_start).search
    held = TRANSOM_HELD[:] if at else []
    for number, line in enumerate(lines, at):
        if held and starts(line):
            see(held, number)
            held = []
        held.append(line)
    if last and held:
        see(held, at + len(lines))
    elif sum(map(len, held)) > most:
        begun = at + len(lines) - len(held) + 1
        problems.append(f"the record that begins in line {begun} has more than {most} characters")
    TRANSOM_HELD[:] = held
    return {"entries": found, "problems": problems[:1]}


def transom_further(text, source_file, at, last):
    """One piece to what atom A has begun, and where it is the last, the end."""
    if not at:
        TRANSOM_BEGUN[:] = [begin_context(source_file=source_file)]
    made = [TRANSOM_BEGUN[0].feed(text), *([TRANSOM_BEGUN[0].finish()] if last else [])]
    strange = [type(one).__name__ for one in made if not isinstance(one, list)]
    if strange:
        return {"entries": [], "problems": [f"feed or finish returned {strange[0]}, not a list"]}
    entries = [one for some in made for one in some]
    return {"entries": transom_layer(entries, source_file), "problems": []}


def transom_layer(results, source_file):
'''
    + LOCKED_LAYER
)

_BEGINS = re.compile(
    r'^def extract_context\(.*\n(?: +""".*"""\n)? +(\w+) ='
    r" begin_context\((?:source_file=)?source_file\)\n"
    r" +results = \1\.feed\(text\) \+ \1\.finish\(\)\n+" + re.escape(LOCKED_LAYER),
    re.MULTILINE,
)


def with_pieces(atoms: str) -> str:
    """Return the atoms as a worker loads them.

    What atom A begins stands for its `extract_context` only as long as that does nothing else; what
    a person wrote into it counts, so such an atom gets its files whole.
    """
    has_context = "begin_context" in atoms and (
        atoms.count("def extract_context") > 1 or not _BEGINS.search(atoms)
    )
    return atoms + _PIECES + ('\n\nSCOPE = "file"\n' if has_context else "")
