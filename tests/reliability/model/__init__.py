"""A reference model of the service: the answer of every route, from the specification and the documents."""
