"""What runs the service rather than being it: cloud resources, the local run, the operator's command."""
