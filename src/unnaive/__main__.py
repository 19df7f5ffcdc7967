"""`python -m unnaive` is the command line."""

from unnaive.apps.cli.main import main

if __name__ == "__main__":
    main()
