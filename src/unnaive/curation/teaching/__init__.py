"""What a served model was taught: the durable record, and its documents carried over to another model."""
