"""Labelling texts: what to ask next, the record of answers, when to stop."""
