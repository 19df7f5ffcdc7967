"""Label trees: for thousands of classes, a document is compared with groups of labels before single labels."""
