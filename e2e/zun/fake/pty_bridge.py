"""Runs a command on a terminal, connected to standard input and standard output.

usage: pty_bridge.py ROWS COLUMNS PROGRAM [ARGUMENT...]

Lines "ROWS COLUMNS" on descriptor 3 resize the terminal. SIGTERM kills the command and the process group of its session.
The end of standard input has no effect, as with Docker. Exits with the command's exit code.
"""

import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import threading


def resize(master, rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def copy_input(master):
    while True:
        data = os.read(0, 65536)
        if not data:
            return
        while data:
            try:
                data = data[os.write(master, data):]
            except OSError:
                return


def follow_sizes(master):
    with os.fdopen(3, "r") as lines:
        for line in lines:
            rows, columns = line.split()
            resize(master, int(rows), int(columns))


def main():
    rows, columns, *command = sys.argv[1:]
    pid, master = pty.fork()
    if pid == 0:
        os.close(3)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"exec {command[0]}: {error.strerror}\r\n".encode())
            os._exit(127)
    resize(master, int(rows), int(columns))

    def end(_signal, _frame):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=copy_input, args=(master,), daemon=True).start()
    threading.Thread(target=follow_sizes, args=(master,), daemon=True).start()
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        try:
            while data:
                data = data[os.write(1, data):]
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 255)


main()
