"""What a deployment uploads: made from the packages that are tested, cut to what is imported, compiled."""
