"""A file of CUDA C++ as plain C++: launches, shared memory; each line stays where it is."""

from __future__ import annotations

import re

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
_CUDA_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:cuda\w*|device_launch_parameters)\.h[>"]', re.MULTILINE)
_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w\s:]+?)\s*\b(\w+)\s*\[\s*\]\s*;")
_SHARED = re.compile(
    r"__shared__\s+(?:__align__\(\d+\)\s*)?((?:(?:const|volatile|unsigned|signed|long)\s+)*[\w:]+)\s+([^;{}=]+);"
)
_LAUNCH = re.compile(r"([A-Za-z_]\w*(?:::\w+)*(?:\s*<[^<>;(){}]*>)?)\s*<<<(.*?)>>>\s*\(", re.DOTALL)
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
        line = found.string.count("\n", 0, found.start()) + 1
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
    return "\n".join(
        (
            f"{macros}#define main mains_of_file",
            f'#line 1 "{name}"',
            text,
            '#line 1 "closure"',
            "void emulated::solve(Given given) { close_by(closure, given); }\n",
        )
    )


def for_device(text: str, macros: str) -> str:
    """The kernels alone, as NVRTC compiles them: without the host's functions, which launch, and comments."""
    text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.MULTILINE)
    parts, at = [f"{_LIMITS}{macros}#line 1\n"], 0
    for found in _FUNCTION.finditer(text):
        outermost = text.count("{", 0, found.start()) == text.count("}", 0, found.start())
        if not outermost or "__global__" in found[0] or "__device__" in found[0]:
            continue
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        parts += [text[at : found.start()], "\n" * text.count("\n", found.start(), end)]
        at = end
    return "".join([*parts, text[at:]])


#: Of C's headers, which NVRTC does not have.
_LIMITS = """#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define FLT_MAX 3.402823466e+38f
#define INFINITY __int_as_float(0x7f800000)
"""
