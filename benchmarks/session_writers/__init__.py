"""The writers of the sessions question. They run in the environments of the frameworks, without the service's code."""
