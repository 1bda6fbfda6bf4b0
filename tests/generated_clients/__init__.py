"""Tests that the OpenAPI document makes good clients: linters, generators, and the README's tour with their clients."""
