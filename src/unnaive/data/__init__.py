"""What models learn from: targets, Counts and their accumulator, kept documents, register, folds, sparse products."""
