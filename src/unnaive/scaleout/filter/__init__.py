"""Keep the texts of a corpus that a model takes for some classes: shards in, the same shards with fewer texts out."""
