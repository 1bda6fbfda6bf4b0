"""The transcripts extension: searches of messages, and exports of whole conversations."""

from chalicelib.extensions import Extension

EXTENSION = Extension(name="transcripts", routes=("routes:routes",), hooks={"parameters": "parameters"})
