"""Models for other languages: js, c and sql, each with a conformance file against which it can be run."""
