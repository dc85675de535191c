"""The models: one room each, holding its timelines and its step. Models do not know each other."""
