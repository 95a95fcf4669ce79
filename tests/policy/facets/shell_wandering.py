"""Makes shell texts at random that change the directory and redirect, in all the ways that bash has for it.

A text is a list of pieces, so that pieces can be put in, left out and exchanged without cutting a path in two: no path
leads out of the sandbox.
"""

from random import Random

Pieces = list[str]

ROOT = "@"  # stands for the folder beside the one that the text begins in
_DIRECTORIES = (
    "src", "src", "docs", "src/deep", "..", "../docs", ".", "./src", "nowhere", ROOT, f"{ROOT}/src", "src/..", "'src'",
    "~", "~/x", '"docs"', "s\\rc", "../other/src", "~/../other", "-", '"$x"', "$x", "''", "src docs", "*", "'~'", "+1",
    "src/nowhere/..", f"{ROOT}/../proj", "--", "-P src", "-L docs", "-- src", "-P src/..", "~/'x'", "{src,docs}",
)  # fmt: skip
_MOVERS = (
    "cd", "cd", "cd", "cd", "cd", "pushd", "command cd", "builtin cd", "time cd", "'cd'", "\\cd", 'c"d"', "cd -L",
    "env cd", "command -p cd", "pushd -n", "X=1 cd", "nice cd", "builtin command cd", "time -p cd", "cd -e",
)  # fmt: skip
_BARE = ("cd", "popd", "pushd", "cd -", "dirs", "cd ~", "cd --", "cd >&-", "popd -n", "$x", "cd .. .")
_PROGRAMS = ("a", "a", "a", "b", "b", "git", "rm", "foo", "cat", "true", "unknown")
_WORDS = (
    "w", "w", "'q q'", '"d"', "\\e", "$x", '"$x"', "*", "{p,q}", "~", "-o", "--opt=1", "x=y", "1", "2", "-", "''", "}",
    "w2", "3", "#n", "a#n", "~/x", "./w", "..", "'~/x'", "&1",
)  # fmt: skip
_REDIRECTS = (
    ">&-", "<&-", "2>&-", "3<&-", "3>&-", "0<&-", "2>&-", ">&-", "<&-", "2>&1", "1>&2", "2>&1-", ">&2", "<&0", "3<&0",
    "3>&1-", "<<<w", "<<< w", "<<<$x", "> f", ">f", ">>f", ">> g", ">|f", "&>f", "&>>f", ">&f", "2>f", "2> g", "3>f",
    "10>f", "<>f", "{fd}>f", "{fd}>&-", "< h", "<h", "> src/f", f">{ROOT}/f", "> ../f", "> ~/f", "> 'f'", '>"f"',
    '> "$x"', "> $(a)", "> f\\\n", "2\\\n>f", ">& f", ">& -", "2>& 1", "2>&$x", "> $x/f", ">/dev/null", "<(a)", ">(b)",
    ">& 2w", ">&2w", "2>&2-", ">'&-'", "> f > g", "2>&- >&- <&-", ">&- w", "2>f 2>&1", "<<< \"$(> f)\"", "< \"$(> g)\"",
)  # fmt: skip
_BLANKS = (" ", " ", " ", " ", " ", " ", "\t", " \\\n", "  ")
_JOINTS = ("&&", "&&", "&&", "||", ";", ";", "|", "&", "\n", "|&", "\n\n")
_WRAPPERS = (
    "env", "nice", "timeout --foreground 5", "command", "env -C src", "exec", f"env -C {ROOT}", "env -i", "nohup",
    "time", "env --chdir=docs", "xargs", "env -C .. -C src", "stdbuf -oL", "env -", "env -u x", "env --",
    "env -C src --", "env A=1", "nice -n 1", "nice -1", "nice --", "timeout --foreground -k 1 5", "xargs -n 1",
    "xargs -I{}", "xargs -r", "stdbuf -o L", "command --", "exec -a b", "env -Csrc", "env -iC src", "time -p",
    "time --", "env -u HOME",
)  # fmt: skip
_SHELLS = (
    "bash -c", "sh -c", "env -C docs sh -c", "nice bash -c", "bash -ec", "env bash -c", "bash -c -", "bash -c --",
    "bash -c -e", "bash -c +x", "sh -c -", "bash --norc -c", "bash -o pipefail -c", "bash +o pipefail -c", "bash -ce",
    "bash -c -- -", "sh -ec", "env -i bash -c", "env -C src env -C .. sh -c",
)  # fmt: skip
_FRAGMENTS = (
    *_WRAPPERS, *_SHELLS,
    *_REDIRECTS, *_WORDS, *_JOINTS, *_BARE, *_BLANKS, "(", ")", "{", "}", "$(", "`", '"', "'", "!", "if", "then", "fi",
    "else", ";;", "do", "done", "case", "esac", "in", "[[", "]]", "[", "]", "((", "))", "#", "\\", "time", "cd",
    "sh -c", ";", ">", "<", "2", "1>", ">&", "<&", "&>", "-", "&", "cd src", "cd ..", "break", "exec", "X=1",
    "<<E\n", "\nE\n",
)  # fmt: skip


def wandering(random: Random, depth: int = 3) -> Pieces:
    """A text that bash accepts, as a rule."""
    shape = random.randrange(27) if depth else random.randrange(7)
    if shape < 4:
        return _command(random, depth)
    if shape < 7:
        return _move(random, depth)
    make = _SHAPES[min(shape - 7, len(_SHAPES) - 1)]
    return make(random, depth - 1)


def spoilt(random: Random, pieces: Pieces) -> Pieces:
    """The text with a few pieces put in, left out or exchanged; bash may refuse it, or read it in its own way."""
    pieces = list(pieces)
    for _ in range(random.choice((1, 1, 2, 3))):
        at, kind = random.randint(0, len(pieces)), random.random()
        if kind < 0.6:
            pieces[at:at] = [random.choice(("", "", " ")), random.choice(_FRAGMENTS), random.choice(("", " "))]
        elif kind < 0.8:
            del pieces[at : at + random.randint(1, 2)]
        else:
            pieces[at : at + random.randint(1, 3)] = [random.choice(_FRAGMENTS)]
    return pieces


def text_of(pieces: Pieces, root: str) -> str:
    """The text, with the folder `root` in its place."""
    return "".join(pieces).replace(ROOT, root)


def harmless(pieces: Pieces) -> bool:
    """Whether the text, run in a sandbox, stays in it and comes to an end."""
    text = "".join(pieces)
    loops = text.count("for ") + text.count("select ")
    climbs = text.count("..") + text.count("cd -") + text.count("popd")
    # A path begins with one of the folders that there are, never with the root.
    rooted = any(f"{sign}/" in text.replace("/dev/null", "") for sign in " \t\n'\"=>&|;(){}$<`\\,:-!#[]*+?")
    return climbs << loops < 30 and not rooted and text[:1] != "/" and "until" not in text and "coproc" not in text


def _glue(random: Random, parts: Pieces) -> Pieces:
    found: Pieces = []
    for part in parts:
        found += [part, random.choice(_BLANKS)] if random.random() < 0.93 else [part]
    return found[:-1] if found and not found[-1].strip(" \t") else found


def _command(random: Random, depth: int) -> Pieces:
    parts = [random.choice(("X=1", "y=$(a)", 'z="$(> f)"'))] if random.random() < 0.06 else []
    parts += [random.choice((*_WRAPPERS,))
              ] if random.random() < 0.15 else []  # fmt: skip
    parts.append(random.choice(_PROGRAMS))
    parts += [_word(random, depth) for _ in range(random.randrange(4))]
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        parts.insert(random.randint(0, len(parts)), random.choice(_REDIRECTS))
    return _glue(random, parts)


def _move(random: Random, depth: int) -> Pieces:
    bare = random.random() < 0.15
    parts = [random.choice(_BARE)] if bare else [random.choice(_MOVERS), random.choice(_DIRECTORIES)]
    if random.random() < 0.2:
        parts.insert(random.randint(0, len(parts)), random.choice(_REDIRECTS))
    return _glue(random, parts)


def _word(random: Random, depth: int) -> str:
    if depth and random.random() < 0.2:
        inner = "".join(wandering(random, depth - 1))
        shape = random.choice(("$({})", '"$({})"', "<({})", 'p"t $({})"s', "${{x:-$({})}}", "`{}`", "$((1+$({}\n)))"))
        return shape.format(inner)
    return random.choice(_WORDS)


def _behind(random: Random) -> Pieces:
    # Redirects of a compound command.
    return [" ", random.choice(_REDIRECTS)] if random.random() < 0.3 else []


def _two(random: Random, depth: int) -> Pieces:
    joint = random.choice(_JOINTS)
    blank = random.choice(("", " "))
    return [*wandering(random, depth), blank, joint, blank, *wandering(random, depth)]


def _three(random: Random, depth: int) -> Pieces:
    return [*_two(random, depth), " ", random.choice(_JOINTS), " ", *wandering(random, depth)]


def _then(random: Random, depth: int) -> Pieces:
    # A change of directory and something that shows where it led.
    return [
        *_move(random, depth),
        " ",
        random.choice(("&&", ";", "||", "\n", "&& !", "|")),
        " ",
        *_command(random, depth),
    ]


def _group(random: Random, depth: int) -> Pieces:
    opening, closing = random.choice((("(", ")"), ("{ ", "; }"), ("( ", " )"), ("{\n", "\n}")))
    return [opening, *wandering(random, depth), closing, *_behind(random)]


def _if(random: Random, depth: int) -> Pieces:
    found = ["if ", *wandering(random, depth), "; then ", *wandering(random, depth)]
    if random.random() < 0.4:
        found += ["\nelif ", *wandering(random, depth), "; then ", *wandering(random, depth)]
    if random.random() < 0.5:
        found += ["; else ", *wandering(random, depth)]
    return [*found, "; fi", *_behind(random)]


def _for(random: Random, depth: int) -> Pieces:
    last = random.choice(("", "", "; break", " && break", " || continue", "; continue"))
    return ["for i in ", _word(random, depth), " u; do ", *wandering(random, depth), last, "; done", *_behind(random)]


def _while(random: Random, depth: int) -> Pieces:
    return ["while ", *wandering(random, depth), "; foo; do ", *wandering(random, depth), "; done", *_behind(random)]


def _case(random: Random, depth: int) -> Pieces:
    end = random.choice((";;", ";;", ";&", ";;&"))
    value = random.choice(("w", "$x", '"$(> f)"', "$(a > g)", "q"))
    return ["case ", value, " in w|q) ", *wandering(random, depth), end, " *) ", *wandering(random, depth), ";; esac"]


def _not(random: Random, depth: int) -> Pieces:
    return ["! ", *wandering(random, depth)]


def _document(random: Random, depth: int) -> Pieces:
    behind = random.choice(
        ("", " > f", " | b", " && cd src", " || cd docs", " 2>&- w", " > f w >g v", " | cd src", " w")
    )
    body = random.choice(("t $x", "$(cd src; a > f)", "`b`", "plain"))
    start = random.choice((_command, _move))(random, 0)
    quoted = random.choice(("E", "'E'", '"E"', "\\E"))
    return [*start, " <<", quoted, behind, "\n", body, "\nE\n", *wandering(random, depth)]


def _shell(random: Random, depth: int) -> Pieces:
    shell = random.choice(_SHELLS)
    inner = random.choice(("cd src && a", "cd src; a > f", "cd .. && b", "a > f; cd docs", "cd; b", "cd / && a", "a w"))
    return [shell, " '", inner.replace("/ ", f"{ROOT} "), "'", *_behind(random)]


def _find(random: Random, depth: int) -> Pieces:
    way = random.choice(("-exec", "-execdir", "-exec"))
    return [
        "find . -maxdepth 0 ",
        way,
        " ",
        random.choice(("a", "rm", "env -C src b")),
        " {} ",
        random.choice(("\\;", "+")),
    ]


def _test(random: Random, depth: int) -> Pieces:
    inner = random.choice(("a", "-n $(> f)", "$(cd src; a > f)", "w == w", '"`> g`"', "-f h", "-n $(a >&- w)", "w < v"))
    opening, closing = random.choice((("[[ ", " ]]"), ("[ ", " ]"), ("[[ ( ", " ) ]]"), ("[[ ! ", " ]]")))
    return [opening, inner, closing, *_behind(random), *random.choice(([], [" && ", *wandering(random, depth)]))]


def _sum(random: Random, depth: int) -> Pieces:
    return [random.choice(("((1))", "(( 1 + $(> f) ))", "((0))")), *_behind(random), "; ", *wandering(random, depth)]


def _opened(random: Random, depth: int) -> Pieces:
    # Files that are made without a command.
    found = random.choice(("> f", ">f >g", "$(> f)", "X=$(> f)", "a $(>f)", "a <(> f)", "cat < \"$(> f)\"", "`> f`",
                           "a ${x:-$(> f)}", "a ${z:-$(cd src && > f)}", "> f a w", ">f >&- a w",
                           "exec > f"))  # fmt: skip
    return [found, "; ", *wandering(random, depth)]


_SHAPES = (
    _two, _two, _three, _three, _then, _then, _then, _group, _group, _if, _for, _while, _case, _not, _document, _shell,
    _find, _test, _sum, _opened,
)  # fmt: skip
