"""Who reaches whom, and why: the transitive closure of a graph, one bit a pair.

    python examples/reachability.py

An edge says that one module imports another. The closure says what it needs in all, and `path` by way of what.
"""

from __future__ import annotations

from apsp import transitive_closure

IMPORTS = [
    ("app", "views"),
    ("app", "settings"),
    ("views", "models"),
    ("models", "database"),
    ("database", "settings"),
    ("models", "views"),
    ("tests", "app"),
]


def main() -> None:
    t = transitive_closure(IMPORTS)
    print("app needs", ", ".join(sorted(map(str, t.descendants("app")))))
    print("does settings need database?", "yes" if t.reaches("settings", "database") else "no")
    print("why does app need database?", " → ".join(t.path("app", "database")))
    for circle in t.components():
        if len(circle) > 1:
            print("import one another:", ", ".join(sorted(circle)))


if __name__ == "__main__":
    main()
