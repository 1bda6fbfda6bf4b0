"""Tests of clients that are generated from the OpenAPI document: linters, generators, and the README's tour."""
