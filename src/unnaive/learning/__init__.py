"""Documents or counts → FittedModel: training, updates, decisions, calibration, tuning, conformal, explain."""
