"""A reference model that computes every route's response according to the specification and the documents."""
