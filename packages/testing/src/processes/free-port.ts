import { once } from "node:events";
import { createServer } from "node:net";

/** Ports below those that systems choose from: Linux takes them from 32768 up, others from 49152. */
const first = 11_000;
const count = 16_000;

/**
 * A TCP port on 127.0.0.1 that nothing listened on a moment ago. It is none that the system gives to clients, and to
 * servers that ask for any port, so nobody takes it by chance before you do; who asks for that very port still may.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    // The system's choice is another each time, so callers in many processes get different ones.
    const port = first + ((await listened(0)) % count);
    try {
      return await listened(port);
    } catch {
      // Somebody listens there.
    }
  }
}

/** Listens for a moment. @returns the port */
async function listened(port: number): Promise<number> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
