"""A reference model of the service: the response of every route, from the specification and the documents."""
