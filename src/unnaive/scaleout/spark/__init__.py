"""Training and prediction on Spark; programs import the public functions from `unnaive.spark`."""
