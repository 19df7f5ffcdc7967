"""Other people's formats and interfaces: exports, fastText, MLflow, Hugging Face and scikit-learn tools."""
