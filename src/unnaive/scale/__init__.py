"""Training on more than fits in memory: sums in bounded memory, runs on disk, checkpoints, a cache of the matrix."""
