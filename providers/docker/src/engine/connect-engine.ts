import { UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Clock, Logger } from "@virtual-kubelet/core";
import type { DockerEngine, EngineEndpoint, EngineRequest } from "./docker-engine.ts";
import { agreedVersion } from "./api-version.ts";
import { engineMessageOf, engineStatusOf, formatEndpoint } from "./engine-error.ts";
import { EngineTransport } from "./engine-transport.ts";

export interface ConnectEngineOptions {
  readonly endpoint: EngineEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Deadline of the request for the engine's versions, in milliseconds. */
const pingTimeoutMs = 5_000;

/** Creates a connection to an engine, without a request. Disposing it closes idle connections. */
export function connectEngine(options: ConnectEngineOptions): DockerEngine & Disposable {
  return new Engine(options);
}

class Engine implements DockerEngine, Disposable {
  readonly endpoint: EngineEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly #transport: EngineTransport;
  #version: string | undefined;

  constructor({ endpoint, clock, logger }: ConnectEngineOptions) {
    this.endpoint = endpoint;
    this.clock = clock;
    this.logger = logger;
    this.#transport = new EngineTransport({ endpoint, clock });
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]();
  }

  async apiVersion(signal: AbortSignal): Promise<string> {
    if (this.#version !== undefined) return this.#version;
    const request = { method: "GET", path: "/_ping", what: "agree on a version of the Docker API", timeoutMs: pingTimeoutMs } as const;
    const { headers } = await this.#transport.answer(request, signal);
    const offered = headers["api-version"];
    const where = formatEndpoint(this.endpoint);
    if (typeof offered !== "string")
      throw new UnavailableError(`${request.what}: the program that answers at ${where} is not a Docker engine`);
    const version = agreedVersion(offered);
    if (version === undefined) {
      throw new UnsupportedError(`${request.what}: the engine at ${where} offers ${offered}, expected 1.41 or later: Docker Engine 20.10`);
    }
    this.#version = version;
    return version;
  }

  async json(request: EngineRequest, signal: AbortSignal): Promise<unknown> {
    return this.#versioned(request, signal, async (versioned) => (await this.#transport.answer(versioned, signal)).body);
  }

  stream(request: EngineRequest, signal: AbortSignal): ReturnType<DockerEngine["stream"]> {
    return this.#versioned(request, signal, (versioned) => this.#transport.stream(versioned, signal));
  }

  upgrade(request: EngineRequest, signal: AbortSignal): ReturnType<DockerEngine["upgrade"]> {
    return this.#versioned(request, signal, (versioned) => this.#transport.upgrade(versioned, signal));
  }

  async #versioned<T>(request: EngineRequest, signal: AbortSignal, send: (request: EngineRequest) => Promise<T>): Promise<T> {
    const attempt = async (): Promise<T> => send({ ...request, path: `/v${await this.apiVersion(signal)}${request.path}` });
    try {
      return await attempt();
    } catch (error) {
      if (engineStatusOf(error) !== 400 || !/client version .* is too (new|old)/i.test(engineMessageOf(error) ?? "")) throw error;
      // The engine has been replaced by one with another version.
      this.#version = undefined;
      return attempt();
    }
  }
}
