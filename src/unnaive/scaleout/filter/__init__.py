"""Keep the texts of a corpus that a model assigns to given classes: shards in, the same shards with fewer texts out."""
