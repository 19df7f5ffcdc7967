"""Parts of a web application: connections with limits, the guard before its routes, sessions, errors, pages."""
