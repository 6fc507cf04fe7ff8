import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { loopbackHosts, refused } from "./loopback.ts";

/** A pod's network namespace, identified by one of its processes. */
export interface PodNamespace {
  readonly sandboxId: string;
  readonly pid: number;
}

export interface NamespaceDialersOptions {
  /**
   * Command that runs a program in a process's network namespace; the program's arguments are appended. Default: nsenter(1) of util-linux,
   * because Node.js cannot enter a namespace.
   */
  readonly enter?: ((pid: number) => readonly string[]) | undefined;
  /** Maximum number of processes at once, each with 9 MiB of memory. Further namespaces wait. Default: 8. */
  readonly maxProcesses?: number | undefined;
  /** Time after which an idle process ends, in milliseconds. Default: 10,000. */
  readonly idleMs?: number | undefined;
  /**
   * Maximum uninterrupted work of a process before it makes room for a waiting namespace, in milliseconds. A connection to a loopback
   * address takes less than one, unless the listener's backlog is full. Default: 2,000.
   */
  readonly turnMs?: number | undefined;
}

/**
 * The program in the namespace. It connects on request, and passes the connections to this process: a socket stays in the namespace of its
 * creation. It does not read from them, so no byte is lost.
 */
const program = `
const { connect } = require("node:net");
const [idleMs, turnMs, ...hosts] = process.argv.slice(1);
const open = new Map();
let timer;
const settle = (id) => {
  open.delete(id);
  if (open.size > 0) return;
  clearTimeout(timer);
  timer = setTimeout(() => process.send({ idle: true }), Number(idleMs));
};
const attempt = (id, port, [host, ...rest], why) => {
  if (host === undefined) return settle(id), process.send({ id, why });
  const socket = connect({ host, port, allowHalfOpen: true, timeout: 10_000 }).pause();
  if (open.size === 0) {
    clearTimeout(timer);
    timer = setTimeout(() => process.send({ overdue: true }), Number(turnMs));
  }
  open.set(id, socket);
  socket.once("timeout", () => socket.destroy(new Error("no answer within 10 s")));
  socket.once("error", (error) => attempt(id, port, rest, why ?? error.message));
  socket.once("connect", () => {
    settle(id);
    process.send({ id }, socket.setTimeout(0), { keepOpen: false }, () => {});
  });
};
process.on("message", ({ id, port }) => {
  if (port !== undefined) return attempt(id, port, hosts);
  open.get(id)?.destroy();
  settle(id);
});
process.on("disconnect", () => process.exit());
`;

/**
 * Connects to ports on the loopback addresses of pods' network namespaces. One process serves all connections to a pod, and ends after some
 * idle time.
 */
export class NamespaceDialers implements Disposable {
  readonly #options: Required<{ readonly [Name in keyof NamespaceDialersOptions]: NonNullable<NamespaceDialersOptions[Name]> }>;
  /** By sandbox and process, because a restarted sandbox has a new namespace. */
  readonly #dialers = new Map<string, NamespaceDialer>();
  /** Namespaces that wait for a process, in order of arrival. */
  readonly #waiting = new Map<string, WaitingNamespace>();

  constructor({ enter = enterNetwork, maxProcesses = 8, idleMs = 10_000, turnMs = 2_000 }: NamespaceDialersOptions = {}) {
    this.#options = { enter, maxProcesses, idleMs, turnMs };
  }

  get processes(): number {
    return this.#dialers.size;
  }

  /**
   * Connects to a port.
   *
   * @throws UnavailableError if nothing listens or answers in time; UnsupportedError if the namespace cannot be entered; `signal.reason`,
   * and the attempt ends
   */
  async connect({ sandboxId, pid }: PodNamespace, port: number, signal: AbortSignal): Promise<Socket> {
    signal.throwIfAborted();
    const key = `${sandboxId} ${pid}`;
    const dialer = this.#dialers.get(key);
    if (!dialer) return await this.#wait(key, pid, port, signal);
    // Keeps the map in order of last use.
    this.#dialers.delete(key);
    this.#dialers.set(key, dialer);
    return await dialer.connect(port, signal);
  }

  /** Ends all processes. Open connections stay. */
  [Symbol.dispose](): void {
    for (const { dials } of this.#waiting.values()) for (const { port, reject } of dials) reject(refused(port, "the program ends"));
    this.#waiting.clear();
    for (const dialer of this.#dialers.values()) dialer[Symbol.dispose]();
  }

  /** Connects once the namespace may have a process. */
  #wait(key: string, pid: number, port: number, signal: AbortSignal): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const namespace = this.#waiting.get(key) ?? { pid, dials: new Set() };
    const dial: WaitingDial = { port, begin: (dialer) => resolve(dialer.connect(port, signal)), reject };
    namespace.dials.add(dial);
    this.#waiting.set(key, namespace);
    const onAbort = (): void => {
      reject(signal.reason);
      if (namespace.dials.delete(dial) && namespace.dials.size === 0) this.#waiting.delete(key);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#serveWaiting();
    return promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  /** Starts processes for waiting namespaces, within the maximum. An idle or overdue process makes room. */
  #serveWaiting(): void {
    for (const [key, { pid, dials }] of this.#waiting) {
      if (this.#dialers.size >= this.#options.maxProcesses) {
        const all = [...this.#dialers.values()];
        const last = all.find(({ isIdle }) => isIdle) ?? all.find(({ isOverdue }) => isOverdue);
        // The end of a process serves the next in line.
        return last?.[Symbol.dispose]();
      }
      this.#waiting.delete(key);
      const dialer = this.#start(key, pid);
      this.#dialers.set(key, dialer);
      for (const { begin } of dials) begin(dialer);
      dials.clear();
    }
  }

  #start(key: string, pid: number): NamespaceDialer {
    const { enter, idleMs, turnMs } = this.#options;
    const dialer = new NamespaceDialer([...enter(pid), process.execPath, "-e", program, String(idleMs), String(turnMs), ...loopbackHosts], {
      onFree: () => this.#serveWaiting(),
      onEnd: () => {
        if (this.#dialers.get(key) === dialer) this.#dialers.delete(key);
        this.#serveWaiting();
      },
    });
    return dialer;
  }
}

/** A namespace that waits for a process, with its pending connections. */
interface WaitingNamespace {
  readonly pid: number;
  readonly dials: Set<WaitingDial>;
}

interface WaitingDial {
  readonly port: number;
  begin(dialer: NamespaceDialer): void;
  reject(error: Error): void;
}

function enterNetwork(pid: number): readonly string[] {
  return ["nsenter", "-t", String(pid), "-n", "--"];
}

/** A message of the program. */
interface DialerMessage {
  /** It has been idle for a while. */
  readonly idle?: true;
  /** It has worked for longer than its turn. */
  readonly overdue?: true;
  /** Id of the connection. */
  readonly id?: number;
  /** Reason of a failed connection. */
  readonly why?: string;
}

interface PendingDial {
  readonly port: number;
  resolve(socket: Socket): void;
  reject(error: Error): void;
}

interface NamespaceDialerOptions {
  /** Called when the process has become idle or overdue. */
  onFree(): void;
  onEnd(): void;
}

/** One process in one namespace. */
class NamespaceDialer implements Disposable {
  readonly #child: ChildProcess;
  readonly #options: NamespaceDialerOptions;
  readonly #pending = new Map<number, PendingDial>();
  #nextId = 0;
  #said = "";
  #ended = false;
  #isOverdue = false;

  constructor([file = "", ...args]: readonly string[], options: NamespaceDialerOptions) {
    this.#options = options;
    this.#child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe", "ipc"], env: {} });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#said = `${this.#said}${text}`.slice(0, 1000)));
    this.#child.on("message", (message, handle) => this.#receive(message as DialerMessage, handle));
    this.#child.once("error", (error) => this.#end(cannotEnter(error.message, error)));
    this.#child.once("close", (code, signal) => this.#end(cannotEnter(this.#said.trim() || `it ended with ${code ?? signal}`)));
  }

  /** Whether it has no pending connections. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  /** Whether it has worked for longer than its turn. */
  get isOverdue(): boolean {
    return this.#isOverdue;
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
      if (!this.#pending.delete(id) || !this.isIdle) return;
      this.#isOverdue = false;
      if (!this.#ended) this.#options.onFree();
    });
  }

  [Symbol.dispose](): void {
    this.#end();
    if (this.#child.connected) this.#child.disconnect();
    this.#child.kill("SIGKILL");
  }

  #send(message: { readonly id: number; readonly port?: number }): void {
    // A disconnected process is ending, and its end is reported separately.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #receive({ idle, overdue, id, why }: DialerMessage, handle: unknown): void {
    if (idle) {
      if (this.isIdle) this[Symbol.dispose]();
    } else if (overdue) {
      this.#isOverdue = !this.isIdle;
      this.#options.onFree();
    } else this.#settle(id, why, handle);
  }

  #settle(id: number | undefined, why: string | undefined, handle: unknown): void {
    const dial = id === undefined ? undefined : this.#pending.get(id);
    if (handle instanceof Socket) {
      // Each direction ends on its own.
      handle.allowHalfOpen = true;
      if (dial) dial.resolve(handle);
      // Its caller has left.
      else handle.destroy();
    } else dial?.reject(refused(dial.port, why ?? "the connection was closed at once"));
  }

  /** @param error - reason why no connection can be made; `undefined` if the process made room */
  #end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const { port, reject } of this.#pending.values()) reject(error ?? refused(port, "no answer, and other pods wait for their turn"));
    this.#options.onEnd();
  }
}

function cannotEnter(why: string, cause?: unknown): UnsupportedError {
  return new UnsupportedError(
    `forward a port: the pod's network namespace cannot be entered with nsenter: ${why}; run as root, on the engine's host`,
    { cause },
  );
}
