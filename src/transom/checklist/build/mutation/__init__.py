"""Does a checker test what its ItemSpec says? Its examples and the real files decide.

`examples` runs atom A on each example of the ItemSpec, alone and in place of a real line; `alterations` changes what
atom A read from the real files; `patterns` asks about lines that a pattern of Section 4.1
matches and no entry stands on.
"""

from transom.checklist.build.mutation.gate import Mutation, mutate

__all__ = ["Mutation", "mutate"]
