import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { TLSSocket } from "node:tls";

/** A request that an aggregated API server received. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Common name in the client's certificate. */
  readonly client: string | undefined;
}

/** An aggregated API server of a test. */
export interface AggregatedServer extends AsyncDisposable {
  readonly port: number;
  /** Base64 of its authority's certificate. */
  readonly caBundle: string;
  /** Received requests other than those of discovery, in order. */
  readonly received: ReceivedRequest[];
  /** Number of watches that no client has closed. */
  openWatches: number;
  /** How often its list of OpenAPI documents was read. */
  openApiReads: number;
  /** HTTP status of all answers; 200 by default. */
  status: number;
  /** Bodies in place of the documents, by path; `undefined` for one that does not end. */
  readonly lies: Map<string, string | undefined>;
}

/** What an aggregated API server serves. */
export interface AggregatedServerOptions {
  readonly group: string;
  /** Names in its certificate, such as `api.default.svc`. */
  readonly names: readonly string[];
  /** Whether it has aggregated discovery; default: true. */
  readonly hasAggregatedDiscovery?: boolean;
  /** Port; default: any free port. */
  readonly port?: number;
  /** Address to listen on; default: 127.0.0.1. */
  readonly host?: string;
}

/**
 * Starts an HTTPS server for a group with the version v1 and the resource `flunders`. It answers a watch with one event at once and keeps it
 * open, `/redirect` with a redirect, `echo` upgrades with the bytes it gets, and other requests with what it received.
 */
export async function startAggregatedServer(options: AggregatedServerOptions): Promise<AggregatedServer> {
  const day = 86_400_000;
  const validity = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + day };
  const authority = createCertificateAuthority(`aggregated-ca-${randomUUID()}`, validity);
  const { certificate, key } = authority.issue({ commonName: "api", names: [...options.names], usages: ["server auth"], validity });
  const documents = documentsOf(options);
  const received: ReceivedRequest[] = [];
  const server = createServer({ cert: certificate, key, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    void answer(request, response);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket) => {
    received.push(describe(request, ""));
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    socket.pipe(socket);
    socket.on("error", () => socket.destroy());
  });
  server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  const self: AggregatedServer = {
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(authority.certificate).toString("base64"),
    received,
    openWatches: 0,
    openApiReads: 0,
    status: 200,
    lies: new Map(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return self;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const body = await text(request).catch(() => undefined);
    // The caller has left.
    if (body === undefined) return;
    const document = documents[path];
    if (self.status !== 200) return void response.writeHead(self.status, { "content-type": "text/plain" }).end("not today");
    if (path === "/openapi/v3") self.openApiReads++;
    if (self.lies.has(path)) {
      const lie = self.lies.get(path);
      response.writeHead(200, { "content-type": document?.contentType ?? "application/json" });
      return void (lie === undefined ? response.write("{") : response.end(lie));
    }
    if (document !== undefined)
      return void response.writeHead(200, { "content-type": document.contentType }).end(JSON.stringify(document.value));
    if (path === "/apis" || path.startsWith("/openapi/")) return void response.writeHead(404).end();
    received.push(describe(request, body));
    if (path.endsWith("/redirect")) return void response.writeHead(302, { location: "https://example.com/" }).end();
    if (!(request.url ?? "").includes("watch=true"))
      return void response.writeHead(200, { "content-type": "application/json", "x-far": "yes" }).end(JSON.stringify({ path, body }));
    self.openWatches++;
    response.once("close", () => self.openWatches--);
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`${JSON.stringify({ type: "ADDED", object: { metadata: { name: "a" } } })}\n`);
  }
}

function describe(request: IncomingMessage, body: string): ReceivedRequest {
  const { socket, method = "", url = "", headers } = request;
  const subject = socket instanceof TLSSocket ? socket.getPeerCertificate().subject : undefined;
  return { method, url, headers, body, client: subject === undefined ? undefined : String(subject.CN) };
}

function documentsOf({
  group,
  hasAggregatedDiscovery = true,
}: AggregatedServerOptions): Readonly<Record<string, { readonly contentType: string; readonly value: object }>> {
  const groupVersion = `${group}/v1`;
  const verbs = ["get", "list", "watch"];
  const list = {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: [
      { name: "flunders", singularName: "flunder", namespaced: true, kind: "Flunder", verbs, shortNames: ["fl"] },
      { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
    ],
  };
  const kind = { group, version: "v1", kind: "Flunder" };
  const aggregated = {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: [
      {
        metadata: { name: group },
        versions: [
          {
            version: "v1",
            resources: [{ resource: "flunders", responseKind: kind, scope: "Namespaced", singularResource: "flunder", verbs }],
          },
        ],
      },
    ],
  };
  const path = `apis/${groupVersion}`;
  const json = "application/json";
  return {
    [`/${path}`]: { contentType: json, value: list },
    ...(hasAggregatedDiscovery
      ? {
          "/apis": { contentType: `${json};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`, value: aggregated },
          "/openapi/v3": { contentType: json, value: { paths: { [path]: { serverRelativeURL: `/openapi/v3/${path}?hash=1` } } } },
          [`/openapi/v3/${path}`]: { contentType: json, value: { openapi: "3.0.0", info: { title: group, version: "v1" } } },
        }
      : {}),
  };
}

/** APIService of version v1 of a group. @param spec - fields besides the common ones */
export function apiServiceOf(group: string, service: object, spec: object = {}): object {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}` },
    spec: { group, version: "v1", groupPriorityMinimum: 1000, versionPriority: 15, service, ...spec },
  };
}
