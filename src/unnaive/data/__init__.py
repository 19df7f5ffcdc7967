"""The input of training: targets, Counts and their accumulator, kept documents, register, folds, sparse products."""
