"""Models for other languages: js, c, sql and onnx, each with a conformance file against which it can be run."""
