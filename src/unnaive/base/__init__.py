"""Shared by every package: errors, types, settings, the scikit-learn protocol, locks, atomic files, SQLite, sizes."""
