"""What people use instead, written plainly and from the documentation of each."""
