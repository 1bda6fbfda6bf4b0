"""Emails to an organisation's people about conversations that are waiting for a person."""
