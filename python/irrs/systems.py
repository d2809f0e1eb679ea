"""Retrieval systems as values: types, parameters and descriptions of the registry of ``ir-system``.

``System("bm25", k1=1.2)`` and ``systems.bm25(k1=1.2)`` are the same value; the functions have signatures and docstrings.
"""

from __future__ import annotations

import inspect
import json
import keyword
import os
import textwrap
from collections.abc import Callable
from typing import Any

from ._irrs import Index, Retriever, check_system, system_schema, system_types
from ._progress import Progress


def _json_value(value: object) -> object:
    """Return scalars and arrays of numpy, and paths, as values of JSON."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"expected a string, number, Boolean, list, dictionary or System, found {type(value).__name__}")


class System:
    """Retrieval system: a type with parameters, and other systems as parts.

    Parameters
    ----------
    type : str
        Type of the registry: "bm25", "dense", "hybrid", "rerank", ... ``System.types()`` lists them.
    name : str, optional
        Name in tables and errors. Default: the type.
    **parameters
        Parameters of the type, which ``System.describe(type)`` documents. Parts are systems. A trailing underscore is removed:
        ``lambda_`` is the parameter ``lambda``.

    Examples
    --------
    >>> system = irrs.System("bm25", k1=1.2, b=0.75)
    >>> index = irrs.Index.build([{"id": "tea", "text": "green tea"}, {"id": "milk", "text": "milk"}])
    >>> system.open(index).search("tea").ids
    ['tea']
    >>> hybrid = irrs.System("hybrid", of=[system, irrs.System("tfidf")], fusion="rrf")
    >>> hybrid.open(index).search("tea", k=1).ids
    ['tea']
    """

    def __init__(self, type: str, name: str | None = None, /, **parameters: Any) -> None:
        self.type = type
        self.name = type if name is None else name
        named = {key[:-1] if key.endswith("_") else key: value for key, value in parameters.items()}
        self.parameters = {key: value for key, value in named.items() if value is not None}
        self.to_toml()  # checks the parameters

    def _entries(self) -> list[dict[str, Any]]:
        """Return the tables of a system file: the parts, then the system."""
        entries: list[dict[str, Any]] = []
        names: set[str] = {self.name}

        def reference(value: Any) -> Any:
            if isinstance(value, System):
                return add(value)
            if isinstance(value, (list, tuple)):
                return [reference(member) for member in value]
            return value

        def add(part: System) -> str:
            name, number = part.name, 2
            while name in names:
                name, number = f"{part.name} ({number})", number + 1
            names.add(name)
            entry = {key: reference(value) for key, value in part.parameters.items()}
            entries.append({"name": name, "type": part.type, "hidden": True, **entry})
            return name

        own = {key: reference(value) for key, value in self.parameters.items()}
        entries.append({"name": self.name, "type": self.type, **own})
        return entries

    def to_json(self) -> str:
        """Return the system and its parts as JSON, with the keys of a system file."""
        return json.dumps({"systems": self._entries()}, default=_json_value)

    def to_toml(self) -> str:
        """Return the text of a system file, for ``ir search --system`` and experiments."""
        return check_system(self.to_json())

    def open(
        self,
        index: Index,
        *,
        cache: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Retriever:
        """Open the system on the documents of an index.

        Parameters
        ----------
        index : Index
            Types other than bm25 need its stored texts (``store="all"``).
        cache : path, optional
            Folder that keeps vectors, models and further indexes. Default: a temporary folder.
        threads : int, optional
        progress : callable or bool, optional
            Function of stage, number done and total; True shows a bar of tqdm.
        """
        folder = None if cache is None else os.fspath(cache)
        return Retriever(self.to_json(), index, folder, threads, progress)

    @staticmethod
    def types() -> dict[str, str]:
        """Return the types and their descriptions."""
        return dict(system_types())

    @staticmethod
    def describe(type: str) -> str:
        """Return the documentation of a type: its parameters with ranges and defaults."""
        return _documentation(type, _schema(type))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, System) and self._entries() == other._entries()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        own = [repr(self.type)] + ([repr(self.name)] if self.name != self.type else [])
        given = [f"{_argument(key)}={value!r}" for key, value in self.parameters.items()]
        return f"System({', '.join(own + given)})"


def _schema(type: str) -> dict[str, Any]:
    schema = system_schema(type)
    if schema is None:
        raise ValueError(f"type: expected one of {', '.join(System.types())}, found {type!r}")
    parsed: dict[str, Any] = json.loads(schema)
    return parsed


def _argument(key: str) -> str:
    """Return the name of a parameter in Python."""
    return f"{key}_" if keyword.iskeyword(key) else key


def _type_name(schema: Any, definitions: dict[str, Any]) -> str:
    """Return the type of a parameter in words."""
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return _type_name(definitions.get(schema["$ref"].rsplit("/", 1)[-1], {}), definitions)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            names = [_type_name(member, definitions) for member in schema[key]]
            return " or ".join(dict.fromkeys(name for name in names if name != "null"))
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return " or ".join(repr(value) for value in schema["enum"] if value is not None)
    python = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
    types = schema.get("type", "any")
    types = [types] if isinstance(types, str) else types
    return " or ".join(python.get(name, name) for name in types if name != "null")


def _documentation(type: str, schema: dict[str, Any]) -> str:
    definitions = schema.get("$defs", {})
    required = schema.get("required", [])
    lines = [System.types()[type], "", "Parameters", "----------"]
    for key, parameter in schema.get("properties", {}).items():
        optional = "" if key in required else ", optional"
        lines.append(f"{_argument(key)} : {_type_name(parameter, definitions)}{optional}")
        description = " ".join(str(parameter.get("description", "")).split())
        lines += textwrap.wrap(description, 112, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _function(type: str) -> Callable[..., System]:
    """Return a function with the signature and documentation of a type."""
    schema = _schema(type)
    required = schema.get("required", [])

    def function(name: str | None = None, /, **parameters: Any) -> System:
        return System(type, name, **parameters)

    keys = sorted(schema.get("properties", {}), key=lambda key: key not in required)
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("name", inspect.Parameter.POSITIONAL_ONLY, default=None)]
    for key in keys:
        default = inspect.Parameter.empty if key in required else None
        parameters.append(inspect.Parameter(_argument(key), keyword_only, default=default))
    function.__signature__ = inspect.Signature(parameters, return_annotation=System)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = type.replace("-", "_")
    function.__doc__ = _documentation(type, schema)
    function.__module__ = __name__
    return function


def __getattr__(name: str) -> Callable[..., System]:
    type = name.replace("_", "-")
    if name.startswith("_") or type not in System.types():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = _function(type)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [*globals(), *(type.replace("-", "_") for type in System.types())]
