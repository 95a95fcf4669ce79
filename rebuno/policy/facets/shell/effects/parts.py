"""Words that hold a path, a URL or a switch within them: `@file` of curl, `-DNAME=ON` of CMake, `./...` of Go."""

import re
from collections.abc import Callable, Mapping
from typing import Final

# What a part of a word does, `read src/x`: the verbs of a table, and `url` for one that is contacted.
Parts = tuple[tuple[str, str], ...]
Reader = Callable[[str], Parts | None]

_NAME: Final = re.compile(r"[A-Za-z0-9_%+,][A-Za-z0-9_.%+,:*-]*")
_PLAIN: Final = re.compile(r"[^'\"`$;&|<>\\\n]*")
_ARCHIVE: Final = re.compile(
    r".*\.(?:7z|deb|dmg|ear|egg|ez|gz|bz2|xz|zst|z|jar|war|rpm|tar|tbz2?|tgz|txz|whl|xpi|zip)",
    re.IGNORECASE | re.DOTALL,
)
_SWITCH: Final = re.compile(
    r"on|off|yes|no|true|false|[0-9]+(?:\.[0-9]+)*|debug|release|relwithdebinfo|minsizerel", re.IGNORECASE
)
_DEFINE: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)(?::[A-Z]+)?(?:=(?P<value>.*))?", re.DOTALL)
_TESTS: Final = re.compile(r"[A-Za-z0-9_.#*+,!-]*")
_FLAGS: Final = re.compile(r"(?:all=)?(?:(?:-[swNlm]|-m=2|-X[ =][A-Za-z0-9_./-]+=[A-Za-z0-9_.:+-]*)(?:\s+|$))*")
_FORM: Final = re.compile(r"[^=]+=(?:[^@<].*)?|[^=]+=[@<](?P<file>[^;,\"\\]+)(?:;(?:type|filename)=[^;,]*)*", re.DOTALL)
_WILD: Final = re.compile(r"[{}\[\]\\\s]|[\x00-\x1f]")
_LOCAL: Final = re.compile(r"file://(?:localhost|127\.0\.0\.1)?(?P<path>/[^%?#]*)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ODD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/(?!/)|file:", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?:[A-Za-z]+://)?(?:[^@/\[\]]*@)?\[[0-9A-Fa-f:.]+\]")
_QUIET: Final = frozenset({"-", ""})


def url(text: str, *, written: bool = False) -> Parts | None:
    """A URL as curl takes it: without a scheme it is one of HTTP, and `file:` leads to a file here."""
    if _WILD.search(_ADDRESS.sub("", text, count=1)):
        return None
    local = _LOCAL.fullmatch(text)
    if local is not None:
        return (("read", local["path"]), *((("write", local["path"]),) if written else ()))
    if _ODD.match(text):
        return None
    return (("url", text if _SCHEME.match(text) else f"http://{text}"),)


def _uploaded(text: str) -> Parts | None:
    return url(text, written=True)


def _saved(text: str) -> Parts | None:
    # The file in which `curl -O` keeps what it gets: the last name of the path.
    parts = url(text)
    path = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", text)
    name = path.rpartition("/")[2] if "/" in path else ""
    if parts is None or name in ("", ".", "..") or re.search("[%?#]", text):
        return None
    return (*parts, ("write", f"./{name}"))


def _name(text: str) -> Parts | None:
    return () if text == "" or _NAME.fullmatch(text) else None


def _no_archive(text: str) -> Parts | None:
    # Nothing that ends a word of a shell, since the name may get into a command.
    return () if _PLAIN.fullmatch(text) and not _ARCHIVE.fullmatch(text) else None


def _file(text: str) -> Parts | None:
    if text[:1] == "@" or ":" in text:
        return None
    return () if text in _QUIET else (("read", text),)


def _at(text: str) -> Parts | None:
    return (() if text[1:] in _QUIET else (("read", text[1:]),)) if text[:1] == "@" else ()


def _named_at(text: str) -> Parts | None:
    # `name@file` is read, `name=content` is not.
    name, at, path = text.partition("@")
    return () if not at or "=" in name else _at(f"@{path}")


def _write_out(text: str) -> Parts | None:
    # `%output{file}` writes, and a file may hold it too.
    return None if "%output" in text or text[:1] == "@" else ()


def _cookie(text: str) -> Parts | None:
    if text[:1] == "@":
        return _at(text)
    return () if "=" in text or text in _QUIET else _at(f"@{text}")


def _form(text: str) -> Parts | None:
    found = _FORM.fullmatch(text)
    if found is None or (found["file"] is None and re.search(r";\s*headers\s*=", text)):
        return None
    return _at(f"@{found['file'] or ''}")


def _upload(text: str) -> Parts | None:
    return None if _WILD.search(text) else _at(f"@{'' if text == '.' else text}")


def _switch(text: str) -> Parts | None:
    return () if text == "" or _SWITCH.fullmatch(text) else None


def _define(text: str) -> Parts | None:
    found = _DEFINE.fullmatch(text)
    if found is None:
        return None
    if found["name"] in ("test", "tests", "it.test") and _TESTS.fullmatch(found["value"] or ""):
        return ()
    return _switch(found["value"] or "")


def _go_flags(text: str) -> Parts | None:
    return () if _FLAGS.fullmatch(text) else None


def _go(verb: str) -> Reader:
    def read(text: str) -> Parts | None:
        if "@" in text or not re.fullmatch(r"[A-Za-z0-9_./~+-]+", text):
            # `pkg@v1` is fetched from the network.
            return None
        if text.endswith(".go"):
            return ((verb.partition("-")[0], text),)
        if text[:1] == "/" or text.split("/")[0] == "." or ".." in text.split("/"):
            return ((verb, re.sub(r"\.\.\..*", "", text) or "."),)
        # `host.example/pkg` is a package of somebody, unless the project's own module has that name.
        return None if "." in text.split("/")[0].replace("...", "") else ()

    return read


def _go_out(text: str) -> Parts | None:
    # The program that `go build` writes is named after the last folder, or after the first file.
    name = text.rstrip("/").rpartition("/")[2].removesuffix(".go")
    if name in ("", ".", "..", "..."):
        # The project's own configuration names it.
        return (("write-in", "."),)
    return None if "@" in text else (("write", f"./{name}"),)


READERS: Final[Mapping[str, Reader]] = {
    "url": url,
    "url-new": _uploaded,
    "url-name": _saved,
    "name": _name,
    "no-archive": _no_archive,
    "file": _file,
    "at-file": _at,
    "named-at-file": _named_at,
    "write-out": _write_out,
    "cookie": _cookie,
    "form": _form,
    "upload": _upload,
    "switch": _switch,
    "define": _define,
    "go-flags": _go_flags,
    "go-run": _go("run-deep"),
    "go-new": _go("write-visible"),
    "go-out": _go_out,
}
