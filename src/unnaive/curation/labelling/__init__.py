"""From a pile of texts to labelled ones: what to ask next, what was answered, when to stop."""
