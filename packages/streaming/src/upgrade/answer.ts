import type { Clock } from "@virtual-kubelet/clock";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** How long a client may take to read a refusal and close. */
const lingerMs = 10_000;

/** An answer that refuses an upgrade. */
export interface Refusal {
  readonly statusCode: number;
  /** Clients show it as `unable to upgrade connection: TEXT`, and the message of a `Status` in JSON. */
  readonly text: string;
  /** Default: plain text. */
  readonly contentType?: string | undefined;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
}

/**
 * Answers an upgrade request with something else than an upgrade, and closes the socket. The answer says its length and
 * that the connection ends: clients read to the end of file.
 */
export function refuseUpgrade(socket: Duplex, refusal: Refusal, clock: Clock): void {
  const body = Buffer.from(`${refusal.text}\n`);
  const lines = [
    `HTTP/1.1 ${refusal.statusCode} ${STATUS_CODES[refusal.statusCode] ?? "Refused"}`,
    `Content-Type: ${refusal.contentType ?? "text/plain; charset=utf-8"}`,
    "X-Content-Type-Options: nosniff",
    ...(refusal.headers ?? []).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  endWith(socket, Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]), clock);
}

/** Sends the last bytes, waits for the other side to close, and reads on meanwhile: a reset would cut off what was sent. */
export function endWith(socket: Duplex, bytes: Buffer, clock: Clock): void {
  socket.on("error", () => undefined);
  if (socket.destroyed) return;
  const timer = clock.setTimer(lingerMs, () => socket.destroy());
  socket.once("close", () => timer[Symbol.dispose]());
  socket.end(bytes);
  socket.resume();
}

/** Answers an upgrade request with the upgrade. */
export function acceptUpgrade(socket: Duplex, headers: readonly (readonly [string, string])[]): void {
  const lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", ...headers.map(([name, value]) => `${name}: ${value}`)];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}
