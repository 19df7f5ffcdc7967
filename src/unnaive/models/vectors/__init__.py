"""Vectors of documents in linear models: from the words of a text, or from a field."""
