"""Maximum entropy by L-BFGS and GIS, and the mapping to and from naive Bayes."""
