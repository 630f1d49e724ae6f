# Two commands: `make demo` shows what the harness does, `make test` is what CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types unit clean

demo: $(INSTALLED)
	$(BIN)/harness demo

test: lint types unit

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

unit: $(INSTALLED)
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -rf --durations 25; status=$$?; \
	if [ $$status -ne 1 ]; then exit $$status; fi; \
	echo "Once more, alone: what failed beside other tests."; \
	$(BIN)/pytest --last-failed --last-failed-no-failures none --maxfail 5 -rf

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis
