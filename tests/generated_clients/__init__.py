"""Tests of the clients that are generated from the OpenAPI document: linters, generators, and the README tour."""
