# Everything works on a fresh Debian or Ubuntu with git, make and bash; scripts/setup.sh gets the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
BIN := .venv/bin
DEMO := examples/oom-kill-behind-timeouts

.PHONY: help setup demo lint format docs test wheel clean

help: ## This list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 18

setup: ## Make .venv with the program, the durable backend and the development tools
	@scripts/setup.sh

demo: setup ## Diagnose the shipped example
	@if [[ -d $(DEMO) ]]; then \
	  echo '$$ firstfault diagnose $(DEMO)'; $(BIN)/firstfault diagnose $(DEMO); \
	else \
	  $(BIN)/firstfault --help; \
	fi

lint: setup ## Style, types and the directions of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: lint ## Everything that CI runs
	$(BIN)/pytest -q --cov --cov-report=

format: setup ## Apply the formatter and the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup ## Write the generated pages of docs/reference and the sample in the README
	$(BIN)/python -m scripts.reference

wheel: setup ## Build the wheel and the source archive into dist/
	$(BIN)/python -m build --quiet --outdir dist

clean: ## Remove what was built, the environment too
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
