"""The analytics_records extension: lists and deletes an agent's analytics records by the time of the last write."""

from chalicelib.extensions import Extension

EXTENSION = Extension(name="analytics_records", routes=("routes:routes",), hooks={"parameters": "parameters"})
