"""Commands that `kizami` finds by entry point, one module each."""
