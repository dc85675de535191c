# The two commands are `make talk` and `make test`; each does its own set-up.
PYTHON := .venv/bin/python

.PHONY: talk test check format quality clean

talk: ## set up this machine, fetch the default model, hold a conversation
	@packaging/setup.sh talk
	@$(PYTHON) -m app talk

test: ## set up, run the static checks and all tests
	@packaging/setup.sh test
	@$(MAKE) --no-print-directory check
	@$(PYTHON) -m app models fetch pocket
	@$(PYTHON) -m pytest

check: ## the static checks alone
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m mypy
	@.venv/bin/lint-imports --no-logo 2>/dev/null || .venv/bin/lint-imports

format: ## rewrite the code as the checks want it
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

clean: ## remove what the commands made in this folder
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
