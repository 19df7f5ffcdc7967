"""The published tables (one TOML file per paper), modules that reproduce them (one per paper), and the comparison."""
