import { request, type IncomingMessage } from "node:http";
import { isErrorCode, UnavailableError, type ErrorCode } from "@virtual-kubelet/errdefs";
import type { Instance, InstanceRequest } from "../pretend-backend/instance.ts";
import { FileBackendFiles } from "./file-backend-files.ts";
import type { BackendEvent, InstanceList } from "./file-backend-server.ts";

/** An error that the back end returned, with its errdefs code. */
class BackendError extends Error {
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode) {
    super(message);
    this.name = "BackendError";
    this.code = code;
  }
}

/**
 * Client of a file back end. Every method throws `signal.reason` when aborted, UnavailableError when the back end does not respond,
 * and otherwise the back end's error with its errdefs code.
 */
export class FileBackendClient {
  readonly #socketPath: string;

  /** @param directory - folder of the back end */
  constructor(directory: string) {
    this.#socketPath = new FileBackendFiles(directory).socket;
  }

  /** Returns when the back end responds, with any status. */
  async reach(signal: AbortSignal): Promise<void> {
    (await this.#send("GET", "/", signal)).resume();
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#json("GET", "/ping", signal);
  }

  async create(instance: InstanceRequest, signal: AbortSignal): Promise<Instance> {
    return (await this.#json("POST", "/instances", signal, instance)) as Instance;
  }

  async get(uid: string, signal: AbortSignal): Promise<Instance> {
    return (await this.#json("GET", `/instances/${encodeURIComponent(uid)}`, signal)) as Instance;
  }

  async list(signal: AbortSignal): Promise<InstanceList> {
    return (await this.#json("GET", "/instances", signal)) as InstanceList;
  }

  async delete(uid: string, gracePeriodSeconds: number, signal: AbortSignal): Promise<void> {
    await this.#json("DELETE", `/instances/${encodeURIComponent(uid)}?gracePeriodSeconds=${String(gracePeriodSeconds)}`, signal);
  }

  /** Changes an instance from outside the provider. */
  async act(uid: string, action: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    await this.#json("POST", `/instances/${encodeURIComponent(uid)}/test?${new URLSearchParams(action).toString()}`, signal);
  }

  /** Events of the back end, until the connection ends. */
  async *events(signal: AbortSignal): AsyncGenerator<BackendEvent, void, undefined> {
    const response = await this.#send("GET", "/events", signal);
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) {
      const lines = `${text}${String(chunk)}`.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as BackendEvent;
    }
  }

  async #json(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<unknown> {
    const response = await this.#send(method, path, signal, body);
    let text = "";
    try {
      for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
    } catch (cause) {
      throw this.#broken(method, path, signal, cause);
    }
    const answer = JSON.parse(text) as { readonly code?: unknown; readonly message?: unknown };
    if ((response.statusCode ?? 500) < 400) return answer;
    throw new BackendError(`${method} ${path}: ${String(answer.message)}`, isErrorCode(answer.code) ? answer.code : "VK_TERMINAL");
  }

  #send(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request({ socketPath: this.#socketPath, method, path, signal, agent: false }, resolve);
      call.on("error", (cause) => reject(this.#broken(method, path, signal, cause)));
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #broken(method: string, path: string, signal: AbortSignal, cause: unknown): unknown {
    if (signal.aborted) return signal.reason;
    return new UnavailableError(`${method} ${path}: the back end at ${this.#socketPath} does not answer`, { cause });
  }
}
