"""The toolkit of pages and figures; a page itself stands beside what it shows."""
