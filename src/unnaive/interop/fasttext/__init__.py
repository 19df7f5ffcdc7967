"""fastText's Python interface over our models: `from unnaive import fasttext` (unnaive/fasttext.py exports it)."""
