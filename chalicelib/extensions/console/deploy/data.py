"""The console's rows in core tables. Rows about sign-in attempts and sent emails expire within days."""

ROWS = [("credentials", "kind", "session")]
