"""Conversations: lists, metadata and transcripts, which the specification calls state (§2.6, §2.7, §4.3)."""

# The OpenAPI document shows the docstring, so the map of the modules is a comment.
# A conversation consists of metadata (such as title, tags and handoff state) and a transcript (its messages, in turns).
# Read the modules in this order:
#
# 1. `models` defines the request and response bodies. `rows` defines the stored items.
# 2. `state` computes the new state from the old state and a request. `new_messages` finds the messages that were never
#    received before. Both modules contain only pure functions.
# 3. `transcript` stores turns: the newest in the conversation's own item, earlier turns in chunks. Start with `turns`.
# 4. `store` writes the conversation with its turns in one transaction. `records` reads what a request needs.
# 5. `routes`, `v3_routes` and `message_routes` are the HTTP routes. Start with `exchange_state` in `routes`. It reads,
#    changes and saves a whole conversation. `rendering` builds the response. `visitor_routes` and `visitors` issue and
#    restrict visitor tokens.
# 6. `listing` reads an agent's list. `page_position` computes where page N begins, from the counts in `tallies`.
#    `filtered_lists`, with the conditions in `filters`, serves filtered lists and the inbox.
# 7. `follower` reads the table's stream. It sends tasks that update `tallies`, and delete the `leftovers` of deleted
#    conversations. `retention` applies changed retention days. `counted_changes` computes what a change adds to the
#    analytics.
