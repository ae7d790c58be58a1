"""Does a checker test what its ItemSpec says? Alter the evidence in real files; the result has to follow.

`locate` finds the evidence by the spec alone, `alter` changes it in declared ways, `score` runs the checker on each;
`faithful` and `numbers` compare the fields of atom A with the text itself, `steady` writes the same in other forms.
"""

from transom.checklist.build.mutation.score import Mutation, Setting, mutate

__all__ = ["Mutation", "Setting", "mutate"]
