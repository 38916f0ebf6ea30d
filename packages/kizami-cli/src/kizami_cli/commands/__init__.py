"""The built-in commands, one module each, with the click command under the name ``command``."""
