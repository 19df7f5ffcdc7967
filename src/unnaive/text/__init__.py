"""Texts to counted terms: corpora, tokens, vocabularies."""
