import { cpus, loadavg, totalmem } from "node:os";

/** Date, machine and load average at the end of a run. */
export function circumstances(): string {
  return `${new Date().toISOString().slice(0, 10)}, ${machine()}, load ${loadavg()[0]?.toFixed(1) ?? "unknown"} at its end`;
}

/** The machine's processors, memory and Node.js. */
export function machine(): string {
  return `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
}
