# `make` lists the verbs. Each sets up what it needs, once.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8000
WORKERS ?= 2
NB ?= $(wildcard book/*.ipynb book/deeper/*.ipynb)
REF ?= main

# Packages are installed without their bytecode; Python writes what it imports, also where the environment says it should not.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv/bin/python
NBVAL := -p tests.support.chapters --nbval --nbval-current-env --nbval-cell-timeout 120 --dist loadfile --no-loadscope-reorder
NOTEBOOKS := book/*.ipynb exercises/*.ipynb solutions/*.ipynb
PYTEST := COURSE_SITE_IS_BUILT=1 $(VENV) -m pytest -q -n $(WORKERS)

.PHONY: help book serve pdf zip lab address test test-all test-notebooks notebooks exercises seeds peers bench reproduce lint colab \
	binder clean python venv venv-book

help:   ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{ printf "make %-12s %s\n", $$1, $$2 }'

book: venv-book   ## build the HTML book from the stored outputs
	@$(VENV) book/_tools/fetch_mathjax.py
	@$(VENV) book/_tools/make_book.py build

serve:   ## show the built book on localhost [PORT=8000]
	@test -f _build/html/index.html || $(MAKE) --no-print-directory book
	@$(VENV) book/_tools/make_book.py serve $(PORT)

pdf: venv book   ## print the book to _build/from-the-chain-rule-to-bert.pdf (with Chromium)
	@$(VENV) book/_tools/print_book.py

zip: book   ## the built book in one file, to be read without a network
	@$(VENV) book/_tools/make_book.py zip

lab: venv   ## open the chapters in JupyterLab, with the library [PORT=8888] [LABFLAGS=...]
	@$(PYTHON) book/_tools/environment.py book course lab
	@.venv/bin/jupyter lab --config=book/_tools/lab_config.py $(if $(filter 0,$(shell id -u)),--allow-root) $(LABFLAGS) --ServerApp.root_dir="$(CURDIR)" --port=$(if $(filter file,$(origin PORT)),8888,$(PORT)) book/01-chain-rule.ipynb

address: venv   ## write the address of a fork into buttons, badges and set-up cells: URL=... [REF=v1.0]
	@$(VENV) book/_tools/address.py $(if $(URL),"$(URL)" --ref "$(REF)")

test:   ## the library, the notebooks, the exercises and the built book: about 10 minutes on two cores
	@$(MAKE) --no-print-directory -j 2 venv book
	@$(PYTEST) $(NBVAL) -m "not thorough" $(NOTEBOOKS) tests

test-all: venv book   ## the rest: browsers, all attacks, more seeds, stored weights, full sizes: about 30 minutes more
	@$(PYTEST) --dist loadgroup --no-loadscope-reorder -m thorough tests
	@$(PYTEST) $(NBVAL) book/deeper/*.ipynb

test-notebooks: venv
	@$(PYTEST) $(NBVAL) $(NOTEBOOKS) book/deeper/*.ipynb

notebooks: venv   ## run the notebooks and store their outputs [NB=book/04-fvsbn.ipynb]
	@$(VENV) book/_tools/nb.py run $(NB)

exercises: venv   ## build exercises/ from solutions/, run both, store their outputs
	@$(VENV) -m course_lib.grading build
	@$(VENV) book/_tools/nb.py run solutions/*.ipynb exercises/*.ipynb
	@$(VENV) -m course_lib.grading build --check

seeds: venv   ## grade every known answer on 200 seeds, 10 where an exercise trains; resumes [ONLY="03 train_nade"]
	@$(VENV) -m tests.thorough.seeds $(ONLY)

peers: venv   ## the same points from nbgrader, in an environment of its own
	@$(VENV) book/_tools/peers.py

bench: venv   ## speed beside a peer [NAME=...]
	@$(PYTHON) book/_tools/environment.py book course bench
	@$(VENV) -m benchmarks.speed $(NAME)

reproduce: venv   ## train and record a published result: NAME=...
	@$(VENV) -m benchmarks.reproduce $(NAME)

lint: venv   ## style, imports, dependencies and spelling
	@$(VENV) -m ruff check .
	@.venv/bin/deptry .
	@.venv/bin/lint-imports
	@$(VENV) book/_tools/spelling.py

colab: venv   ## run a chapter from the built wheel among Colab's versions [NB=book/01-chain-rule.ipynb]
	@$(VENV) book/_tools/colab.py $(if $(filter file,$(origin NB)),book/01-chain-rule.ipynb,$(NB))

binder: venv   ## take the steps of a Binder launch
	@bash book/_tools/binder.sh

clean:   ## remove what was built; the environment too
	@rm -rf _build build .venv *.egg-info .pytest_cache .ruff_cache

venv: venv-book   ## the environment of the library, the tests and the notebooks: .venv
	@$(PYTHON) book/_tools/environment.py course

venv-book: python
	@$(PYTHON) book/_tools/environment.py book

python:
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON) here: install Python 3.11 or newer, or name yours: make PYTHON=/path/to/python ..." >&2; exit 1; }
