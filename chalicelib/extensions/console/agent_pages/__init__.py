"""The pages of agents: settings, tools, versions, trials and the chat for a site."""
