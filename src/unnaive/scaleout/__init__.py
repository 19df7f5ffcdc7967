"""Training beyond memory: file streams, the matrix on disk, Spark."""
