"""The constants of the webhook retry policy. A test generates the table in docs/webhooks.md from them.

A webhook is sent at most once (§6 rule 3): CAMS never repeats a POST, but a customer can request a redelivery. The
queues retry work that fails before a delivery is claimed, such as a read during an outage. A deployment sets the queue
attributes (`infra/webhook_queues.py`) and the timeout of the delivery functions.
"""

# A POST fails after this many seconds.
POST_SECONDS = 30.0
# The timeout of a delivery invocation: a POST, and the requests before and after it.
INVOCATION_SECONDS = 60
# The queues' `maxReceiveCount`. A message that fails on its last attempt becomes a dead letter.
MAX_RECEIVES = 10
# The queues' `VisibilityTimeout`, which is the time between two attempts. AWS recommends six times the function
# timeout.
VISIBILITY_SECONDS = 6 * INVOCATION_SECONDS
# A delivery that waits longer in a queue is never sent, and is listed as `expired`.
QUEUE_RETENTION_DAYS = 4
# A claim without an outcome is listed as `unknown` after this time, which is longer than any POST.
CLAIM_SECONDS = 60
# Events and deliveries are stored, and can be redelivered, for this time.
KEPT_DAYS = 30
# A host that takes longer to respond counts as hanging, and moves to the slow queue. A quicker response moves the host
# to the fast queue for a day.
SLOW_SECONDS = 2.0
QUICK_SECONDS = 24 * 60 * 60
# A hanging host remains in the slow queue for ten minutes the first time, then for twice as long each time, up to a
# day.
PENALTY_SECONDS, MAX_PENALTY_SECONDS = 10 * 60, 24 * 60 * 60
