"""The archive: everything that a database holds, as lines of JSON, and how two of them become one."""
