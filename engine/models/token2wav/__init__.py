"""token2wav: the decoder that Step-Audio 2 and MiniCPM-o share, from speech tokens to sound."""
