"""Training and prediction on Spark; `unnaive.spark` is the public name of what programs use of it."""
