"""The pages for signing in, for passwords, and for a person's own profile."""
