"""The best model that the data supports: several models on several views of the text, pooled and calibrated."""
