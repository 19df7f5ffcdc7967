"""What each command does, as a function with a result value; nothing here prints or reads the command line."""
