"""Makes shell texts at random: well-formed ones, and tokens thrown together."""

from random import Random

TOKENS = (
    "a", "b", "rm", "c1", "fo", " ", " ", " ", ";", "&", "&&", "|", "||", "|&", "(", ")", "{ ", " }", "{",
    "}", "$(", "`", '"', '"', "'", "'", "\\", "\n", "\n", "$x", "${x}", "${x:-a}", "${y", "$", "<<EOF",
    "<<'EOF'", "<<-E", "EOF", "\nEOF\n", "\nE\n", "#", "!", "! ", "if ", "; then ", "; fi", "else ",
    "for i in ", "; do ", "; done", "case $x in ", ";; esac", "[[ ", " ]]", "[ ", "]", "((", "))", "$((", "1",
    "+", "=", "z=", "PATH=", ">", "<", "<(", ">(", "2", "2>", "&1", ">&", ">>", "&>", "<<<", "~", "*", "?",
    "[", "echo ", "$'", "\\n", "time ", "-p ", "exec ", "command ", "builtin ", "-c", "-e", "export ",
    "declare ", "while ", "until ", "\t", ",", "..", "a,b", "@", "\\\n", '\\"', "$(<g)", "test ", "-v ",
    "printf ", "read ", "a[1]", "é", "xargs ", "env ", "find ",
)  # fmt: skip

_WORDS = (
    "w", "'q q'", '"d d"', "\\e\\s", "$'n'", '"$x"', "$x", "a$y.c", "*.py", "{p,q}", "~", "-o", "--opt=1",
    "x=y", "[ab]", "'$(rm)'", '"\\$(rm)"', "it\\'s", "'a'\"b\"c", "\\;", '""', "#n", "a#n", "if", "done", "}",
    "!", "1", "2", "-",
)  # fmt: skip
_PROGRAMS = ("a", "b", "c1", "git", "rm", "foo", "r\\m", "g''it", '"a"', "'b'", "echo", "$'rm'", "true")
_WRAPPERS = (
    "env", "env A=1", "env -i", "env -u Z", "nice", "nice -n 1", "timeout 5", "timeout -s INT 5", "nohup",
    "stdbuf -oL", "command", "command -p", "exec", "time", "time -p", "xargs", "xargs -n1", "xargs -I{}",
    "builtin command",
)  # fmt: skip
_FIND_ENDS = ("\\;", "+", "';'")
_REDIRECTS = ("> f1", ">f2", ">> f3", "2>&1", "2> f4", "&> f5", ">| f6", "< f7", "> 'f 8'", "2>f9", ">&2", "<<< $(b)")


def thrown(random: Random) -> str:
    """Tokens in any order; most of these no shell accepts."""
    return "".join(random.choice(TOKENS) for _ in range(random.randint(2, 14)))


def well_formed(random: Random, depth: int = 3) -> str:
    """A text that bash accepts, as a rule."""
    shape = random.randrange(16) if depth else 0

    def inner() -> str:
        return well_formed(random, depth - 1)

    if shape < 4:
        return _command(random, depth)
    if shape == 4:
        return f"{inner()}{random.choice([' && ', '||', ' | ', '; ', ' & ', chr(10), '|&', ';'])}{inner()}"
    if shape == 5:
        return random.choice(["({})", "{{ {}; }}", "( {} )", "{{\n{}\n}}"]).format(inner()) + _redirects(random)
    if shape == 6:
        return f"if {inner()}; then {inner()}\nelse {inner()}; fi{_redirects(random)}"
    if shape == 7:
        return f"for i in {_word(random, depth)} u; do {inner()}; done{_redirects(random)}"
    if shape == 8:
        return f"while foo; do {inner()}; done"
    if shape == 9:
        return f"case {_word(random, depth)} in w|q) {inner()};; *) {inner()};; esac"
    if shape == 10:
        quoted = random.choice(["E", "'E'", '"E"', "\\E"])
        return f"a <<{quoted}{random.choice(['', ' > f0', ' | b', ' && rm'])}\nt $x $(b) `rm` \\$(a) 'q'\nE\n{inner()}"
    if shape == 11:
        return f"! {inner()}"
    if shape == 12:
        return (
            f"{random.choice(['bash', 'sh', 'bash -e', 'bash -xc', 'env bash']).removesuffix('c')} -c '{_bare(random)}'"
        )
    if shape == 13:
        return f"find . -maxdepth 0 -exec {_bare(random)} {{}} {random.choice(_FIND_ENDS)}"
    if shape == 14:
        return f"[ {_word(random, 0)} = w ] && {inner()}"
    return f"{inner()} # {random.choice(TOKENS).strip()} rm\n{inner()}"


def _bare(random: Random) -> str:
    return " ".join(
        [random.choice(("a", "b", "rm", "git")), *random.sample(("w", "$x", "> f1", "; b", "&& rm"), 1)][:2]
    )


def _redirects(random: Random) -> str:
    return "".join(f" {random.choice(_REDIRECTS)}" for _ in range(random.choice((0, 0, 0, 1, 2))))


def _word(random: Random, depth: int) -> str:
    if depth and random.random() < 0.25:
        inner = well_formed(random, depth - 1)
        shape = random.choice(["$({})", '"$({})"', "<({})", 'p"t $({})"s', "${{x:-$({})}}", "`{}`", "$((1+$({}\n)))"])
        return shape.format(inner)
    return random.choice(_WORDS)


def _command(random: Random, depth: int) -> str:
    parts = [random.choice(["A=1", 'B="$x"', "C=$(a)"])] if random.random() < 0.1 else []
    parts += [random.choice(_WRAPPERS)] if random.random() < 0.25 else []
    parts.append(random.choice(_PROGRAMS))
    parts += [_word(random, depth) for _ in range(random.randrange(4))]
    if random.random() < 0.2:
        parts.insert(random.randint(0, len(parts)), random.choice(_REDIRECTS))
    return random.choice([" ", " ", "\t", " \\\n "]).join(parts)
