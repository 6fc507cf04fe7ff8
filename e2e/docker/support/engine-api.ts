import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** Response of an engine. */
export interface EngineApiAnswer {
  readonly status: number;
  /** Body as text; pulls respond with lines of JSON. */
  readonly body: string;
}

/** Client of a Docker engine for tests, independent of the provider's code. */
export class EngineApi {
  /** Such as `unix:///run/docker.sock`. */
  readonly host: string;

  constructor(host: string) {
    this.host = host;
  }

  /** Path of the socket. */
  get socketPath(): string {
    return this.host.replace(/^unix:\/\//, "");
  }

  /** Sends a request. A body of bytes is sent unchanged, any other as JSON. */
  async ask(method: string, path: string, body?: object | Buffer, more: Readonly<Record<string, string>> = {}): Promise<EngineApiAnswer> {
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const headers = {
      host: "docker",
      "content-length": bytes?.length ?? 0,
      ...more,
      ...(bytes && { "content-type": Buffer.isBuffer(body) ? "application/x-tar" : "application/json" }),
    };
    const sent = request({ socketPath: this.socketPath, method, path, headers, agent: false });
    sent.end(bytes);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: await text(response) };
  }

  /** Sends a request and parses a successful response as JSON; an empty body is `undefined`. @throws Error with the engine's message */
  async json(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await this.ask(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.trim()}`);
    return answer.body.trim() === "" ? undefined : JSON.parse(answer.body);
  }

  /** IDs of all containers with these labels. */
  async containers(labels: Readonly<Record<string, string>> = {}): Promise<string[]> {
    const filters = JSON.stringify({ label: Object.entries(labels).map(([key, value]) => `${key}=${value}`) });
    const found = (await this.json("GET", `/containers/json?all=1&filters=${encodeURIComponent(filters)}`)) as { Id: string }[];
    return found.map(({ Id }) => Id);
  }

  /** Creates and starts a container from a configuration of the API, including `HostConfig`. @returns its ID */
  async run(config: object): Promise<string> {
    const { Id } = (await this.json("POST", "/containers/create", config)) as { Id: string };
    await this.json("POST", `/containers/${Id}/start`);
    return Id;
  }

  /** Removes a container, even if it runs. */
  async remove(id: string): Promise<void> {
    await this.ask("DELETE", `/containers/${id}?force=1&v=1`);
  }
}
