"""The local run: one command starts an embedded engine, a demonstration workspace, `chalice local` and a worker.

`run` supervises the processes. `engine` emulates DynamoDB, its streams, KMS and SQS in a separate virtual environment.
`server` runs `chalice local`. `worker` polls streams and queues and invokes their functions, as Lambda would. This
package is not deployed, and `chalicelib` does not depend on it.
"""
