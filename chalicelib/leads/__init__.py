"""Leads: people whom an agent has got to know (§6, `lead_captured`)."""
