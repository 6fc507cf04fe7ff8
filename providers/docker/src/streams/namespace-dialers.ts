import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { loopbackHosts, refused } from "./loopback.ts";

/** A pod's network, named by a process of it. */
export interface PodNamespace {
  readonly sandboxId: string;
  readonly pid: number;
}

/** How {@link NamespaceDialers} go about it. */
export interface NamespaceDialersOptions {
  /**
   * What runs a program in the network namespace of a process: its name and arguments, behind which the program's stand. Default:
   * nsenter(1) of util-linux, which every Linux host has; Node.js cannot enter a namespace by itself.
   */
  readonly enter?: ((pid: number) => readonly string[]) | undefined;
  /** How many processes there may be at once, each 9 MiB of its own; a namespace that needs one more waits. Default: 8. */
  readonly maxProcesses?: number | undefined;
  /** How long a process stays without a connection to make, in milliseconds. Default: 10,000. */
  readonly idleMs?: number | undefined;
}

/**
 * The program that runs in a namespace: it connects where it is told to, and hands the connections over. A socket stays in the
 * namespace it was made in, whoever holds it. It does not read, so that no byte is lost on the way.
 */
const program = `
const { connect } = require("node:net");
const [idleMs, ...hosts] = process.argv.slice(1);
const open = new Map();
let timer;
const settle = (id) => {
  open.delete(id);
  clearTimeout(timer);
  if (open.size === 0) timer = setTimeout(() => process.send({ idle: true }), Number(idleMs));
};
const attempt = (id, port, [host, ...rest], why) => {
  if (host === undefined) return settle(id), process.send({ id, why });
  const socket = connect({ host, port, allowHalfOpen: true, timeout: 10_000 }).pause();
  open.set(id, socket);
  socket.once("timeout", () => socket.destroy(new Error("no answer within 10 s")));
  socket.once("error", (error) => attempt(id, port, rest, why ?? error.message));
  socket.once("connect", () => {
    settle(id);
    process.send({ id }, socket.setTimeout(0), { keepOpen: false }, () => {});
  });
};
process.on("message", ({ id, port }) => {
  clearTimeout(timer);
  if (port !== undefined) return attempt(id, port, hosts);
  open.get(id)?.destroy();
  settle(id);
});
process.on("disconnect", () => process.exit());
`;

/**
 * Connects to ports on the loopback addresses of pods' network namespaces. One process serves all connections to a pod, and ends when
 * none is wanted for a while.
 */
export class NamespaceDialers implements Disposable {
  readonly #options: Required<{ readonly [Name in keyof NamespaceDialersOptions]: NonNullable<NamespaceDialersOptions[Name]> }>;
  /** By sandbox and process: a sandbox that was started again has another namespace. */
  readonly #dialers = new Map<string, NamespaceDialer>();
  /** Resolves when a process has become idle, or has ended. */
  #change = Promise.withResolvers<void>();

  constructor({ enter = enterNetwork, maxProcesses = 8, idleMs = 10_000 }: NamespaceDialersOptions = {}) {
    this.#options = { enter, maxProcesses, idleMs };
  }

  /** Number of processes. */
  get processes(): number {
    return this.#dialers.size;
  }

  /**
   * Connects to a port.
   *
   * @throws UnavailableError if nothing listens; UnsupportedError if the namespace cannot be entered; `signal.reason`, and the attempt
   * is given up
   */
  async connect({ sandboxId, pid }: PodNamespace, port: number, signal: AbortSignal): Promise<Socket> {
    const key = `${sandboxId} ${pid}`;
    for (;;) {
      signal.throwIfAborted();
      const dialer = this.#dialers.get(key) ?? this.#start(key, pid);
      if (dialer) {
        // The one that was used longest ago stands first.
        this.#dialers.delete(key);
        this.#dialers.set(key, dialer);
        return await dialer.connect(port, signal);
      }
      await untilResolvedOrAborted(this.#change.promise, signal);
    }
  }

  /** Ends all processes; connections that were made stay. */
  [Symbol.dispose](): void {
    for (const dialer of this.#dialers.values()) dialer[Symbol.dispose]();
  }

  /** A process more, if there may be one, or one that is idle makes room. */
  #start(key: string, pid: number): NamespaceDialer | undefined {
    const { enter, idleMs, maxProcesses } = this.#options;
    if (this.#dialers.size >= maxProcesses) [...this.#dialers.values()].find(({ isIdle }) => isIdle)?.[Symbol.dispose]();
    if (this.#dialers.size >= maxProcesses) return undefined;
    const dialer = new NamespaceDialer([...enter(pid), process.execPath, "-e", program, String(idleMs), ...loopbackHosts], {
      onIdle: () => this.#tell(),
      onEnd: () => {
        if (this.#dialers.get(key) === dialer) this.#dialers.delete(key);
        this.#tell();
      },
    });
    return dialer;
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

function enterNetwork(pid: number): readonly string[] {
  return ["nsenter", "-t", String(pid), "-n", "--"];
}

/** What the program says. */
interface DialerMessage {
  /** Of the connection; absent where the program is idle. */
  readonly id?: number;
  /** Why there is no connection. */
  readonly why?: string;
}

interface PendingDial {
  readonly port: number;
  resolve(socket: Socket): void;
  reject(error: Error): void;
}

/** One process in one namespace. */
class NamespaceDialer implements Disposable {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PendingDial>();
  readonly #onIdle: () => void;
  readonly #onEnd: () => void;
  #nextId = 0;
  #said = "";
  #ended = false;

  constructor([file = "", ...args]: readonly string[], { onIdle, onEnd }: { readonly onIdle: () => void; readonly onEnd: () => void }) {
    this.#onIdle = onIdle;
    this.#onEnd = onEnd;
    this.#child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe", "ipc"], env: {} });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#said = `${this.#said}${text}`.slice(0, 1000)));
    this.#child.on("message", (message, handle) => this.#receive(message as DialerMessage, handle));
    this.#child.once("error", (error) => this.#end(error.message, error));
    this.#child.once("close", (code, signal) => this.#end(this.#said.trim() || `it ended with ${code ?? signal}`));
  }

  /** Whether no connection is being made. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  connect(port: number, signal: AbortSignal): Promise<Socket> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    this.#pending.set(id, { port, resolve, reject });
    const onAbort = (): void => {
      this.#send({ id });
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#send({ id, port });
    return promise.finally(() => {
      signal.removeEventListener("abort", onAbort);
      if (this.#pending.delete(id) && this.isIdle) this.#onIdle();
    });
  }

  [Symbol.dispose](): void {
    this.#end("it was ended");
    if (this.#child.connected) this.#child.disconnect();
    this.#child.kill("SIGKILL");
  }

  #send(message: { readonly id: number; readonly port?: number }): void {
    // A process that cannot be told anything ends, and that is told by its end.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #receive({ id, why }: DialerMessage, handle: unknown): void {
    const dial = id === undefined ? undefined : this.#pending.get(id);
    if (handle instanceof Socket) {
      // Each direction ends by itself.
      handle.allowHalfOpen = true;
      if (dial) dial.resolve(handle);
      // Nobody waits for it any more.
      else handle.destroy();
    } else if (dial) dial.reject(refused(dial.port, why ?? "the connection was closed at once"));
    else if (id === undefined && this.isIdle) this[Symbol.dispose]();
  }

  #end(why: string, cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const message = `forward a port: the pod's network namespace cannot be entered with nsenter: ${why}; run as root, on the engine's host`;
    for (const { reject } of this.#pending.values()) reject(new UnsupportedError(message, { cause }));
    this.#onEnd();
  }
}

/** @throws `signal.reason` */
async function untilResolvedOrAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
