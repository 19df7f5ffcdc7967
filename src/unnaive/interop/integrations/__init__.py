"""Trackers and tools of others: MLflow, skops, eli5, skl2onnx, the Hugging Face Hub and datasets; one file for each."""
