"""The data of the console in tables of core. Attempts to sign in and notes about emails expire within days."""

ROWS = [("credentials", "kind", "session")]
