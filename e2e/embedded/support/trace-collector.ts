import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { wireFields } from "../../../packages/embedded-apiserver/src/kinds/schema/protobuf-wire.ts";

/** A span as a collector receives it. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `undefined` for the first span of a trace. */
  readonly parentId: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
  /** Attributes of the program that sent it. */
  readonly resource: Readonly<Record<string, string>>;
}

/** What a collector does with a request. */
export type CollectorAnswer = "accept" | "refuse" | "hang";

/** A collector's stand-in on loopback, which decodes OTLP over HTTP as protobuf. */
export class TraceCollector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  /** Headers of each request, and its path. */
  readonly requests: { readonly path: string; readonly headers: Readonly<Record<string, string | string[] | undefined>> }[] = [];
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(answer: CollectorAnswer = "accept"): Promise<TraceCollector> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const collector = new TraceCollector(server);
    server.on("request", (request, response) => void collector.#take(request, response, answer));
    return collector;
  }

  async #take(request: IncomingMessage, response: ServerResponse, answer: CollectorAnswer): Promise<void> {
    this.requests.push({ path: request.url ?? "", headers: request.headers });
    const body = await buffer(request).catch(() => undefined);
    // The program may end before it has sent all.
    if (body === undefined || answer === "hang") return;
    if (answer === "refuse") return void response.writeHead(401).end("who are you?");
    this.spans.push(...decodeSpans(body));
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Source: opentelemetry-proto 1.9.0, collector/trace/v1/trace_service.proto and trace/v1/trace.proto. */
function decodeSpans(body: Uint8Array): readonly CollectedSpan[] {
  return messages(body, 1).flatMap((ofResource) => {
    const resource = messages(ofResource, 1).reduce((all, message) => ({ ...all, ...attributes(message, 1) }), {});
    const spans = messages(ofResource, 2).flatMap((scope) => messages(scope, 2));
    return spans.map((span) => ({
      name: texts(span, 5)[0] ?? "",
      traceId: hex(span, 1) ?? "",
      spanId: hex(span, 2) ?? "",
      parentId: hex(span, 4),
      attributes: attributes(span, 9),
      resource,
    }));
  });
}

/** Values of a field that holds bytes: messages, texts or ids. */
function messages(message: Uint8Array, number: number): readonly Uint8Array[] {
  return [...wireFields(message)].flatMap(({ number: own, value }) => (own === number && value instanceof Uint8Array ? [value] : []));
}

function texts(message: Uint8Array, number: number): readonly string[] {
  return messages(message, number).map((bytes) => Buffer.from(bytes).toString("utf8"));
}

function hex(message: Uint8Array, number: number): string | undefined {
  const [bytes] = messages(message, number);
  return bytes && bytes.length > 0 ? Buffer.from(bytes).toString("hex") : undefined;
}

/** Attributes whose values are texts. */
function attributes(message: Uint8Array, number: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    messages(message, number).map((pair) => [texts(pair, 1)[0] ?? "", messages(pair, 2).flatMap((value) => texts(value, 1))[0] ?? ""]),
  );
}
