import type { Clock } from "@virtual-kubelet/clock";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** Time for a client to read a refusal and close the connection. */
const lingerMs = 10_000;

/** Response that refuses an upgrade. */
export interface UpgradeRefusal {
  readonly statusCode: number;
  /** Clients show it as `unable to upgrade connection: TEXT`, or show the message if it is a `Status` in JSON. */
  readonly text: string;
  /** Default: plain text. */
  readonly contentType?: string | undefined;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
}

/**
 * Refuses an upgrade request and closes the socket. The response has a length and `connection: close`, because clients read to the end of
 * the stream.
 */
export function refuseUpgrade(socket: Duplex, refusal: UpgradeRefusal, clock: Clock): void {
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

/** Sends the last bytes and waits for the other side to close. Input is read and dropped, because a reset would destroy sent data. */
export function endWith(socket: Duplex, bytes: Buffer, clock: Clock): void {
  socket.on("error", () => undefined);
  if (socket.destroyed) return;
  const timer = clock.setTimer(lingerMs, () => socket.destroy());
  socket.once("close", () => timer[Symbol.dispose]());
  socket.end(bytes);
  socket.resume();
}

/** Accepts an upgrade request. */
export function acceptUpgrade(socket: Duplex, headers: readonly (readonly [string, string])[]): void {
  const lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", ...headers.map(([name, value]) => `${name}: ${value}`)];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}
