#!/usr/bin/env node
import { exitCodes } from "./exit-codes.ts";
import { limitHeap } from "./limit-heap.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  process.stderr.write(`virtual-kubelet: Node.js ${process.version}: expected 24.11 or later\n`);
  process.exit(exitCodes.failure.code);
}

limitHeap([...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/)]);
// Only now: loading the other modules would make the heap grow first.
await import("./program.ts");
