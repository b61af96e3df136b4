"""Numbers in words, English and German: a language to translate of which every sentence is known."""

from byhand.check import Index, checked

ENGLISH = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
           "seventeen eighteen nineteen").split()
ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
GERMAN = ("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
          "siebzehn achtzehn neunzehn").split()
GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()


@checked
def number_words(n: Index, language: str = "en") -> str:
    """n as it is said, 0 … 999,999: "three hundred and forty-two", in German (de) "dreihundertzweiundvierzig".

    English puts the tens before the units, and "and" after the hundreds; German has the units first, in one word.
    """
    if n >= 1_000_000:
        raise ValueError(f"number_words: n is {n}, expected at most 999999")
    if language not in ("en", "de"):
        raise ValueError(f"number_words: language is {language!r}, expected 'en' or 'de'")
    return (_english if language == "en" else _german)(int(n))


def _english(n: int) -> str:
    if n < 20:
        return ENGLISH[n]
    if n < 100:
        tens, units = divmod(n, 10)
        return ENGLISH_TENS[tens - 2] + (f"-{ENGLISH[units]}" if units else "")
    name, size = ("thousand", 1000) if n >= 1000 else ("hundred", 100)
    high, low = divmod(n, size)
    link = " and " if low < 100 else " "  # one thousand and one, but one thousand two hundred
    return f"{_english(high)} {name}" + (f"{link}{_english(low)}" if low else "")


def _german(n: int, last: bool = True) -> str:
    """`last`: nothing follows, so one is "eins"; before another word it is "ein"."""
    if n < 20:
        return "ein" if n == 1 and not last else GERMAN[n]
    if n < 100:
        tens, units = divmod(n, 10)
        return (f"{_german(units, False)}und" if units else "") + GERMAN_TENS[tens - 2]
    name, size = ("tausend", 1000) if n >= 1000 else ("hundert", 100)
    high, low = divmod(n, size)
    return f"{_german(high, False)}{name}" + (_german(low, last) if low else "")
