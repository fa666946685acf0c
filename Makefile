# `make` lists the verbs. Each sets up what it needs, once.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8000
WORKERS ?= 2
NB ?= $(wildcard book/*.ipynb)
BRANCH ?= main

VENV := .venv/bin/python
NOTEBOOKS := $(wildcard book/*.ipynb exercises/*.ipynb solutions/*.ipynb)
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 120
PYTEST := $(VENV) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help book serve pdf zip lab address test test-fast notebooks exercises seeds peers bench reproduce lint colab binder clean python venv venv-book

help:   ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{ printf "make %-12s %s\n", $$1, $$2 }'

book: venv-book   ## build the HTML book from the stored outputs
	@.venv-book/bin/python tools/fetch_mathjax.py
	@.venv-book/bin/python tools/make_book.py build

serve:   ## show the built book on localhost [PORT=8000]
	@test -f _build/html/index.html || $(MAKE) --no-print-directory book
	@.venv-book/bin/python tools/make_book.py serve $(PORT)

pdf: venv book   ## print the book to _build/from-the-chain-rule-to-bert.pdf (with Chromium)
	@$(VENV) tools/print_book.py

zip: book   ## the built book in one file, to be read without a network
	@.venv-book/bin/python tools/make_book.py zip

lab: venv   ## open the chapters in JupyterLab, with the library [PORT=8888]
	@$(PYTHON) tools/make_venv.py .venv requirements.txt --package --also requirements-lab.txt
	@.venv/bin/jupyter lab --ServerApp.root_dir="$(CURDIR)" --port=$(if $(filter file,$(origin PORT)),8888,$(PORT)) book/01-chain-rule.ipynb

address: venv   ## write the address of a fork into buttons, badges and set-up cells: URL=... [BRANCH=main]
	@$(VENV) tools/address.py $(if $(URL),"$(URL)" --branch "$(BRANCH)")

test:   ## everything: library, notebooks, pages in a browser
	@$(MAKE) --no-print-directory -j 2 venv book        # two environments, one beside the other
	@rm -f _build/again.txt
	@COURSE_SITE_IS_BUILT=1 COURSE_MEASURE_AGAIN="$(CURDIR)/_build/again.txt" $(PYTEST) $(NBVAL) tests $(NOTEBOOKS)
	@test ! -s _build/again.txt || xargs $(VENV) -m pytest $(NBVAL) < _build/again.txt     # too long beside others: now alone

test-fast: venv   ## the part that takes less than two minutes
	@$(PYTEST) -m "not slow and not site and not browser" tests

notebooks: venv   ## run the notebooks and store their outputs [NB=book/03-fvsbn.ipynb]
	@$(VENV) tools/nb.py run $(NB)

exercises: venv   ## build exercises/ from solutions/, run both, store their outputs
	@$(VENV) -m course_lib.grading build
	@$(VENV) tools/nb.py run solutions/*.ipynb exercises/*.ipynb
	@$(VENV) -m course_lib.grading build --check

seeds: venv   ## judge every known answer over 200 seeds [ONLY="03 train_nade"]
	@$(VENV) tools/seeds.py $(ONLY)

peers: venv   ## the same points from nbgrader and otter, in environments of their own
	@$(VENV) tools/peers.py

bench: venv   ## speed beside a peer [NAME=...]
	@$(PYTHON) tools/make_venv.py .venv requirements.txt --package --also requirements-bench.txt
	@$(VENV) -m benchmarks.speed $(NAME)

reproduce: venv   ## train and record a published result: NAME=...
	@$(VENV) -m benchmarks.reproduce $(NAME)

lint: venv   ## style and spelling
	@$(VENV) -m ruff check .
	@$(VENV) tools/spelling.py

colab: venv   ## run a chapter from the built wheel among Colab's versions
	@$(VENV) tools/colab.py

binder: venv   ## take the steps of a Binder launch
	@bash tools/binder.sh

clean:   ## remove what was built; the environments too
	@rm -rf _build build .venv .venv-book *.egg-info .pytest_cache .ruff_cache

venv: python
	@$(PYTHON) tools/make_venv.py .venv requirements.txt --package

venv-book: python
	@$(PYTHON) tools/make_venv.py .venv-book requirements-book.txt

python:
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON) here: install Python 3.11 or newer, or name yours: make PYTHON=/path/to/python ..." >&2; exit 1; }
