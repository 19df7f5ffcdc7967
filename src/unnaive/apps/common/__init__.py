"""What the command line, the service and the labelling page share: options, messages, parts of web applications."""
