import type { Terminal } from "./context.ts";

/** Size of a terminal that does not tell its own. */
const usualSize = { columns: 80, rows: 24 };

/** The terminal of a process's output; `undefined` if it writes elsewhere. Keys are read only if its input is a terminal, too. */
export function processTerminal({ stdin, stdout }: Pick<NodeJS.Process, "stdin" | "stdout">): Terminal | undefined {
  if (!stdout.isTTY) return undefined;
  return {
    get columns() {
      return stdout.columns || usualSize.columns;
    },
    get rows() {
      return stdout.rows || usualSize.rows;
    },
    onResize(listener) {
      stdout.on("resize", listener);
      return { [Symbol.dispose]: () => void stdout.off("resize", listener) };
    },
    onKey(listener) {
      if (!stdin.isTTY) return { [Symbol.dispose]() {} };
      const onData = (data: string): void => Array.from(data).forEach(listener);
      stdin.setRawMode(true).setEncoding("utf8").on("data", onData).resume();
      return {
        [Symbol.dispose]() {
          stdin.off("data", onData).pause();
          stdin.setRawMode(false);
        },
      };
    },
  };
}
