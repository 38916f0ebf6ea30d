"""The process that holds the model, and the hooks' side of talking to it."""
