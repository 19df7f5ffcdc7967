"""A tree of labels: for thousands of classes, a document is compared with groups of labels before single ones."""
