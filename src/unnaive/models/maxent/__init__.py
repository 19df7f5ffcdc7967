"""Maximum entropy by L-BFGS and GIS, and the two-way map to naive Bayes."""
