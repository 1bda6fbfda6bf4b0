"""Who may see what: sessions, rights, and the records that a person sees."""
