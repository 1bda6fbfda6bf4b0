"""Tool tests over real sockets: the request, the response, masked secrets, and hostile servers."""
