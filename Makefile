# `make` lists the targets. Each of them works on a fresh clone: the virtual environment is made when missing.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TREE := $(VENV)/tree

EXAMPLES := matmul_accumulate threshold_scatter digits
ROOMS := backend dialects isa passes runtime
STRICT := ptoc.isa ptoc.passes.planning ptoc.runtime

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | \
	while IFS='|' read -r target text; do printf '%-16s %s\n' "$$target" "$$text"; done

demo: $(STAMP)  ## run the examples; the last lines are their verdicts
	@mkdir -p $(VENV)/demo
	@for example in $(EXAMPLES); do \
	  echo "== examples/$$example.py"; \
	  $(BIN)/python examples/$$example.py | tee $(VENV)/demo/$$example.txt; \
	done
	@echo; echo "== verdicts"
	@for example in $(EXAMPLES); do tail -n 1 $(VENV)/demo/$$example.txt; done

test: $(STAMP)  ## the tests that everyone runs before a commit
	$(BIN)/python -m pytest -m "not slow" -n $(JOBS) --dist loadscope

# pytest exits with 5 when no test was selected, which is no failure here.
test-slow: $(STAMP)  ## the long tail: many random cases, packaging
	$(BIN)/python -m pytest -m slow -n $(JOBS) --dist loadscope || [ $$? -eq 5 ]

lint: $(STAMP)  ## ruff, and mypy --strict where the project promises it
	$(BIN)/ruff check .
	@rm -rf $(TREE) && mkdir -p $(TREE)/ptoc
	@ln -s $(addprefix $(CURDIR)/,$(wildcard frontend/*) $(ROOMS)) $(TREE)/ptoc/
	MYPYPATH=$(TREE) $(BIN)/mypy --strict --follow-imports=silent $(addprefix -p ,$(STRICT))

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "ptoc needs Python 3.11 or newer, and there is no $(PYTHON)" \
	  "on the path; name one with 'make PYTHON=/path/to/python3.11'" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ptoc needs Python 3.11 or" \
	  "newer, and $(PYTHON) is $$($(PYTHON) -V); name another with 'make PYTHON=/path/to/python3.11'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip 'setuptools>=77'
	$(BIN)/python -m pip install --quiet -e '.[test,examples]'
	@touch $@
