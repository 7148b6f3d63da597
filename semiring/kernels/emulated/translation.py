"""A file of CUDA C++ as plain C++: launches, shared memory; each line stays where it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
_CUDA_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:cuda\w*|device_launch_parameters)\.h[>"]', re.MULTILINE)
_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w\s:]+?)\s*\b(\w+)\s*\[\s*\]\s*;")
_SHARED = re.compile(
    r"(?:\bstatic\s+)?__shared__\s+(?:__align__\(\d+\)\s*)?((?:(?:const|volatile|unsigned|signed|long)\s+)*[\w:]+)\s+([^;{}=]+);"
)
_LAUNCH = re.compile(r"([A-Za-z_]\w*(?:::\w+)*(?:\s*<[^<>;(){}]*>)?)\s*<<<(.*?)>>>\s*\(", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_FUNCTION = re.compile(r"^(?!\s*template)[\w:*&<> ]+?\b\w+\s*\([^;{}]*\)\s*\{", re.MULTILINE)


def without_comments(text: str) -> str:
    """The text with comments blanked, lines kept."""
    return _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n") or " ", text)


def translated(text: str, name: str, macros: str = "") -> str:
    """The translation unit of a text without comments: macros, the file in plain C++, and the call of its `closure`."""
    numbers = iter(range(4096))

    def variables(found: re.Match[str]) -> str:
        """`__shared__ float a[8][9], b;` as references to what the block has."""
        lines = "\n" * found[0].count("\n")
        declared = [re.fullmatch(r"\s*(\w+)\s*((?:\[[^\]]*\]\s*)*)", part) for part in found[2].split(",")]
        if not all(declared):
            return found[0]
        return lines + " ".join(
            f'auto& {part[1]} = emulated::variable<{found[1]} {part[2]}>({next(numbers)}, "{part[1]}");'
            for part in declared
            if part
        )

    def launch(found: re.Match[str]) -> str:
        line = _line(found.string, found.start())
        kernel = " ".join(found[1].split())
        return (
            f'emulated::Configured{{{line}, "{kernel}"}}({found[2]})'
            f".of([=](auto... given) UNCOUNTED {{ {kernel}(given...); }})("
            + "\n"
            * (found[0].count("\n") - found[2].count("\n"))
        )

    text = _CUDA_HEADER.sub("", text)
    text = _DYNAMIC.sub(
        lambda found: f"{found[1]}* {found[2]} = emulated::dynamic<{found[1]}>();" + "\n" * found[0].count("\n"), text
    )
    text = _LAUNCH.sub(launch, _SHARED.sub(variables, text))
    name = name.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(
        (
            f"{macros}#define main mains_of_file",
            f'#line 1 "{name}"',
            text,
            '#line 1 "closure"',
            "void emulated::solve(Given given) { close_by(closure, given); }\n",
        )
    )


def misplaced(text: str) -> str:
    """The first function of a text without comments that a CUDA compiler would refuse where it is used, or ""."""
    kinds: dict[str, set[bool]] = {}  # of each function defined here, by name: is it for the device
    macros = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.MULTILINE)
    text = _without_directives(text)
    on_device, launched = [], {found[1].partition("<")[0].strip(): found.start() for found in _LAUNCH.finditer(text)}
    for found in _outermost(text):
        words = re.findall(r"\w+", _beginning(text, found))
        there = any(w in ("__global__", "__device__", "constexpr", *macros) or w.isupper() for w in words)
        kinds.setdefault(re.findall(r"(\w+)\s*\(", found[0])[-1 if "__launch_bounds__" in found[0] else 0], set()).add(
            bool(there)
        )
        if there and "__host__" not in found[0]:
            on_device.append((found.end(), _end(text, found.end())))
    hosts = {name for name, kind in kinds.items() if kind == {False}}
    for name in hosts & launched.keys():
        return f"line {_line(text, launched[name])}: {name} is launched, and no kernel: __global__ must stand before it"
    for start, end in on_device:
        for found in re.finditer(r"(?<![\w.>])(\w+)\s*\(", text[start:end]):
            if found[1] in hosts:
                line = _line(text, start + found.start())
                return (
                    f"line {line}: a kernel calls {found[1]}, of the host: __device__ must stand before that function"
                )
    return ""


def for_device(text: str, macros: str) -> str:
    """The kernels alone, as NVRTC compiles them: without the host's functions, which launch, and comments."""
    text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.MULTILINE)
    parts, at = [f"{_LIMITS}{macros}#line 1\n"], 0
    code = _without_directives(text)
    for found in _outermost(code):
        if re.search("__global__|__device__", _beginning(code, found)):
            continue
        end = _end(code, found.end())
        parts += [text[at : found.start()], "\n" * text.count("\n", found.start(), end)]
        at = end
    return "".join([*parts, text[at:]])


def _without_directives(text: str) -> str:
    """The text with directives blanked, every character where it was: braces of a macro enclose no function."""
    return _DIRECTIVE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _outermost(text: str) -> Iterator[re.Match[str]]:
    for found in _FUNCTION.finditer(text):
        if text.count("{", 0, found.start()) == text.count("}", 0, found.start()):
            yield found


def _beginning(text: str, function: re.Match[str]) -> str:
    """A function's text up to its first parenthesis, from the end of what stands before it."""
    begins = max(text.rfind(end, 0, function.start()) for end in ";}") + 1
    return text[begins : function.end()].partition("(")[0]


def _end(text: str, at: int) -> int:
    """The end of the block whose { lies before `at`."""
    depth = 1
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


#: Of C's headers, which NVRTC does not have.
_LIMITS = """#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define FLT_MAX 3.402823466e+38f
#define INFINITY __int_as_float(0x7f800000)
"""
