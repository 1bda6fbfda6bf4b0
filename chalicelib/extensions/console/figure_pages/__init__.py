"""The pages with figures: overview, analytics and usage."""
