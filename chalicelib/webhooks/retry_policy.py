"""The retry policy of webhooks: all of its numbers. docs/webhooks.md explains it, and a test compares the two.

A webhook is sent at most once (§6 rule 3): CAMS never repeats a POST, but a customer can request a redelivery. The
queues repeat work that fails before a delivery is claimed, such as a read during an outage. A deployment sets the
attributes of the queues (`infra/webhook_queues.py`) and the timeout of the functions that deliver.
"""

# A POST fails after this time.
POST_SECONDS = 30.0
# The timeout of an invocation that delivers: a POST, and the requests before and after it.
INVOCATION_SECONDS = 60
# Attempts to process a message. A message that fails at the last one becomes a dead letter.
ATTEMPTS = 10
# Seconds between two attempts: six times the timeout of the function, as AWS recommends.
PAUSE_SECONDS = 6 * INVOCATION_SECONDS
# A delivery that waits longer in a queue is never sent, and is listed as `expired`.
WAIT_DAYS = 4
# A claim without an outcome is listed as `unknown` after this time, which is longer than any POST.
CLAIM_SECONDS = 60
# Events and deliveries are stored, and can be redelivered, for this time.
KEPT_DAYS = 30
# A host that takes longer hangs, and moves to the slow queue; a quicker response moves it to the fast queue for a day.
SLOW_SECONDS = 2.0
QUICK_SECONDS = 24 * 60 * 60
# A host that hangs stays in the slow queue: the first time for ten minutes, then twice as long each time, up to a day.
PENALTY_SECONDS, MAX_PENALTY_SECONDS = 10 * 60, 24 * 60 * 60
