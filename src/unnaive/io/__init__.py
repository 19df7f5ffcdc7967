"""Files ↔ tables: formats by ending, readers, writers, columns, labels; `collections` reads the benchmark archives."""
