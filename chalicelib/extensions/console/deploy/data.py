"""The data of the console in tables of core. Attempts to sign in and notes about mails expire within days."""

ROWS = [("credentials", "kind", "session")]
