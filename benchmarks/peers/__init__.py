"""The peers: common alternatives to CAMS, written as their documentation shows."""
