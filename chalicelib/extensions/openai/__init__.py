"""The OpenAI Conversations API, with which the `openai` SDKs store items as messages of an agent's conversations."""
