"""The published tables (one TOML file a paper), how to run them again (one module a paper), and both side by side."""
