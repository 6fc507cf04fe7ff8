import { type CertificateAuthority, createCertificateAuthority } from "@virtual-kubelet/pki";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import type { AccessAttributes, AccessControl } from "../access-control/access-control.ts";
import type { ServingCertificate, ServingTls } from "../certificates/serving-certificate.ts";
import { Listeners } from "../listeners.ts";
import { startKubeletServer, type KubeletServer, type KubeletServerOptions } from "../server/kubelet-server.ts";
import { fakeNode, fakePod } from "./fake-node.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** Issues the server and client certificates of all test servers. */
export const testAuthority: CertificateAuthority = createCertificateAuthority("test-ca");

/** Certificate and key for 127.0.0.1. */
export function issueServing(name: string): ServingTls {
  const { certificate, key } = testAuthority.issue({ commonName: name, names: ["127.0.0.1"], usages: ["server auth"] });
  return { certificate, key, clientCa: testAuthority.certificate };
}

/** A certificate that can be replaced while the server runs. */
export class ReplaceableCertificate implements ServingCertificate {
  readonly #listeners = new Listeners();
  #tls: ServingTls;
  /** Number of listeners. */
  listening = 0;

  constructor(tls: ServingTls = issueServing("first")) {
    this.#tls = tls;
  }

  current(): ServingTls {
    return this.#tls;
  }

  onChange(listener: () => void): Disposable {
    const end = this.#listeners.add(listener);
    this.listening++;
    return {
      [Symbol.dispose]: () => {
        this.listening--;
        end[Symbol.dispose]();
      },
    };
  }

  replace(tls: ServingTls): void {
    this.#tls = tls;
    this.#listeners.notify();
  }
}

/** Admits every caller as alice, and records the requests. */
export class OpenAccess implements AccessControl {
  /** Access that the requests asked for. */
  readonly asked: AccessAttributes[] = [];
  /** TLS state of the callers: whether the certificate was verified, its name, and the CA that it was verified with. */
  readonly callers: { readonly authorized: boolean; readonly name: unknown; readonly judgedBy: string | undefined }[] = [];
  /** Requests wait for it before they are admitted. */
  gate: Promise<void> = Promise.resolve();

  authenticate: AccessControl["authenticate"] = async ({ socket, judgedBy }) => {
    // Null for a closed connection, contrary to the types.
    const shown = socket.getPeerCertificate() as { readonly subject?: { readonly CN?: unknown } } | null;
    this.callers.push({ authorized: socket.authorized, name: shown?.subject?.CN, judgedBy });
    await this.gate;
    return { name: "alice", groups: [] };
  };

  authorize: AccessControl["authorize"] = async (_user, attributes) => {
    this.asked.push(attributes);
    return { allowed: true };
  };
}

/** An answer that was read completely. */
export interface ReadAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A server on this machine, by default for a node with the pod `default/web`, and a client for it. */
export class TestServer implements AsyncDisposable {
  readonly access: OpenAccess = new OpenAccess();
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly certificate: ReplaceableCertificate = new ReplaceableCertificate();
  #server: KubeletServer | undefined;

  static async open(options: Partial<KubeletServerOptions> = {}): Promise<TestServer> {
    const opened = new TestServer();
    const { access: accessControl, logger, certificate } = opened;
    const nodes = [fakeNode({ pods: [fakePod()] })];
    opened.#server = await startKubeletServer({ nodes, host: "127.0.0.1", port: 0, accessControl, certificate, logger, ...options });
    return opened;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Target for the clients of the package streaming. */
  target(path: string, headers: Record<string, string> = {}): { url: string; headers: Record<string, string>; tls: { ca: string } } {
    return { url: `https://127.0.0.1:${this.port}${path}`, headers, tls: { ca: testAuthority.certificate } };
  }

  /** Sends a request on a new connection, and reads the whole answer. */
  get(path: string, options: { readonly method?: string; readonly headers?: Record<string, string> } = {}): Promise<ReadAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<ReadAnswer>();
    const { url, tls } = this.target(path);
    const request = httpsRequest(url, { ...tls, agent: false, ...options }, (response) => {
      let text = "";
      response.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on("error", reject);
    });
    request.on("error", reject).end();
    return promise;
  }

  /** A TLS connection with an error handler. */
  async connect(options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({ host: "127.0.0.1", port: this.port, ca: testAuthority.certificate, ...options });
    await once(socket, "secureConnect");
    return socket.on("error", () => {});
  }

  /** Writes bytes to a new connection, and reads until it is closed. */
  async raw(bytes: string): Promise<string> {
    const socket = await this.connect();
    socket.write(bytes, "latin1");
    return readToEnd(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }
}

/** Everything that a connection receives until it is closed, by either side and in any way. */
export async function readToEnd(socket: TLSSocket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  if (!socket.closed) await once(socket, "close");
  return text;
}
