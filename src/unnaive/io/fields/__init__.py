"""Columns of a table: texts, labels and fields, named or found."""
