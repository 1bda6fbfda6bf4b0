"""What only the deployment and the operator's command need of the reports. It never ships."""
