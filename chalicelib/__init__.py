"""CAMS: the conversational agent management service. `app.py` composes what lives here."""
