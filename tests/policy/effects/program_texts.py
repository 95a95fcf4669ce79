"""Program texts of `sed`, `awk` and `jq`, made by chance from pieces in which other programs' code is hidden."""

import random
from collections.abc import Iterator, Sequence

# Code in the place of a text: a reader that takes it for code is wrong.
_HIDDEN_AWK = ('system("touch made")', 'print > "made"', '"touch made"|getline', "#", "/", '"', "}", ";", "[", "]", "(")
_HIDDEN_SED = ("e touch made", "w made", ";w made", "/e;", "/w made", "}", "#", "[", "]", "\\", ";", "a", "\\n")
_HIDDEN_JQ = ("env", "$ENV", "\\(1)", "\\(.a)", "#", "(", ")", "}", "\\\\", '\\"', "import")
_AWK = (
    "{", "}", "(", ")", ";", "\n", ",", " ", "print", "printf", "x", "$1", "NR", "1", "2.5", ">", ">>", "<", "==",
    "=", "+=",
    "++", "--", "/", "/=", "!", "~", "&&", "||", "?", ":", "a[1]", "in a", "length", "length($0)", "sub(/b/,x)",
    "if (x)",
    "else", "while (0)", "for (k in a)", "BEGIN", "END", "next", "return", '"out"', '"/dev/stderr"', "+", "-", "%",
    "^",
    "function f(y)", "f(1)", "delete a", "exit", "ENVIRON", "[", "]", "{print}", "{x=1}", "$", "tolower(x)", "do",
)  # fmt: skip
_SED = (
    "p", "d", "n", "N", "g", "G", "h", "x", "=", "{", "}", ";", "\n", " ", "1", "$", "1,2", "/b/", "/b/I", "\\,b,",
    "!", ":a",
    "ba", "t", "ta", "q", "q1", "l", "s/a/b/", "s,a,b,g", "s|a|b|2p", "y/a/b/", "a text", "i\\\ntext", "c\\text",
    "r in2",
    "w out", "s/a/b/w out", "# note", "D", "P", "H", "z", "F", "0~2", "+1", ",", "~", "//", "s//b/",
)  # fmt: skip
_JQ = (
    ".", ".a", ".b?", ".[0]", ".[]", "|", ",", "(", ")", "[", "]", "{", "}", "a:", '"k":', "1", "+", "-", "//", "==",
    "and",
    "not", "map(.)", "keys", "env", "$ENV", ".env", "if", "then", "else", "end", " ", "\n", "# note", "as $x", "$x",
    "@base64", "try", "..", "?", ":", "reduce", "select(.a)", "input_filename", "length", "tojson", "def f: .;", "f",
)  # fmt: skip


def _hidden(chance: random.Random, pieces: Sequence[str]) -> str:
    return "".join(chance.choice((*pieces, "a", "b", " ")) for _ in range(chance.randint(0, 4)))


def _awk_piece(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.12:
        return '"' + _hidden(chance, _HIDDEN_AWK).replace('"', chance.choice(('\\"', '"'))) + '"'
    if kind < 0.24:
        return "/" + _hidden(chance, _HIDDEN_AWK).replace("/", chance.choice(("\\/", "/"))) + "/"
    if kind < 0.28:
        return "#" + _hidden(chance, _HIDDEN_AWK) + "\n"
    return chance.choice(_AWK)


def _sed_piece(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.15:
        return (
            f"s/{_hidden(chance, _HIDDEN_SED)}/{_hidden(chance, _HIDDEN_SED)}/{chance.choice(('', 'g', 'p', 'w out'))}"
        )
    if kind < 0.2:
        return f"/{_hidden(chance, _HIDDEN_SED)}/p"
    if kind < 0.3:
        return chance.choice(("a", "i\\\n", "c\\", ":", "b", "#", "r", "y/a/b/", "}")) + _hidden(chance, _HIDDEN_SED)
    return chance.choice(_SED)


def _jq_piece(chance: random.Random) -> str:
    return '"' + _hidden(chance, _HIDDEN_JQ) + '"' if chance.random() < 0.2 else chance.choice(_JQ)


_AWK_WHOLE = (
    "{print STRING, x; y = x > 1}", "REGEX {print $1}", "{if (x) print STRING; else print 2}",
    "BEGIN {x = 4 PIECE 2 PIECE 1}",
    "{print (x PIECE 1)}", "{print x PIECE > \"out\"}", "{sub(REGEX, STRING); print}",
    "{printf STRING PIECE x; print PIECE}",
    "$1 ~ REGEX && x PIECE 1", "{a[STRING] = REGEX; for (k in a) print k PIECE}", "COMMENT{print PIECE, STRING}",
    "{print x\nprint PIECE\n}", "{x = x ? STRING : REGEX PIECE}", "{print STRING STRING > \"out\"; print x > 1}",
    "function f(y) {return y / 2 PIECE} {print f(4) / 2, STRING}", "{print length / 2 PIECE STRING}",
    "{x++ PIECE STRING / 2}",
    "{print(x)(1) PIECE; while (x PIECE 1) {print STRING; break}}", "NR==1{print \"a\" PIECE \"b\"}REGEX",
)  # fmt: skip


def _awk_whole(chance: random.Random) -> str:
    text = chance.choice(_AWK_WHOLE)
    string = '"' + _hidden(chance, _HIDDEN_AWK).replace('"', '\\"') + '"'
    regex = "/" + _hidden(chance, _HIDDEN_AWK).replace("/", "\\/") + "/"
    comment = "#" + _hidden(chance, _HIDDEN_AWK) + "\n"
    for name, value in (("STRING", string), ("REGEX", regex), ("COMMENT", comment)):
        text = text.replace(name, value)
    while "PIECE" in text:
        text = text.replace("PIECE", _awk_piece(chance), 1)
    return text


def texts(language: str, seed: int, number: int) -> Iterator[str]:
    """That many program texts of a language; most of them are none."""
    chance = random.Random(f"{language} {seed}")
    pieces = {"awk": _awk_piece, "sed": _sed_piece, "jq": _jq_piece}[language]
    gaps = {"awk": ("", " ", ";"), "sed": (";", ";", "\n", ""), "jq": ("", "|", " ")}[language]
    for _ in range(number):
        if language == "awk" and chance.random() < 0.7:
            yield _awk_whole(chance)
        else:
            yield "".join(pieces(chance) + chance.choice(gaps) for _ in range(chance.randint(1, 7)))
