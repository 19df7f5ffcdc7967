"""Evaluation: measures, experiments, significance tests, papers, reports."""
