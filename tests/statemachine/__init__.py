"""Random sequences of verbs on random documents: data.py draws, verbs.py has the rules, invariants.py checks."""
