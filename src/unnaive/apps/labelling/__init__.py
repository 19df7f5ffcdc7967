"""The interfaces for labelling: in the terminal and on a web page."""
