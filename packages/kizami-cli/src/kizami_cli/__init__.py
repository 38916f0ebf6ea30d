"""The `kizami` command and the Claude Code hooks.

This file stays empty of imports: the hooks run before every prompt (ARCHITECTURE.md, "The hook path").
"""
