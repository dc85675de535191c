"""Step-Audio 2 mini: hears a whole turn, answers in text and speech tokens, which token2wav makes sound."""
