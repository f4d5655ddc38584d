"""The command: ``python -m corpuscle`` and the script ``corpuscle`` run what the program of that name runs."""

import signal
import sys


def main() -> int:
    from corpuscle import _native

    # The command is not Python: Ctrl-C ends it as it ends any other.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    return _native.command(["corpuscle", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
