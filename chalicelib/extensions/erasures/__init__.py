"""The erasures: each finds a person in all records of a workspace, and removes these records."""
