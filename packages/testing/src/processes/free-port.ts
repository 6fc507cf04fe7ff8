import { once } from "node:events";
import { createServer } from "node:net";

/** Ports below the ephemeral ports: Linux uses 32768 and above, other systems 49152 and above. */
const first = 11_000;
const count = 16_000;

/**
 * A TCP port on 127.0.0.1 that was free a moment ago. It is outside the range of ephemeral ports, so no other process gets it
 * by chance; a process that asks for this particular port can still take it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    // The system chooses a different port each time, so callers in several processes get different ports.
    const port = first + ((await listened(0)) % count);
    try {
      return await listened(port);
    } catch {
      // Somebody listens there.
    }
  }
}

/** Listens on the port for a moment. @returns the port */
async function listened(port: number): Promise<number> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
