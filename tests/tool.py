"""How a tool ends that a person starts."""

import os
import sys


def run(main, *arguments, unread=1):
    """Runs main(*arguments) as a program, and ends it with the exit status that main returns. Where the
    reader of its output has gone, as in `make tries | head`, it ends without a word: with `unread` where
    that stopped main, for what was not done cannot have succeeded."""
    status = unread
    try:
        try:
            status = main(*arguments)
        finally:
            print(end="", flush=True)
    except BrokenPipeError:
        # What is left in the buffer would be tried, and complained of, once more at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
