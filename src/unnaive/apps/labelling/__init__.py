"""Labelling for people: in the terminal, and on a page."""
