# From a fresh clone to the report: make reproduce. All that is needed goes into .venv; nothing else is changed.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Any Python that runs will do here: the set-up looks for a newer one if this one is too old.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 7))' 2>/dev/null && echo "$$name" && break; done)

VENV := .venv
BIN := $(VENV)/bin
# The name holds a sum of the folder: scripts in a virtual environment do not survive a move, so it is made anew.
STAMP := $(VENV)/ready-$(shell pwd -P | cksum | cut -d ' ' -f 1)

WORKERS ?= 2
NBVAL := --nbval --nbval-current-env --nbval-sanitize-with tests/nbval_sanitize.cfg --nbval-cell-timeout 900

.PHONY: help
help: ## show this list
	@echo "Usage: make <target>"
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do \
		printf '  %-12s %s\n' "$$name" "$$what"; done
	@echo "One experiment: make reproduce EXPERIMENT=tstorm-word-count; a first look: EXPERIMENT=quick"

.PHONY: venv
venv: $(STAMP) ## set up the virtual environment (every target does so when it is needed)

$(STAMP): requirements.lock pyproject.toml $(wildcard tools/*.py)
	@if [ -z "$(PYTHON)" ]; then \
		echo "set-up: no python3 was found; install one (on Debian or Ubuntu: sudo apt-get install python3)" >&2; \
		exit 1; fi
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --stamp $(notdir $@)

.PHONY: reproduce
reproduce: $(STAMP) ## run the experiments, or one (EXPERIMENT=slug), and write the report
	@$(BIN)/storm-lab reproduce $(EXPERIMENT)

.PHONY: test
test: lint ## check style and types, run the quick tests and re-run the committed notebooks
	@: "Tests alone do not keep two cores busy. Kernels start when they are done, as they take ports that others may."
	@$(MAKE) -j 2 unit types-runs
	@$(MAKE) notebooks

.PHONY: types-runs
types-runs:
	@$(MAKE) types
	@$(MAKE) notebook-runs

.PHONY: lint
lint: $(STAMP) ## check style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: format
format: $(STAMP) ## put the style right
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: types
types: $(STAMP) ## check types
	@$(BIN)/mypy

.PHONY: unit
unit: $(STAMP) ## run the quick tests
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup

.PHONY: test-slow
test-slow: $(STAMP) ## run all tests and re-run all committed notebooks, those of minutes too
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup -m "not live"
	@$(MAKE) notebooks NOTEBOOKS="$(notdir $(basename $(wildcard reports/verdicts/*.json)))"

# One after the other: each starts a cluster of JVMs. LIVE="live and not slow" takes the ones of a minute.
LIVE ?= live
.PHONY: test-live
test-live: $(STAMP) ## run the tests that start real Apache Storm; its jars are fetched where they are missing
	@$(BIN)/pytest -q -m "$(LIVE)" tests/live

# Names of executed notebooks; without a choice of one's own the quick ones.
NOTEBOOKS ?= $(shell grep -v '^\#' tests/nbval_quick.txt)

# All runs, and their metrics in one Spark session, beforehand: the notebooks only read them.
.PHONY: notebook-runs
notebook-runs: $(STAMP)
	@$(BIN)/storm-lab reproduce --no-notebooks $(NOTEBOOKS)

.PHONY: notebooks
notebooks: notebook-runs ## re-run quick executed notebooks in reports/, or NOTEBOOKS="slug ...", and compare outputs
	@$(BIN)/pytest -q -m "" $(NBVAL) -n $(WORKERS) --dist loadscope $(NOTEBOOKS:%=reports/notebooks/%.ipynb)

.PHONY: lab
lab: $(STAMP) ## open JupyterLab on the notebooks
	@$(BIN)/storm-lab lab

.PHONY: doctor
doctor: $(STAMP) ## tell what is there and what is wrong
	@$(BIN)/storm-lab doctor

.PHONY: docs
docs: $(STAMP) ## build the documentation site in site/; fetches its tools at the first time
	@$(BIN)/python -c "import mkdocs_jupyter, mkdocstrings, material" 2>/dev/null || \
		$(BIN)/python -m pip install -q --no-build-isolation -c requirements.lock -e '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html"

.PHONY: dist
dist: $(STAMP) ## build wheel and sdist in dist/ and check them
	@$(BIN)/python -c "import twine" 2>/dev/null || \
		$(BIN)/python -m pip install -q --no-build-isolation -c requirements.lock -e '.[publish]'
	@rm -rf dist build
	@$(BIN)/python -c "from setuptools import build_meta as b; b.build_sdist('dist'); b.build_wheel('dist')" >/dev/null
	@$(BIN)/python -m twine check --strict dist/*

.PHONY: lock
lock: ## make requirements.lock anew from pyproject.toml
	@# Not by way of the stamp: a lock that contradicts a new range would keep the set-up from ending.
	@[ -x $(BIN)/python ] || $(MAKE) venv
	@$(BIN)/python tools/lock.py

.PHONY: clean
clean: ## take away the virtual environment, caches and runs
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis site dist data/runs data/cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
