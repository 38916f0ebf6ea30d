"""Memories from elsewhere: those of claude-mem and of the TypeScript Kizami, brought into Kizami's database.

The library needs kizami-core alone; ``commands`` holds what the ``kizami`` command shows of it.
"""

from __future__ import annotations

from kizami_import.claude_mem import import_claude_mem
from kizami_import.detection import detect
from kizami_import.folders import Folders, read_names
from kizami_import.report import ImportReport, Project
from kizami_import.typescript import import_typescript

__all__ = [
    "Folders",
    "ImportReport",
    "Project",
    "detect",
    "import_claude_mem",
    "import_typescript",
    "read_names",
]
