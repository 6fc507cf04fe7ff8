import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { rmSync } from "node:fs";
import { errorCodes, type ErrorCode } from "@virtual-kubelet/errdefs";
import type { Clock, Random } from "@virtual-kubelet/core";
import type { Instance, InstanceRequest } from "../pretend-backend/instance.ts";
import { PretendBackend, type InstanceChange } from "../pretend-backend/pretend-backend.ts";
import { FileBackendFiles, type FileBackendControl, type FileBackendOperation, type JournalEntry } from "./file-backend-files.ts";

/** Event of a watch on the back end: first all instances, then every change. */
export type BackendEvent =
  | { readonly type: "snapshot"; readonly instances: readonly Instance[] }
  | { readonly type: "change"; readonly change: InstanceChange; readonly instance: Instance };

/** Response to a list. */
export interface InstanceList {
  readonly instances: readonly Instance[];
  readonly complete: boolean;
}

/** A request, its response, and the control settings at that time. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly control: FileBackendControl;
  readonly query: URLSearchParams;
}

/** Events of the journal by change; other changes are not recorded. */
const journalled: Readonly<Partial<Record<InstanceChange, JournalEntry["event"]>>> = {
  created: "create",
  stopping: "delete",
  running: "running",
  ended: "ended",
  removed: "removed",
};

/**
 * Serves the back end: pretend instances that are stored in files, and an HTTP API on a Unix socket. A later process with the same
 * folder continues with all instances.
 *
 * @returns the server, listening
 */
export async function serveFileBackend(directory: string, options: { readonly clock: Clock; readonly random: Random }): Promise<Server> {
  const files = new FileBackendFiles(directory);
  files.prepare();
  // A killed process leaves its socket file behind.
  rmSync(files.socket, { force: true });
  const watchers = new Set<ServerResponse>();
  let made = files.readJournal().filter(({ event }) => event === "create").length;
  const backend = new PretendBackend({
    clock: options.clock,
    nextInstanceId: () => options.random.uuid(),
    nextPodIP: () => podIP(++made),
    timings: () => files.readControl(),
    onChange: record,
  });
  backend.restore(files.readInstances());
  const server = createServer((request, response) => void handle(request, response));
  server.listen(files.socket);
  await once(server, "listening");
  return server;

  function record(instance: Instance, change: InstanceChange): void {
    if (change === "removed") files.removeInstance(instance.instanceId);
    else files.writeInstance(instance);
    const event = journalled[change];
    const { uid, namespace, name } = instance.ref;
    const at = new Date(options.clock.now()).toISOString();
    if (event !== undefined)
      files.appendJournal({ at, event, instanceId: instance.instanceId, uid, namespace, name, owner: instance.owner });
    if (files.readControl().dropEvents !== true) for (const watcher of watchers) send(watcher, { type: "change", change, instance });
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://backend");
    const uid = decodeURIComponent(url.pathname.split("/")[2] ?? "");
    const operation = operationOf(request.method ?? "", url.pathname);
    switch (operation) {
      case undefined:
        return refuse(response, "VK_NOT_FOUND", `${String(request.method)} ${url.pathname}: no such operation`);
      case "watch":
        return watch(response);
      case "test":
        act(uid, url.searchParams);
        return answer(response, 200, {});
      default: {
        const control = files.readControl();
        const failure = control.failures?.[operation];
        if (control.hang?.includes(operation) === true) return;
        if (failure !== undefined) return refuse(response, failure.code, failure.message ?? `${operation} is to fail`);
        return await carryOut(operation, uid, { request, response, control, query: url.searchParams });
      }
    }
  }

  async function carryOut(operation: FileBackendOperation, uid: string, exchange: Exchange): Promise<void> {
    const { request, response, control, query } = exchange;
    const notThere = `there is no instance for pod ${uid}`;
    switch (operation) {
      case "ping":
        return answer(response, 200, {});
      case "create": {
        const body = await readBody(request).catch(() => undefined);
        // The program was killed before it had sent all.
        if (body === undefined) return;
        const instance = backend.create(JSON.parse(body) as InstanceRequest);
        await options.clock.sleep(control.createDelayMs ?? 0);
        return answer(response, 201, instance);
      }
      case "get": {
        const instance = backend.of(uid).at(-1);
        return instance === undefined ? refuse(response, "VK_NOT_FOUND", notThere) : answer(response, 200, instance);
      }
      case "list": {
        const incomplete = control.listIncomplete === true;
        const instances = backend.list().filter((_instance, index) => !incomplete || index % 2 === 0);
        return answer(response, 200, { instances, complete: !incomplete } satisfies InstanceList);
      }
      case "delete": {
        const found = backend.stop(uid, Number(query.get("gracePeriodSeconds")));
        return found === 0 ? refuse(response, "VK_NOT_FOUND", notThere) : answer(response, 202, {});
      }
    }
  }

  /** Changes to an instance from outside. */
  function act(uid: string, parameters: URLSearchParams): void {
    const [podIP, exitCode] = [parameters.get("podIP"), parameters.get("exitCode")];
    if (podIP !== null) backend.setPodIP(uid, podIP);
    if (exitCode !== null) backend.exit(uid, Number(exitCode));
    if (parameters.has("lose")) backend.lose(uid);
  }

  function watch(response: ServerResponse): void {
    watchers.add(response);
    response.once("close", () => watchers.delete(response));
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    send(response, { type: "snapshot", instances: backend.list() });
  }
}

function operationOf(method: string, path: string): FileBackendOperation | "watch" | "test" | undefined {
  const [, collection, uid, action] = path.split("/");
  if (method === "GET" && collection === "ping") return "ping";
  if (method === "GET" && collection === "events") return "watch";
  if (collection !== "instances") return undefined;
  if (uid === undefined) return method === "GET" ? "list" : method === "POST" ? "create" : undefined;
  if (action === "test") return "test";
  return method === "GET" ? "get" : method === "DELETE" ? "delete" : undefined;
}

/** Address from 10.128.0.0/9; every new instance gets a different one. */
function podIP(number: number): string {
  return `10.${String(128 + ((number >> 16) & 0x7f))}.${String((number >> 8) & 0xff)}.${String(number & 0xff)}`;
}

function refuse(response: ServerResponse, code: ErrorCode, message: string): void {
  answer(response, errorCodes[code].httpStatus, { code, message });
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function send(response: ServerResponse, event: BackendEvent): void {
  response.write(`${JSON.stringify(event)}\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}
