"""Find problems in labelled data: label errors, duplicates, leaks, doubtful classes and texts, drift."""
