"""The client for asyncio. `make client` derives the synchronous client from these modules."""
