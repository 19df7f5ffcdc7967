"""Thin skins over the library: command line, service, Spark."""
