"""Erasures: find a person in everything that a workspace stores, and remove them."""
