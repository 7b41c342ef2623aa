"""Text and models: prompts, calls, the store of replies, and what is read from them. No statistics."""
