"""Files that ship: what is fetched and from where, sounds, recorded sessions. Holds no code."""
