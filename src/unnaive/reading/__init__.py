"""What people have → Corpus: file formats, columns, labels, folders, and the benchmark collections."""
