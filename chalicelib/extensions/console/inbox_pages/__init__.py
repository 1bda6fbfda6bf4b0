"""The pages that list conversations: their tabs, filters, search and bulk changes."""
