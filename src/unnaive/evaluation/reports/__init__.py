"""Helpers for pages and figures; each page is beside the code whose results it shows."""
