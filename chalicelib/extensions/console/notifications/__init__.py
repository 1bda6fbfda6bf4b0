"""Emails to people of an organisation whose conversations wait for a person."""
