"""The statistic, its rules for smoothing and selection, and the scorer."""
