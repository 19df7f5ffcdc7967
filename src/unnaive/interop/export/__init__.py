"""Models for other languages: JavaScript, ONNX, C and SQL; each export has a conformance file to check it."""
