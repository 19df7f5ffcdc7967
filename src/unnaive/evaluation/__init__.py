"""Collections of evidence: measures, experiments, significance, papers, reports."""
