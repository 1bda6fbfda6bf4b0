"""The test of a tool against real sockets: its request, its response, masked secrets, and hostile servers."""
