"""What is wrong with labelled data: label errors, duplicates, leaks, classes, texts, drift."""
