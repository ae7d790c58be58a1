"""Verdicts that a person overturned: the next one on the same feature and stage asks a person.

The playbook keeps them, as insights with the tags below. `transom playbook retire ID` ends one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from transom.evidence.caps import Cap
from transom.investigator.result import Investigation
from transom.learning import Playbook

_VERDICT, _FEATURE, _STAGE, _FAILED = "overturned:", "feature:", "stage:", "failed:"


@dataclass(frozen=True)
class OverturnedInvestigation:
    """A verdict that a person overturned.

    Attributes:
        verdict: the verdict.
        failed: ids of the required criteria that had failed.
        text: who overturned it, and why.
    """

    verdict: str
    failed: frozenset[str]
    text: str

    def speaks_against(self, verdict: str, failed: Collection[str]) -> bool:
        """Return whether a verdict is the same again, on no new grounds.

        A criterion that had not failed then is a new reason for NOT_READY, which stands.
        """
        return self.verdict == verdict and self.failed.issuperset(failed)

    @property
    def cap(self) -> Cap:
        """What holds a READY back; a policy can accept it by its text."""
        return Cap("overturned", self.text)


def tags_of_overturned(result: Investigation) -> list[str]:
    """Return the tags by which the playbook finds an overturned verdict again."""
    tags = [
        f"{_VERDICT}{result.verdict}",
        f"{_FEATURE}{result.feature_id}",
        f"{_STAGE}{result.target_stage}",
    ]
    for row in result.criteria:
        if row.required and row.status == "fail":
            tags.append(f"{_FAILED}{row.id}")
    return tags


def overturned_before(
    playbook: Playbook | None, feature_id: str, stage: str
) -> list[OverturnedInvestigation]:
    """Return the verdicts on a feature for a stage that a person overturned."""
    overturned = list[OverturnedInvestigation]()
    for insight in playbook.items.values() if playbook else ():
        verdict = "".join(_values(insight.tags, _VERDICT))
        is_same = {f"{_FEATURE}{feature_id}", f"{_STAGE}{stage}"}.issubset(insight.tags)
        if not verdict or not is_same:
            continue
        person = next((source.by for source in insight.sources if source.by), "a person")
        failed = frozenset(_values(insight.tags, _FAILED))
        text = f"{person} overturned this verdict: {insight.content}"
        overturned.append(OverturnedInvestigation(verdict, failed, text))
    return overturned


def _values(tags: Iterable[str], prefix: str) -> list[str]:
    return [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)]
