"""What a deployment needs for the console: the function that sends mails, its queue and permissions."""
