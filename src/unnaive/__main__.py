"""The entry point of the command line, `unnaive` and `python -m unnaive`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while its modules are imported ends it as Ctrl-C does later."""
    try:
        from unnaive.apps.cli.main import main as run_command

        run_command()
    except KeyboardInterrupt:
        sys.stderr.write("unnaive: interrupted; no file was changed\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
