import { connectPort } from "@virtual-kubelet/core";
import { UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";

/** The pod's own loopback addresses, in the order in which a kubelet's runtimes try them. */
const hosts = ["127.0.0.1", "::1"] as const;

/**
 * Connects to a port of this machine's loopback addresses.
 *
 * @throws UnavailableError if nothing listens; `signal.reason`
 */
export async function connectLoopback(port: number, signal: AbortSignal): Promise<Socket> {
  let last: unknown;
  for (const host of hosts)
    try {
      return await connectPort(host, port, signal);
    } catch (error) {
      signal.throwIfAborted();
      last ??= error;
    }
  throw refused(port, last instanceof Error ? last.message : String(last), last);
}

/**
 * Connects inside the network namespace it was started in, and hands the connection over: a socket stays in the namespace
 * it was made in, whoever holds it. It does not read, so that no byte is lost on the way.
 */
const connector = `
const { connect } = require("node:net");
const [port, ...hosts] = process.argv.slice(1);
const attempt = ([host, ...rest], why) => {
  if (host === undefined) return process.send({ why }, () => process.disconnect());
  const socket = connect({ host, port: Number(port), allowHalfOpen: true, timeout: 10_000 }).pause();
  socket.once("timeout", () => socket.destroy(new Error("no answer within 10 s")));
  socket.once("error", (error) => attempt(rest, why ?? error.message));
  socket.once("connect", () => process.send({}, socket.setTimeout(0), { keepOpen: false }, () => process.disconnect()));
};
attempt(hosts);
`;

/**
 * Connects to a port of the loopback addresses in the network namespace of a process on this machine. Node.js cannot enter
 * a namespace, so that nsenter(1) of util-linux, which every Linux host has, runs this very Node.js in it for a moment.
 *
 * @throws UnavailableError if nothing listens; UnsupportedError if the namespace cannot be entered; `signal.reason`
 */
export async function connectInNamespace(pid: number, port: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const child = spawn("nsenter", ["-t", String(pid), "-n", "--", process.execPath, "-e", connector, String(port), ...hosts], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: {},
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said = `${said}${text}`.slice(0, 1000)));
  const onAbort = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const [message, socket] = await firstMessage(child, () => said);
    if (socket === undefined) throw refused(port, message.why ?? "no reason given");
    if (signal.aborted) socket.destroy();
    signal.throwIfAborted();
    return socket;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (child.connected) child.disconnect();
  }
}

interface ConnectorMessage {
  /** Why there is no connection. */
  readonly why?: string;
}

function firstMessage(child: ChildProcess, said: () => string): Promise<[ConnectorMessage, Socket | undefined]> {
  return new Promise((resolve, reject) => {
    child.once("message", (message, handle) => {
      if (!(handle instanceof Socket)) return resolve([message as ConnectorMessage, undefined]);
      // Each direction ends by itself.
      handle.allowHalfOpen = true;
      resolve([{}, handle]);
    });
    const fail = (why: string, cause?: unknown): void =>
      reject(
        new UnsupportedError(
          `forward a port: the pod's network namespace cannot be entered with nsenter: ${why}; run as root, on the engine's host`,
          {
            cause,
          },
        ),
      );
    child.once("error", (error) => fail(error.message, error));
    child.once("close", (code, signal) => fail(said().trim() || `it ended with ${code ?? signal}`));
  });
}

function refused(port: number, why: string, cause?: unknown): UnavailableError {
  return new UnavailableError(`port ${port} of the pod: nothing answers on its loopback addresses: ${why}`, { cause });
}
