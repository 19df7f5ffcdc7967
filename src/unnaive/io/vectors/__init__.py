"""Files of word vectors: text, NumPy archives and fastText, the first words of each, with a cache."""
