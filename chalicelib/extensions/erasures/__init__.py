"""The erasures extension. An erasure finds all records in a workspace that contain a person, and deletes them."""
