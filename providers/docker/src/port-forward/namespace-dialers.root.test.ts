import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { NamespaceDialers } from "./namespace-dialers.ts";

const never = new AbortController().signal;

/** Listens on a port of the loopback address of a network namespace of its own. */
const listener = `
require("node:net").createServer((socket) => socket.on("error", () => {}).end("from inside")).listen(80, "127.0.0.1", () => console.log("up"));
`;

test("forty connections reach a port inside another network namespace through one process", async () => {
  const inside = spawn("unshare", ["-n", "sh", "-c", 'ip link set lo up && exec "$0" -e "$1"', process.execPath, listener]);
  try {
    await once(inside.stdout, "data");
    using dialers = new NamespaceDialers();
    const namespace = { sandboxId: "a", pid: inside.pid ?? 0 };

    const sockets = await Promise.all(Array.from({ length: 40 }, () => dialers.connect(namespace, 80, never)));

    expect(dialers.processes).toBe(1);
    for (const socket of sockets) expect((await socket.toArray()).join("")).toBe("from inside");
    for (const socket of sockets) socket.destroy();
  } finally {
    inside.kill("SIGKILL");
  }
});
