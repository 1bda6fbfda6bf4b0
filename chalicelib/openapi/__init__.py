"""The OpenAPI document and its documentation page."""
