# Each target makes what it needs in .venv and says what it does. Needs only Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# Where it is set, every process that the tests start reads all that it imports from source: 10 s of CPU time, not 4.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo warm test test-all uncompiled cover lint hunt matrix bench peers paper docs notebooks package clean

help:
	@echo "make demo    install dagopt into .venv, learn a network from bundled data, write demo/report.html"
	@echo "make test    install the test tools and run the suite, all but the slow tests"
	@echo "make test-all   the slow tests too, before a release"
	@echo "make warm    compile the kernels that the suite and usual runs need, on all cores"
	@echo "make uncompiled   the tests of the kernels as plain Python, which a debugger can step through"
	@echo "make cover   which lines the tests reach, kernels included"
	@echo "make lint    check style (ruff) and types (mypy)"
	@echo "make hunt    look for false claims and tracebacks in random instances and broken files (SECONDS=60 SEED=0)"
	@echo "make matrix  the core of the suite on every Python at hand, with the oldest and the newest numpy"
	@echo "make bench   time the kernels and the solvers, as ratios in one run"
	@echo "make peers   install FLOP, XGES and causal-learn into .venv-peers and compare with them (NODES='25 50 100')"
	@echo "make paper   run a small part of the paper's table 1 and show it beside the paper's figures"
	@echo "make docs    build the site into site/ (start at site/index.html); every link and formula is checked"
	@echo "make notebooks   run the notebooks in docs/notebooks again and store their outputs"
	@echo "make package build wheel and source archive, check them, learn a graph with the wheel on every Python at hand"
	@echo "make clean   remove .venv and everything made by the other targets"

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "dagopt needs Python 3.11 or newer, but '$(PYTHON)' is older or absent: make PYTHON=python3.12 ..."; exit 1; }
	@echo "making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/user: pyproject.toml | $(VENV)/made
	@echo "installing dagopt and what it needs (a minute or two the first time) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/test: pyproject.toml | $(VENV)/made
	@echo "installing dagopt with its test tools (a minute or two the first time) ..."
	@$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/user

$(VENV)/dev: pyproject.toml | $(VENV)/made
	@echo "installing dagopt with its test and lint tools (a minute or two the first time) ..."
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/test $(VENV)/user

# All of it at once, for .ci/run.
$(VENV)/all: pyproject.toml | $(VENV)/made
	@echo "installing dagopt with its test and lint tools and what builds the site (a minute or two the first time) ..."
	@$(PIP) --editable '.[dev,docs]'
	@touch $@ $(VENV)/dev $(VENV)/test $(VENV)/docs $(VENV)/user

demo: $(VENV)/user
	@$(BIN)/python -m dagopt.cli.demo demo

warm: $(VENV)/test
	@$(BIN)/python -m dagopt.cli warm

test: warm
	@echo "running the suite on all cores ..."
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not slow"

test-all: warm
	@echo "running the whole suite on all cores ..."
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

uncompiled: $(VENV)/test
	@echo "running the tests of the kernels as plain Python ..."
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels --numprocesses auto

# Compiled code is not traced, so the kernels are covered by their own tests, run uncompiled. Of the other tests those are
# left out that run documents, experiments and browsers.
NOT_COVERED := tests/kernels tests/experiments tests/test_docs.py tests/test_notebooks.py tests/test_hunt.py \
	tests/test_packaging.py tests/report/test_browser.py

cover: $(VENV)/test
	@$(BIN)/python -m coverage erase
	@echo "the tests of the kernels, uncompiled ..."
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest tests/kernels --numprocesses auto
	@echo "the tests of all other rooms, on all cores ..."
	@$(BIN)/python -m coverage run -m pytest --numprocesses auto --dist worksteal -m "not slow" $(addprefix --ignore ,$(NOT_COVERED))
	@$(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report

lint: $(VENV)/dev
	@echo "ruff ..." && $(BIN)/ruff check src tests benchmarks experiments hunt docs && $(BIN)/ruff format --check src tests benchmarks experiments hunt
	@echo "mypy ..." && $(BIN)/mypy

SECONDS ?= 60
SEED    ?= 0
hunt: $(VENV)/test
	@$(BIN)/python -m hunt --seconds $(SECONDS) --seed $(SEED) --state hunt.json

matrix:
	@$(PYTHON) -m hunt.matrix

$(VENV)/bench: pyproject.toml | $(VENV)/test
	@echo "installing the packages that are compared with ..."
	@$(PIP) --editable '.[bench]'
	@touch $@

bench: $(VENV)/bench
	@$(BIN)/python -m benchmarks

.venv-peers/made: benchmarks/peers.txt | $(VENV)/made
	@echo "installing FLOP, XGES and causal-learn into .venv-peers ..."
	@$(BIN)/python -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt
	@touch $@

NODES ?= 25 50 100
peers: $(VENV)/user .venv-peers/made
	@$(BIN)/python -m benchmarks.peers $(NODES)

paper: $(VENV)/user
	@$(BIN)/python -m experiments run table1 --quick
	@$(BIN)/python -m experiments show table1

$(VENV)/docs: pyproject.toml | $(VENV)/made
	@echo "installing dagopt with what builds the site and runs the notebooks ..."
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/user

docs: $(VENV)/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "wrote site/index.html"

notebooks: $(VENV)/docs
	@$(BIN)/python docs/notebooks/execute.py

$(VENV)/package: | $(VENV)/made
	@echo "installing what builds and checks the package ..."
	@$(PIP) build twine
	@touch $@

package: $(VENV)/package
	@$(BIN)/python -m hunt.package

clean:
	@rm -rf $(VENV) .venv-peers demo build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
