import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Body of a request or of an answer. */
export type Body = Readonly<Record<string, unknown>>;

/** An error answer of AWS. */
export class AwsFailure extends Error {
  readonly type: string;
  readonly details: Body;

  constructor(type: string, message: string, details: Body = {}) {
    super(message);
    this.type = type;
    this.details = details;
  }
}

/** Answers to operations by name; a list is used up one by one. */
export type Answers = Record<string, ((input: Body) => Body) | undefined>;

/** An HTTP server that answers as AWS' JSON 1.1 APIs do. */
export class FakeEndpoint implements AsyncDisposable {
  readonly answers: Answers = {};
  readonly calls: { readonly operation: string; readonly input: Body }[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const operation = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
        const input = JSON.parse(body) as Body;
        this.calls.push({ operation, input });
        response.setHeader("content-type", "application/x-amz-json-1.1");
        try {
          response.end(JSON.stringify(this.answers[operation]?.(input) ?? {}));
        } catch (error) {
          if (!(error instanceof AwsFailure)) return request.socket.destroy();
          response.statusCode = 400;
          response.end(JSON.stringify({ __type: error.type, message: error.message, ...error.details }));
        }
        return undefined;
      });
    });
  }

  static async start(): Promise<FakeEndpoint> {
    const endpoint = new FakeEndpoint();
    endpoint.#server.listen(0, "127.0.0.1");
    await once(endpoint.#server, "listening");
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Inputs of an operation's calls. */
  inputs(operation: string): readonly Body[] {
    return this.calls.filter((call) => call.operation === operation).map(({ input }) => input);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
