"""What a sprint status and the story files say of stories that are read from a page of epics.

A page is seldom written on: its stories may be finished long ago.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transom.errors import InputError
from transom.stories.backlog_search import PAGE, SHEET, STORY_FILE, BacklogSearch
from transom.stories.status import load_sprint_status, read_sprint_status, read_story_key
from transom.stories.story import CLOSED, Status, Story, read_status


@dataclass(frozen=True)
class _Record:
    """What a file says of a story.

    Attributes:
        team: the word before the number in a sprint status with the epics of several teams, or "".
        place: the file, and the line if it has several stories.
    """

    team: str
    number: str
    slug: str
    status: Status
    place: str


def slug_of(title: str) -> str:
    """Return the words of a title as in the key of a sprint status: `sign-in-form`."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def with_records(search: BacklogSearch, stories: Sequence[Story]) -> tuple[Story, ...]:
    """Return a page's stories, closed where a sprint status or a story's own file says so.

    If several pages have a story of the number, and the titles differ, the story is asked.
    """
    numbers = Counter[str]()
    for page in search.files_like(PAGE):
        for story in search.stories_on_page(page):
            numbers[story.id] += 1
    records = _of_page(stories, [*_records(search)])
    recorded = []
    for story in stories:
        own, same = list[_Record](), list[_Record]()
        for row in records:
            if row.number == story.id and row.status in CLOSED:
                own.append(row)
                if row.slug == slug_of(story.title):
                    same.append(row)
        if own and story.status not in CLOSED:
            record = (same or own)[0]
            fields: dict[str, str] = {"unclear": f"{record.place} says that {story.id} is closed"}
            if same or numbers[story.id] < 2:
                status = record.status
                fields = {"status": status, "status_text": status, "unclear": ""}
            story = story.model_copy(update=fields)
        recorded.append(story)
    return tuple(recorded)


def _of_page(stories: Sequence[Story], records: Sequence[_Record]) -> list[_Record]:
    """Return the records of the team whose titles are those of a page: the numbers of each team
    begin with 1.
    """
    titles = {(story.id, slug_of(story.title)) for story in stories}
    teams = Counter[str]()
    for row in records:
        if (row.number, row.slug) in titles:
            teams[row.team] += 1
    team = teams.most_common(1)[0][0] if teams else ""
    return [row for row in records if row.team == team]


def _records(search: BacklogSearch) -> Iterator[_Record]:
    """Yield what the sprint statuses and the story files of the project say."""
    for path in search.files_like(SHEET):
        # A sheet that cannot be read is another one's, or is reported where it is asked for.
        with contextlib.suppress(InputError):
            sprint = read_sprint_status(load_sprint_status(path), search.relative(path))
            for key, row in sprint.stories.items():
                if parts := read_story_key(key):
                    number, status = f"{parts.epic}.{parts.number}", read_status(row.text)
                    place = f"{sprint.source}:{row.line}"
                    yield _Record(parts.prefix, number, parts.slug, status, place)
    for path in search.files_like(STORY_FILE):
        with contextlib.suppress(InputError):
            story, parts = search.story_file(path), read_story_key(path.stem)
            team = parts.prefix if parts else ""
            yield _Record(team, story.id, slug_of(story.title), story.status, story.source)
