"""The service: fitted models as a REST interface and as a web page. It needs the extra `serve`."""
