"""Linear and what it is made of: links, Scorer, selection, smoothing; documents → scores."""
