"""Leads: contact details that an agent has captured (§6, `lead_captured`)."""
