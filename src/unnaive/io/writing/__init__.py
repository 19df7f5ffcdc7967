"""Tables and results written to files, atomically."""
