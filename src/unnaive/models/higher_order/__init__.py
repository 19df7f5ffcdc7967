"""Higher-order smoothing and higher-order naive Bayes: evidence along paths of terms that share documents."""
