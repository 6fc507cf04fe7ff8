import {
  VirtualNode,
  type AttachIO,
  type ContainerAccess,
  type ContainerLogs,
  type ProviderDefinition,
  type StatsSummary,
} from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources, type LogFields, type Logger, type Pod } from "@virtual-kubelet/kube-client";
import {
  startKubeletServer,
  type AccessAttributes,
  type AccessControl,
  type KubeletServer,
  type ServedNode,
  type ServerLimits,
  type ServingTls,
} from "@virtual-kubelet/kubelet-api";
import { provider as mock, type MockConfig } from "@virtual-kubelet/provider-mock";
import { createCertificateAuthority, type CertificateAuthority } from "@virtual-kubelet/pki";
import { eventually } from "@virtual-kubelet/testing";
import { request as httpsRequest } from "node:https";
import type { IncomingHttpHeaders } from "node:http";
import { connect, type TLSSocket } from "node:tls";
import { once } from "node:events";
import { pipeline } from "node:stream/promises";

const idle = new AbortController().signal;

/** A complete response. */
export interface RigAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A provider whose containers the test controls: a given log, a few commands, an echo server on port 80. */
export class TestContainers implements ContainerAccess {
  /** Result of `getContainerLogs`. */
  logs: () => ContainerLogs = () => ({ data: chunks() });
  stats: StatsSummary | Error = { pods: [] };
  /** Calls, with the reason if they were aborted. */
  readonly aborted: string[] = [];
  /** Input of attached containers up to its end. */
  readonly attachedInputs: string[] = [];

  getContainerLogs: ContainerAccess["getContainerLogs"] = async (_pod, _container, _options, signal) => {
    signal.addEventListener("abort", () => this.aborted.push("logs"));
    return this.logs();
  };

  getStatsSummary = async (): Promise<StatsSummary> => {
    if (this.stats instanceof Error) throw this.stats;
    return this.stats;
  };

  runInContainer: ContainerAccess["runInContainer"] = async (_pod, _container, [program = "", ...args], io, signal) => {
    switch (program) {
      case "cat":
        if (io.stdin && io.stdout) await pipeline(io.stdin, io.stdout, { end: false, signal });
        return { exitCode: 0 };
      case "both":
        await write(io.stdout, "to stdout\n");
        await write(io.stderr, "to stderr\n");
        return { exitCode: 3 };
      case "exit":
        return { exitCode: Number(args[0]) };
      case "size":
        for await (const { width, height } of io.resizes) {
          await write(io.stdout, `${width}x${height}`);
          break;
        }
        return { exitCode: 0 };
      case "flood": {
        const block = Buffer.alloc(65_536, "x");
        for (let left = Number(args[0]); left > 0; left -= block.length)
          await write(io.stdout, block.subarray(0, Math.min(left, block.length)));
        return { exitCode: 0 };
      }
      case "wait":
        await write(io.stdout, "waiting\n");
        await once(signal, "abort");
        this.aborted.push("exec");
        throw signal.reason;
      default:
        throw new NotFoundError(`no program ${program}`);
    }
  };

  attachToContainer: ContainerAccess["attachToContainer"] = async (_pod, _container, io, signal) => {
    await write(io.stdout, `attached, tty ${io.tty}\n`);
    if (!io.stdin) return;
    let input = "";
    io.stdin.setEncoding("utf8").on("data", (text: string) => {
      input += text;
      void write(io.stdout, text);
    });
    io.stdin.once("end", () => this.attachedInputs.push(input));
    await Promise.race([once(io.stdin, "end", { signal }).catch(() => {}), once(signal, "abort")]);
    if (signal.aborted) this.aborted.push("attach");
  };

  portForward: ContainerAccess["portForward"] = async (_pod, port, stream, signal) => {
    if (port !== 80) throw new UnavailableError(`connect to port ${port}: connection refused`);
    await pipeline(stream, stream, { signal });
  };
}

/** Writes and waits for the drain event if needed. */
async function write(stream: AttachIO["stdout"], data: string | Uint8Array): Promise<void> {
  if (stream && !stream.write(data)) await once(stream, "drain");
}

/** Converts chunks to a log. */
export async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* parts;
}

/** Access control that authenticates everyone as `alice`, unless a header says otherwise. */
class HeaderAccess implements AccessControl {
  readonly asked: AccessAttributes[] = [];

  authenticate: AccessControl["authenticate"] = async ({ headers }) => {
    if (headers["x-test"] === "webhook-down") throw new UnavailableError("TokenReview: connection refused");
    return headers["x-test"] === "stranger" ? undefined : { name: "alice", groups: ["testers"] };
  };

  authorize: AccessControl["authorize"] = async (_user, attributes, _signal) => {
    this.asked.push(attributes);
    return { allowed: true };
  };
}

/** A node on the embedded API server with its HTTPS server. */
export class KubeletRig implements AsyncDisposable {
  readonly containers: TestContainers = new TestContainers();
  readonly access: HeaderAccess = new HeaderAccess();
  readonly nodes: ServedNode[] = [];
  readonly lines: (LogFields & { readonly message: string })[] = [];
  readonly authority: CertificateAuthority = createCertificateAuthority("test");
  readonly #apiServer: ApiServer;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #listeners = new Set<() => void>();
  #tls: ServingTls;
  #server: KubeletServer | undefined;

  private constructor(apiServer: ApiServer) {
    this.#apiServer = apiServer;
    this.#tls = this.issue("localhost");
  }

  static async open(options: { readonly nodes?: readonly string[]; readonly limits?: ServerLimits } = {}): Promise<KubeletRig> {
    const rig = new KubeletRig(await startApiServer());
    for (const name of options.nodes ?? ["node-1"]) rig.nodes.push({ access: (await rig.#addNode(name)).access });
    rig.#server = await startKubeletServer({
      nodes: rig.nodes,
      host: "127.0.0.1",
      port: 0,
      accessControl: rig.access,
      certificate: {
        current: () => rig.#tls,
        onChange: (listener) => {
          rig.#listeners.add(listener);
          return { [Symbol.dispose]: () => void rig.#listeners.delete(listener) };
        },
      },
      renderMetrics: () => "own 1\n",
      limits: options.limits,
      logger: rig.#logger(),
    });
    return rig;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Serving certificate of this rig's authority. */
  issue(name: string): ServingTls {
    return this.authority.issue({ commonName: name, names: ["localhost", "127.0.0.1"], usages: ["server auth"] });
  }

  /** Replaces the server's certificate. */
  replaceCertificate(tls: ServingTls): void {
    this.#tls = tls;
    for (const listener of this.#listeners) listener();
  }

  /** Creates a pod and waits until it runs. */
  async run(name: string, spec: Partial<NonNullable<Pod["spec"]>> = {}): Promise<Pod> {
    const client = createKubeClient(this.#apiServer.transport());
    const containers = [{ name: "main", image: "test" }];
    await client.create(
      resources.pods,
      { metadata: { name, namespace: "default" }, spec: { nodeName: "node-1", containers, ...spec } },
      { signal: idle },
    );
    return eventually(async () => {
      const pod = await client.get(resources.pods, { namespace: "default", name }, { signal: idle });
      if (pod.status?.phase !== "Running") throw new Error(`pod ${name} is ${pod.status?.phase}`);
      return pod;
    });
  }

  /** Target for streaming's clients. */
  target(path: string, headers: Record<string, string> = {}): { url: string; headers: Record<string, string>; tls: { ca: string } } {
    return { url: `https://127.0.0.1:${this.port}${path}`, headers, tls: { ca: this.authority.certificate } };
  }

  /** Sends a request and reads the whole response. */
  get(path: string, options: { readonly method?: string; readonly headers?: Record<string, string> } = {}): Promise<RigAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RigAnswer>();
    const { url, tls } = this.target(path);
    const request = httpsRequest(
      url,
      { ...tls, agent: false, method: options.method ?? "GET", headers: options.headers ?? {} },
      (response) => {
        let text = "";
        response.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.on("error", reject);
      },
    );
    request.on("error", reject).end();
    return promise;
  }

  /** TLS connection to the server. */
  async connect(): Promise<TLSSocket> {
    const socket = connect({ host: "127.0.0.1", port: this.port, ca: this.authority.certificate, ALPNProtocols: ["h2", "http/1.1"] });
    await once(socket, "secureConnect");
    return socket;
  }

  /** Writes bytes to a new connection and reads until it is closed. */
  async raw(bytes: string): Promise<string> {
    const socket = await this.connect();
    socket.write(bytes, "latin1");
    return readToEnd(socket);
  }

  async #addNode(name: string): Promise<VirtualNode> {
    const node = new VirtualNode({
      client: createKubeClient(this.#apiServer.transport()),
      provider: this.#provider(),
      providerConfig: {},
      node: { name, instance: { identity: name } },
    });
    this.#running.push(node.run(this.#stop.signal));
    await node.ready;
    return node;
  }

  /** The mock provider with this rig's containers. */
  #provider(): ProviderDefinition<MockConfig> {
    return { ...mock, create: async (host, config) => Object.assign(await mock.create(host, config), this.#access()) };
  }

  #access(): ContainerAccess & Pick<TestContainers, "getStatsSummary"> {
    const { getContainerLogs, runInContainer, attachToContainer, portForward, getStatsSummary } = this.containers;
    return { getContainerLogs, runInContainer, attachToContainer, portForward, getStatsSummary };
  }

  #logger(): Logger {
    const add = (fields: LogFields, message: string): void => void this.lines.push({ ...fields, message });
    const logger: Logger = { debug: add, info: add, warn: add, error: add, child: () => logger };
    return logger;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#stop.abort();
    await Promise.all(this.#running);
    await this.#apiServer.close();
  }
}

/** Reads from a socket until either side closes it or it fails. */
export async function readToEnd(socket: TLSSocket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {});
  if (!socket.closed) await once(socket, "close");
  return text;
}
