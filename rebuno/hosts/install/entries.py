"""Our hooks among all hooks of a settings file: found, put in, brought up to date, taken out."""

import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.install import json_text
from rebuno.hosts.install.json_text import Document, Node

PROGRAM: Final = "rebuno-hook"
# How a matcher is written that takes every tool.
_ALL: Final = (None, "", "*", ".*")


@dataclass(frozen=True, slots=True)
class HookPlace:
    """Where a hook stands: the event, the number of its group and its number in the group."""

    event: str
    group: int
    hook: int


def ours(hook: Any) -> bool:
    """Whether a hook of a settings file calls Rebuno."""
    return program(hook) is not None


def program(hook: Any) -> str | None:
    """The path of our program in a hook, or None where it calls another one."""
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    args = hook.get("args")
    words += [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
    return next((word for word in [command, *words] if PurePath(word).name == PROGRAM), None)


def found(root: dict[str, Any]) -> list[HookPlace]:
    """Where our hooks stand, in the order of the file. What has another form than hosts expect holds none."""
    events = root.get("hooks")
    return [
        HookPlace(event, at, number)
        for event, groups in (events.items() if isinstance(events, dict) else ())
        for at, group in enumerate(groups if isinstance(groups, list) else ())
        for number, hook in enumerate(_hooks(group))
        if ours(hook)
    ]


def others(root: dict[str, Any], event: str) -> list[dict[str, Any]]:
    """The hooks of one event that are not ours."""
    events = root.get("hooks")
    groups = events.get(event) if isinstance(events, dict) else None
    return [
        hook
        for group in (groups if isinstance(groups, list) else ())
        for hook in _hooks(group)
        if isinstance(hook, dict) and not ours(hook)
    ]


def put(text: str, named: str, wanted: dict[str, dict[str, Any]]) -> str:
    """The text with each of the `wanted` groups (by event) in it exactly once, behind all others of its event. A group
    of ours that stands there already keeps its place: hosts know hooks by their number.

    Raises:
        ValidationError: the text is broken, or what stands there is no list of hooks.
    """
    text = take(text, named, stays=wanted)
    for event, group in wanted.items():
        document = json_text.parse(text, named)
        place = next((place for place in found(document.root.value) if place.event == event), None)
        if place is None:
            text = _added(document, named, event, group)
        else:
            node = _group(document, place)
            if node.value != group:
                text = json_text.replace(document, node, 3, group)
    return text


def take(text: str, named: str, stays: dict[str, dict[str, Any]] | None = None, was: Any = None) -> str:
    """The text without our hooks, and without groups and events that they leave empty. Of each event in `stays` the
    first of our groups stays, if no hook of anybody else is in it. What was empty in `was`, the settings from before,
    stays too.

    Raises:
        ValidationError: the text is broken.
    """
    while True:
        document = json_text.parse(text, named)
        places = reversed(found(document.root.value))
        gone = next((place for place in places if not _kept(document, place, stays)), None)
        if gone is None:
            return text
        text = _without(document, gone, was)


def _kept(document: Document, place: HookPlace, stays: dict[str, dict[str, Any]] | None) -> bool:
    if not stays or place.event not in stays:
        return False
    alone = [one for one in found(document.root.value) if one.event == place.event and _alone(document, one)]
    return bool(alone) and place == alone[0]


def _alone(document: Document, place: HookPlace) -> bool:
    group = _group(document, place).value
    return len(group["hooks"]) == 1


def _without(document: Document, place: HookPlace, was: Any) -> str:
    hooks = document.root.get("hooks")
    assert hooks is not None
    groups = hooks.get(place.event)
    assert groups is not None
    group = groups.items[place.group]
    listed = group.get("hooks")
    assert listed is not None
    if len(listed.items) > 1:
        return json_text.remove(document, listed, place.hook)
    if len(groups.items) > 1 or _was_empty(was, "hooks", place.event):
        return json_text.remove(document, groups, place.group)
    if len(hooks.members) > 1 or _was_empty(was, "hooks"):
        return json_text.remove(document, hooks, _number(hooks, place.event))
    return json_text.remove(document, document.root, _number(document.root, "hooks"))


def _was_empty(was: Any, *keys: str) -> bool:
    for key in keys:
        was = was.get(key) if isinstance(was, dict) else None
    return was in ({}, [])


def _number(node: Node, key: str) -> int:
    return [name for name, _, _ in node.members].index(key)


def _added(document: Document, named: str, event: str, group: dict[str, Any]) -> str:
    hooks = document.root.get("hooks")
    if hooks is None:
        return json_text.insert(document, document.root, 0, {event: [group]}, "hooks")
    if not isinstance(hooks.value, dict):
        raise ValidationError(f"`{named}` line {document.line(hooks.start)}: `hooks` is no object; nothing was changed")
    groups = hooks.get(event)
    if groups is None:
        return json_text.insert(document, hooks, 1, [group], event)
    if not isinstance(groups.value, list):
        line = document.line(groups.start)
        raise ValidationError(f"`{named}` line {line}: `hooks.{event}` is no list; nothing was changed")
    return json_text.insert(document, groups, 2, group)


def _group(document: Document, place: HookPlace) -> Node:
    hooks = document.root.get("hooks")
    groups = hooks.get(place.event) if hooks else None
    assert groups is not None
    return groups.items[place.group]


def _hooks(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def takes_all(group: dict[str, Any]) -> bool:
    """Whether a group runs for every tool."""
    return group.get("matcher") in _ALL and "if" not in group
