"""What pytest leaves out of the modules whose docstrings it runs: those that need an extra that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/unnaive/scaleout/spark/pipelines.py"]
