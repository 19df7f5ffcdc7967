"""The command line: `main` runs it, `commands` holds one file for each command."""
