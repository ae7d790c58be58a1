"""The commands that a person can start from a form, and the models of the forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from transom.errors import InputError


def _one_line(text: str) -> str:
    if any(not sign.isprintable() for sign in text):
        raise ValueError("must be one line of printable text")
    return text.strip()


def _lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


Line = Annotated[str, AfterValidator(_one_line), Field(max_length=1_000)]
Lines = Annotated[
    str, AfterValidator(_lines), Field(max_length=10_000, json_schema_extra={"format": "textarea"})
]
_VARIABLES = "Value of a variable in paths as NAME=PATH, one a line."


class StartForm(BaseModel):
    """The options of a command that a person starts; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")

    button: ClassVar[str]
    """The text of the button that starts the command."""

    def arguments(self) -> list[str]:
        """Return the arguments of the command."""
        raise NotImplementedError


class CheckForm(StartForm):
    """Build a checker for an item and run it."""

    button = "Start a check"

    item: Line = Field(title="Item", description="Item file, e.g. VER-01.yaml.", min_length=1)
    variables: Lines = Field("", title="Variables", description=_VARIABLES)

    def arguments(self) -> list[str]:
        # After `--`, no value can be taken for an option.
        return ["check", "all", *_variables(self.variables), "--", self.item]


class BatchForm(StartForm):
    """Check many items at once."""

    button = "Start a batch"

    items: Lines = Field(
        title="Items", description="Folders, globs or item files, one a line.", min_length=1
    )
    variables: Lines = Field("", title="Variables", description=_VARIABLES)
    jobs: int = Field(4, title="Jobs", description="Number of items at once.", ge=1, le=64)

    def arguments(self) -> list[str]:
        options = [f"--jobs={self.jobs}", *_variables(self.variables)]
        return ["check", "batch", *options, "--", *self.items.splitlines()]


class InvestigateForm(StartForm):
    """Judge whether a feature is ready for its next stage."""

    button = "Start an investigation"

    question: Line = Field(
        title="Question", description="Which feature, for which stage.", min_length=1
    )
    data: Line = Field(
        title="Data", description="Folder that holds a folder for each feature.", min_length=1
    )
    target: Line = Field("", title="Stage", description="Stage to judge the feature for.")
    policy: Line = Field("", title="Policy", description="Policy file with your own criteria.")
    as_of: Line = Field("", title="As of", description="Day of the judgement [today].")

    def arguments(self) -> list[str]:
        options = [f"--data={self.data}"]
        for name, value in (
            ("target", self.target),
            ("policy", self.policy),
            ("as-of", self.as_of),
        ):
            if value:
                options.append(f"--{name}={value}")
        return ["investigate", *options, "--", self.question]


class ReleaseForm(StartForm):
    """Judge all features of a release, and list what is left to do."""

    button = "Judge a release"

    data: Line = Field(
        title="Data", description="Folder that holds a folder for each feature.", min_length=1
    )
    fix_version: Line = Field(
        "", title="Version", description="Judge the features whose issues have this version."
    )
    features: Line = Field(
        "", title="Features", description="Judge these features, as A,B [all of the folder]."
    )
    target: Line = Field("", title="Stage", description="Stage to judge for [the last one].")
    policy: Line = Field("", title="Policy", description="Policy file with your own criteria.")
    waivers: Line = Field("", title="Waivers", description="File with approved waivers.")
    as_of: Line = Field("", title="As of", description="Day of the judgement [today].")

    def arguments(self) -> list[str]:
        options = [f"--data={self.data}"]
        # What is left empty keeps the default of the command.
        for name in ("fix_version", "features", "target", "policy", "waivers", "as_of"):
            if value := getattr(self, name):
                options.append(f"--{name.replace('_', '-')}={value}")
        return ["release", *options, "--"]


class StudyForm(StartForm):
    """Run a study, or continue an interrupted one."""

    button = "Start a study"

    study: Line = Field(
        title="Study", description="Its YAML file, or its name in this workspace.", min_length=1
    )
    trials: int | None = Field(
        None, title="Trials", description="Total number of solves [the study's budget].", ge=1
    )

    def arguments(self) -> list[str]:
        options = [] if self.trials is None else [f"--trials={self.trials}"]
        return ["study", "run", *options, "--", self.study]


class DoctorForm(StartForm):
    """Report what is installed, and what works on this machine."""

    button = "Run the doctor"

    def arguments(self) -> list[str]:
        return ["doctor", "--"]


FORMS: Mapping[str, type[StartForm]] = {
    "check": CheckForm,
    "batch": BatchForm,
    "investigate": InvestigateForm,
    "release": ReleaseForm,
    "study": StudyForm,
    "doctor": DoctorForm,
}
"""The forms by the names of their commands."""


def filled(kind: str, fields: Mapping[str, str]) -> StartForm:
    """Return a form as a person filled it in; InputError names the first field that is wrong."""
    model = FORMS.get(kind)
    if model is None:
        raise InputError(f"{kind!r} cannot be started here", hint=f"one of: {', '.join(FORMS)}")
    try:
        # An empty field has the value of one that was left out.
        return model.model_validate({name: text for name, text in fields.items() if text.strip()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(str(first["msg"]), place=place, hint="correct the form") from error


def _variables(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"--var={line}"
