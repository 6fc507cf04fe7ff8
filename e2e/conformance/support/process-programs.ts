import { shellPrograms, type Program, type Recipe } from "@virtual-kubelet/testing/conformance";

const shell = shellPrograms({ image: "none" });

/** Programs of pods that run as processes. The HTTP server is one of Node.js, as the machine has no other for certain. */
export function processPrograms(program: Program, container: string): Recipe {
  if (program.kind !== "http") return shell(program, container);
  const script = `require("node:http").createServer((_, response) => response.end("hello\\n")).listen(${program.port}, "127.0.0.1")`;
  return { container: { image: "none", command: [process.execPath, "-e", script] } };
}
