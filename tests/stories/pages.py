"""Backlogs in the known formats, written for these tests."""

from __future__ import annotations

V6_STORY = """# Story 2.1: Count visitors

Status: ready-for-dev

<!-- {{template}} comments and `{{ braces }}` in code are no placeholders -->

## Story

As a shop owner,
I want a counter of visitors,
so that I know which days are busy.

## Acceptance Criteria

1. **Given** an empty log, **when** I ask for the count, **then** it is 0 (AC: #1)
2. **Given** three visits on one day,
   **when** I ask for that day, **then** it is 3

## Tasks / Subtasks

- [ ] Task 1: the counter (AC: #1, #2)
  - [x] 1.1 a class
- [ ] Task 2: a test (AC: 2)

## Dev Notes

### Files to Create/Modify

| File | Change |
|------|--------|
| `shop/counter.py` | NEW - the counter |
| `shop/__init__.py` | export it |
"""

V4_STORY = """# Story 3.2: Close the shop

## Status

**Draft**

## Story

**As a** shop owner,
**I want** to close,
**so that** I can sleep.

## Acceptance Criteria

1. Closing twice is refused with a message
"""

SPRINT = """# our sprint
# STATUS: done means done
project: shop
story_location: "docs/stories"

development_status:
  # Epic 2: counting
  epic-2: in-progress
  2-1-count-visitors: backlog  # Ann looks at it
  2-2-print-a-report: 'backlog'
  epic-2-retrospective: optional

action_items:
  - epic: 1
    status: open
"""

EPICS = """# Shop - Epic Breakdown

## Epic List

### Epic 2: Counting

## Epic 2: Counting

### Story 2.1: Count visitors

As a shop owner,
I want a counter,
So that I know.

**Acceptance Criteria:**

**Given** an empty log
**When** I ask
**Then** it is 0

**Given** three visits
**When** I ask
**Then** it is 3
**And** the day is named

### Story 2.2: Print a report

As a shop owner,
I want a report,
So that I can file it.

**Acceptance Criteria:**

- The report names each day
- The report ends with a sum

**Prerequisites:** Story 2.1
"""

TASKS = """# Tasks: Photo albums

## Phase 1: Setup

**Purpose**: a place to work in

- [x] T001 Create the project in src/albums/__init__.py

## Phase 2: User Story 1 - Sort by date (Priority: P1) 🎯 MVP

**Goal**: albums in order

**Independent Test**: three albums come back sorted by date

- [ ] T002 [P] [US1] Test in tests/test_sort.py
- [ ] T003 [US1] Sorting in src/albums/sort.py

## Phase 3: User Story 2 - Drag and drop (Priority: P2)

- [ ] T004 [US2] Dragging in src/albums/drag.py

## Phase 4: Polish

- [ ] T005 [P] Documentation in docs/albums.md
"""

SPEC = """# Feature Specification: Photo albums

### User Story 2 - Drag and drop (Priority: P2)

Somebody drags an album to another place.

**Acceptance Scenarios**:

1. **Given** two albums, **When** one is dragged, **Then** they change places
"""

LIST = """# in order of execution
- id: "1"
  title: Limit the rate
  description: >-
    A limiter in front of the public API.
  spec_checkpoint: true
  invoke_dev_with: Use the client that is there.
- id: "2"
  title: Show the limits
  description: Counters on a page.
"""

EPIC = """epic_id: epic-7
title: Numbers
stories:
  - id: story-1
    title: Add
    description: Add two numbers.
    dependencies: []
    acceptance_criteria: ["add(2, 2) is 4", "adding a text is refused"]
    files:
      create: [src/add.py, tests/test_add.py]
  - id: story-2
    title: Multiply
    description: Multiply two numbers.
    dependencies: [story-1]
    acceptance_criteria:
      - mul(2, 3) is 6
    files:
      modify: [src/add.py]
"""
