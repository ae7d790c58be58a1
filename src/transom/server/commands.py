"""The commands that a person can start from a form, and the models of the forms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
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

    command: ClassVar[tuple[str, ...]]
    """The words of the command."""
    button: ClassVar[str]
    """The text of the button that starts the command."""
    subject: ClassVar[str] = ""
    """The field whose lines are the arguments behind the options; "" if there are none."""

    def arguments(self, workspace: Path) -> list[str]:
        """Return the arguments of the command, which works in a workspace."""
        options = [f"--workspace={workspace}"]
        for name, value in self.model_dump(exclude={self.subject}, exclude_none=True).items():
            option = _OPTIONS.get(name, name.replace("_", "-"))
            # An empty field keeps the default of the command; one of many lines repeats its option.
            options += [f"--{option}={line}" for line in str(value).splitlines()]
        # After `--`, no value can be taken for an option.
        return [*self.command, *options, "--", *getattr(self, self.subject, "").splitlines()]


_OPTIONS = {"variables": "var"}
"""Options that have another name than their field."""


class CheckForm(StartForm):
    """Build a checker for an item and run it."""

    command = ("check", "all")
    button = "Start a check"
    subject = "item"

    item: Line = Field(title="Item", description="Item file, e.g. VER-01.yaml.", min_length=1)
    variables: Lines = Field("", title="Variables", description=_VARIABLES)


class BatchForm(StartForm):
    """Check many items at once."""

    command = ("check", "batch")
    button = "Start a batch"
    subject = "items"

    items: Lines = Field(
        title="Items", description="Folders, globs or item files, one a line.", min_length=1
    )
    variables: Lines = Field("", title="Variables", description=_VARIABLES)
    jobs: int = Field(4, title="Jobs", description="Number of items at once.", ge=1, le=64)


class InvestigateForm(StartForm):
    """Judge whether a feature is ready for its next stage."""

    command = ("investigate",)
    button = "Start an investigation"
    subject = "question"

    question: Line = Field(
        title="Question", description="Which feature, for which stage.", min_length=1
    )
    data: Line = Field(
        title="Data", description="Folder that holds a folder for each feature.", min_length=1
    )
    target: Line = Field("", title="Stage", description="Stage to judge the feature for.")
    policy: Line = Field("", title="Policy", description="Policy file with your own criteria.")
    as_of: Line = Field("", title="As of", description="Day of the judgement [today].")


class ReleaseForm(StartForm):
    """Judge all features of a release, and list what is left to do."""

    command = ("release",)
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


class StudyForm(StartForm):
    """Run a study, or continue an interrupted one."""

    command = ("study", "run")
    button = "Start a study"
    subject = "study"

    study: Line = Field(
        title="Study", description="Its YAML file, or its name in this workspace.", min_length=1
    )
    trials: int | None = Field(
        None, title="Trials", description="Total number of solves [the study's budget].", ge=1
    )


class DoctorForm(StartForm):
    """Report what is installed, and what works on this machine."""

    command = ("doctor",)
    button = "Run the doctor"


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
        hint = "go back to the form, in which your browser keeps what you typed"
        raise InputError(str(first["msg"]), place=place, hint=hint) from error
