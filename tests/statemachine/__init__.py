"""Random sequences of verbs: draws.py draws, verbs.py acts, invariants.py checks, machine.py and sequences.py run."""
