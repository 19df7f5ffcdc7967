"""The scikit-learn door: one thin class for each model."""
