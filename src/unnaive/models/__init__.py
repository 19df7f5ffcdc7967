"""Learners: from Counts, or from X and Y, to a scorer. None of these modules imports scikit-learn at its top."""
