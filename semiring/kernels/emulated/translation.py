"""A file of CUDA C++ as plain C++: launches, shared memory; each line stays where it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Arguments of a template, of templates themselves too.
_ANGLES = r"<(?:[^<>;(){}]|<[^<>;(){}]*>)*>"
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
_CUDA_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:cuda\w*|device_launch_parameters)\.h[>"]', re.MULTILINE)
_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w\s:]+?)\s*\b(\w+)\s*\[\s*\]\s*;")
_SHARED = re.compile(
    r"(?:\bstatic\s+)?__shared__\s+(?:__align__\(\d+\)\s*)?"
    rf"((?:(?:const|volatile|unsigned|signed|long)\s+)*[\w:]+(?:{_ANGLES})?)\s+([^;{{}}=]+);"
)
#: Of the device, of both sides (managed), and not constant; constants are of both sides.
_MANAGED = re.compile(r"__managed__\s+__device__|__device__\s+__managed__")
_VARIABLE = re.compile(r"__(device|constant|managed)__(?=((?:[^;(){}=\[]|\[[^\]]*\])*)[;={])")
#: A variable of a kernel between its launches, of the device without a word.
_STATIC = re.compile(r"\bstatic\s+(?!.*__|const)")
_CALL = re.compile(rf"(?<![\w.>:])(\w[\w:]*(?:{_ANGLES}::\w+)?)\s*(?:{_ANGLES}\s*)?\(")
#: Functions of C++'s library that a CUDA compiler refuses in kernels, where they are no constants.
_HOSTS_OWN = re.compile(r"std::(min|max|clamp|numeric_limits<.*>::\w+)$")
_LAUNCH = re.compile(rf"([A-Za-z_]\w*(?:::\w+)*(?:\s*{_ANGLES})?)\s*<<<(.*?)>>>\s*\(", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_TEMPLATE = rf"\btemplate\s*{_ANGLES}"
_FUNCTION = re.compile(rf'^[ \t]*(?:{_TEMPLATE}\s*)?([\w:*&<> "]+?\b\w+\s*\([^;{{}}]*\)\s*\{{)', re.MULTILINE)
#: Braces in which functions are outermost.
_TRANSPARENT = re.compile(r'\bnamespace\b[\w:\s]*\{|\bextern\s*"C"\s*\{')


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
        line, kernel = _line(found.string, found.start()), " ".join(found[1].split())
        lines = "\n" * (found[0].count("\n") - found[2].count("\n"))
        return f'emulated::Launch({line}, "{kernel}", {found[2]}).of(EMULATED_KERNEL({kernel}))({lines}'

    for f in reversed([f for f in _functions(text) if f.device]):
        text = text[: f.body] + _STATIC.sub("static __device__ ", text[f.body : f.end]) + text[f.end :]
    sections = {"managed": "MANAGED_VARIABLE", "constant": "OWN_VARIABLE"}
    text = _VARIABLE.sub(
        lambda found: "" if re.search(r"\bconst", found[2]) else sections.get(found[1], "DEVICE_VARIABLE"),
        _MANAGED.sub(lambda found: "__managed__" + "\n" * found[0].count("\n"), _CUDA_HEADER.sub("", text)),
    )
    text = _DYNAMIC.sub(lambda found: f"EMULATED_SHARED({found[1]}, {found[2]});" + "\n" * found[0].count("\n"), text)
    text = _LAUNCH.sub(launch, _SHARED.sub(variables, text))
    name = name.replace("\\", "\\\\").replace('"', '\\"')
    begin, end = f'#define main mains_of_file\n#line 1 "{name}"\n', '\n#line 1 "closure"\nEMULATED_CLOSURE(closure)\n'
    return f"{macros}{begin}{text}{end}"


@dataclass(frozen=True)
class _Function:
    """A function of a text: on which sides it runs, where it begins, and where its body does and ends."""

    name: str
    kernel: bool
    device: bool
    host: bool
    start: int
    body: int
    end: int


def _functions(text: str) -> Iterator[_Function]:
    """The outermost functions of a text without comments; a macro or a name in capitals may be `__device__`."""
    macros = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.MULTILINE)
    text = _without_directives(text)
    while around := _TRANSPARENT.search(text):
        end = _closed(text, around.end())
        text = f"{text[: around.start()]}{_blank(around[0])}{text[around.end() : end - 1]} {text[end:]}"
    for found in _FUNCTION.finditer(text):
        if text.count("{", 0, found.start()) != text.count("}", 0, found.start()):
            continue
        head = text[max(text.rfind(end, 0, found.start()) for end in ";}") + 1 : found.end()].partition("(")[0]
        parameters = re.findall(r"\w+", " ".join(re.findall(_TEMPLATE, head)))
        words = {*re.findall(r'(?<!")\b\w+', re.sub(_TEMPLATE, "", head))} - {*parameters}
        device = any(w in ("__global__", "__device__", "constexpr", *macros) or w.isupper() for w in words)
        name = re.findall(r"(\w+)\s*\(", found[1])[-1 if "__launch_bounds__" in found[1] else 0]
        host = not device or "__host__" in found[1]
        start, end = found.end() - len(found[0].lstrip()), _closed(text, found.end())
        yield _Function(name, "__global__" in words, device, host, start, found.end(), end)


def _closed(text: str, at: int) -> int:
    """The position behind the brace that closes the one before `at`."""
    depth = 1
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def misplaced(text: str) -> str:
    """The first function of a text without comments that a CUDA compiler would refuse where it is used, or ""."""
    functions = list(_functions(text))
    text = _without_directives(text)
    hosts = {f.name for f in functions} - {f.name for f in functions if f.device}
    for found in _LAUNCH.finditer(text):
        name, line = found[1].partition("<")[0].strip(), _line(text, found.start())
        if name in hosts:
            return f"line {line}: {name} is launched, and no kernel: __global__ must stand before it"
    kernels = {f.name for f in functions if f.kernel} - {f.name for f in functions if not f.kernel}
    for f in functions:
        for found in _CALL.finditer(text, f.body, f.end):
            name, place = found[1], f"line {_line(text, found.start())}:"
            told = f"{place} a kernel calls {name}, of the host"
            if name.rpartition("::")[2] in kernels:
                return f"{place} {name} is a kernel, and launched by {name}<<<grid, block>>>(…), not called"
            if f.host:
                continue
            if name.rpartition("::")[2] in hosts:
                return f"{told}: __device__ must stand before that function"
            if _HOSTS_OWN.match(name) and "constexpr" not in re.split("[;{}]", text[f.body : found.start()])[-1]:
                own = "INFINITY or INT_MAX, of <climits>," if "<" in name else name.removeprefix("std::")
                return f"{told}: {own} is a card's own"
    return ""


def for_device(text: str, macros: str) -> str:
    """The kernels alone, as NVRTC compiles them: without the host's functions, which launch, and comments."""
    text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.MULTILINE)
    for f in reversed([f for f in _functions(text) if not f.device]):
        text = text[: f.start] + "\n" * text.count("\n", f.start, f.end) + text[f.end :]
    return f"{_LIMITS}{macros}#line 1\n{text}"


def _without_directives(text: str) -> str:
    """The text with directives blanked, every character where it was: braces of a macro enclose no function."""
    return _DIRECTIVE.sub(lambda found: _blank(found[0]), text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


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
