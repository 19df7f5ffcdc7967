"""Supervised fastText models: read from fastText's files, scored as fastText does, otherwise used like any model."""
