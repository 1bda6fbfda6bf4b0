"""The pages of leads: the list, a lead, and corrections."""
