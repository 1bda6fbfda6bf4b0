"""The peers: common alternatives, written as their documentation shows."""
