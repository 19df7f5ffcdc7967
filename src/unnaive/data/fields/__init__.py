"""Records with fields in memory: their kinds, values and encoding."""
