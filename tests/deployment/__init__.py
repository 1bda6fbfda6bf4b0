"""The deployment: what can be said without a cloud, and a rehearsal on an emulated one."""
