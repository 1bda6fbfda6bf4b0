"""The local run: an embedded engine, a demonstration workspace and `chalice local`, started by one command.

`run` supervises, `engine` is DynamoDB, streams, KMS and SQS in one process of its own virtual environment,
`server` is `chalice local`, `worker` calls what the cloud would call for records of streams and messages of queues.
Nothing here is deployed, and nothing in `chalicelib` knows that it exists.
"""
