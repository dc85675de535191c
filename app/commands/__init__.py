"""The commands: each module adds its parser and runs, returning an exit code."""
