"""Supervised fastText models: read from its files, scored as it scores them, and ordinary models from then on."""
