"""The service: fitted models for programs (REST) and for people (a page). Needs the extra `serve`."""
