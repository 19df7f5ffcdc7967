"""What tests of several folders share: a browser, processes that are killed at work, scores by definition."""
