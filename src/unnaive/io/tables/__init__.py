"""Formats of tables: CSV, JSON, Parquet, Arrow, Excel, SQLite, mail and lines of text, each read as one Table."""
