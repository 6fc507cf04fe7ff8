import type { Program, Recipe } from "@virtual-kubelet/testing/conformance";

/** What the suite asks of containers, as scripts of the mock. */
export function mockPrograms(program: Program, container: string): Recipe {
  const script = scriptOf(program);
  const annotations = Object.fromEntries(
    Object.entries(script).map(([field, value]) => [`${container}.mock.virtual-kubelet.io/${field}`, value]),
  );
  return { container: { image: "mock" }, annotations };
}

function scriptOf(program: Program): Record<string, string> {
  switch (program.kind) {
    case "run":
    case "echo-input":
    case "http":
      return {};
    case "ignore-end":
      return { "stop-delay": "1h" };
    case "exit":
      return { "exit-after": `${program.afterSeconds}s`, "exit-code": String(program.exitCode) };
    case "hold-memory":
      return { "memory-usage": String(program.bytes) };
    case "print":
    case "print-errors":
      return { log: program.lines.join("\n") };
    case "print-and-exit":
      return { log: program.lines.join("\n"), "exit-after": "1s", "exit-code": String(program.exitCode) };
    case "print-slowly": {
      const { lines, everySeconds } = program;
      return { log: lines.join("\n"), "log-every": `${everySeconds}s`, "exit-after": `${(lines.length - 0.5) * everySeconds * 1000}ms` };
    }
    default:
      return program satisfies never;
  }
}
