import { problemOf } from "@virtual-kubelet/core";
import { isNotFound, isUnsupported, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { z } from "zod";
import type { HttpAnswer } from "../openstack/http-client.ts";
import type { ServiceRequest, Session } from "../openstack/session.ts";
import { chooseMinor, type Minor } from "./microversion.ts";
import { UnreadableError } from "./unreadable-error.ts";
import type { ZunCapsule, ZunContainer, ZunExec, ZunQuota, ZunStats } from "./zun-objects.ts";
import {
  capsuleSchema,
  containerSchema,
  execSchema,
  pageSchemas,
  quotaSchema,
  socketUrlSchema,
  statsSchema,
  uuidSchema,
} from "./zun-schemas.ts";

/** Entries of one page of a list; Zun's own limit is 1000. */
const pageSize = 500;
/** Maximum pages of one list. A longer list repeats itself. */
const maxPages = 200;
/** Maximum characters of a foreign answer that an error quotes. */
const maxShown = 100;

/** Schema of the uuid alone, for objects that are otherwise unreadable. */
export function uuidOf(value: unknown): string | undefined {
  return uuidSchema.safeParse(value).data?.uuid;
}

/** Options for reading a log. */
export interface ZunLogQuery {
  readonly timestamps: boolean;
  /** Seconds since 1970, whole. */
  readonly sinceSeconds?: number | undefined;
  readonly tail?: number | undefined;
}

/** Calls of Zun's API. All throw what {@link Session.send} throws, and UnavailableError for an answer that is not from Zun. */
export class ZunApi {
  readonly #session: Session;
  #minor: Minor | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The version that is asked for, read once from the version document. @throws UnsupportedError for a Zun that is too old */
  async minor(signal: AbortSignal): Promise<Minor> {
    return (this.#minor ??= await this.#readMinor(signal));
  }

  /** Whether Zun answers, and takes our token. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#send("GET", "/containers/?limit=1", "ask Zun whether it is there", signal);
  }

  /** Makes a container and starts it. */
  async createContainer(body: object, signal: AbortSignal): Promise<ZunContainer> {
    return this.#create("create a container", "/containers/?run=true", { schema: containerSchema, body }, signal);
  }

  /** Makes a capsule, which starts by itself. */
  async createCapsule(body: object, signal: AbortSignal): Promise<ZunCapsule> {
    return this.#create("create a capsule", "/capsules/", { schema: capsuleSchema, body }, signal);
  }

  /** All containers of the project, unparsed. Complete: throws if a page is missing */
  listContainers(signal: AbortSignal): Promise<readonly unknown[]> {
    return this.#list("containers", signal);
  }

  /** All capsules of the project, as {@link listContainers}. */
  listCapsules(signal: AbortSignal): Promise<readonly unknown[]> {
    return this.#list("capsules", signal);
  }

  /** The container as its host says it is now. @throws NotFoundError; UnreadableError */
  async showContainer(uuid: string, signal: AbortSignal): Promise<ZunContainer> {
    return this.#show(`/containers/${uuid}`, { schema: containerSchema, uuid }, signal);
  }

  /** The capsule as Zun's database has it. @throws NotFoundError; UnreadableError */
  async showCapsule(uuid: string, signal: AbortSignal): Promise<ZunCapsule> {
    return this.#show(`/capsules/${uuid}`, { schema: capsuleSchema, uuid }, signal);
  }

  /** Asks the container to end, with its image's stop signal, and kills it after that many seconds. */
  async stopContainer(uuid: string, timeoutSeconds: number, signal: AbortSignal): Promise<void> {
    await this.#send("POST", `/containers/${uuid}/stop?timeout=${timeoutSeconds}`, "stop a container", signal);
  }

  /** Ends the container's process as {@link stopContainer} does, and starts another, whatever its restart policy. Zun calls it Restarting at once. */
  async rebootContainer(uuid: string, timeoutSeconds: number, signal: AbortSignal): Promise<void> {
    await this.#send("POST", `/containers/${uuid}/reboot?timeout=${timeoutSeconds}`, "restart a container", signal);
  }

  /** Sends the container a signal. Zun calls it Stopped at once, until it is looked at. */
  async signalContainer(uuid: string, name: "SIGTERM" | "SIGKILL", signal: AbortSignal): Promise<void> {
    await this.#send("POST", `/containers/${uuid}/kill?signal=${name}`, "signal a container", signal);
  }

  /** Lets a paused container go on. */
  async unpauseContainer(uuid: string, signal: AbortSignal): Promise<void> {
    await this.#send("POST", `/containers/${uuid}/unpause`, "unpause a container", signal);
  }

  /** Deletes a container. One that runs is stopped first, with Zun's own 10 s. @returns whether it was there */
  deleteContainer(uuid: string, signal: AbortSignal): Promise<boolean> {
    return this.#delete(`/containers/${uuid}?stop=true`, "delete a container", signal);
  }

  /** Deletes a capsule and its members. @returns whether it was there */
  deleteCapsule(uuid: string, signal: AbortSignal): Promise<boolean> {
    return this.#delete(`/capsules/${uuid}`, "delete a capsule", signal);
  }

  /** The container's output so far, both streams as they came. */
  async logs(uuid: string, { timestamps, sinceSeconds, tail }: ZunLogQuery, signal: AbortSignal): Promise<string> {
    const query = new URLSearchParams({ stdout: "true", stderr: "true", timestamps: String(timestamps) });
    if (sinceSeconds !== undefined) query.set("since", String(sinceSeconds));
    if (tail !== undefined) query.set("tail", String(tail));
    const what = "read a container's logs";
    const { body = "" } = await this.#send("GET", `/containers/${uuid}/logs?${query.toString()}`, what, signal);
    if (typeof body !== "string") throw notZun(what, body);
    return body;
  }

  /** Prepares a command: with `run` it is run to its end, at most five seconds; else it begins when its websocket is opened. */
  async execute(
    uuid: string,
    { command, run }: { readonly command: string; readonly run: boolean },
    signal: AbortSignal,
  ): Promise<ZunExec> {
    const query = new URLSearchParams({ command, run: String(run), interactive: String(!run) });
    const what = "run a command in a container";
    return parsed(what, execSchema, await this.#send("POST", `/containers/${uuid}/execute?${query.toString()}`, what, signal));
  }

  /** Gives a command's terminal a size. */
  async resizeExec(
    uuid: string,
    { execId, width, height }: { readonly execId: string; readonly width: number; readonly height: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#send("POST", `/containers/${uuid}/execute_resize?exec_id=${execId}&h=${height}&w=${width}`, "resize a terminal", signal);
  }

  /** Gives the terminal of the container's main process a size. */
  async resizeContainer(
    uuid: string,
    { width, height }: { readonly width: number; readonly height: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#send("POST", `/containers/${uuid}/resize?h=${height}&w=${width}`, "resize a container's terminal", signal);
  }

  /** URL of a websocket with the streams of the container's main process: a secret. */
  async attach(uuid: string, signal: AbortSignal): Promise<string> {
    const what = "attach to a container";
    return parsed(what, socketUrlSchema, await this.#send("GET", `/containers/${uuid}/attach`, what, signal));
  }

  /** What the container uses. */
  async stats(uuid: string, signal: AbortSignal): Promise<ZunStats> {
    const what = "measure a container";
    return parsed(what, statsSchema, await this.#send("GET", `/containers/${uuid}/stats`, what, signal));
  }

  /** The project's limits. */
  async quota(signal: AbortSignal): Promise<ZunQuota> {
    const project = await this.#session.projectId(signal);
    const what = "read the project's quota";
    return parsed(what, quotaSchema, await this.#send("GET", `/quotas/${project}`, what, signal));
  }

  async #list(kind: "containers" | "capsules", signal: AbortSignal): Promise<readonly unknown[]> {
    /** By uuid; an object without one is its own key. */
    const found = new Map<unknown, unknown>();
    const what = `list the ${kind}`;
    let marker: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const path = `/${kind}/?limit=${pageSize}${marker === undefined ? "" : `&marker=${marker}`}`;
      const { body } = await this.#sendForAny("GET", path, what, signal);
      const { data } = pageSchemas[kind].safeParse(body);
      if (!data) throw notZun(what, body);
      const entries = data[kind] ?? [];
      for (const each of entries) found.set(uuidOf(each) ?? {}, each);
      if (typeof data.next !== "string") return [...found.values()];
      const last = uuidOf(entries.at(-1)) ?? markerOf(data.next);
      if (last === undefined) throw new UnavailableError(`${what}: Zun's list has a next page without a marker`);
      if (last === marker) break;
      marker = last;
    }
    throw new UnavailableError(`${what}: Zun's list does not end: the marker ${marker ?? ""} is repeated`);
  }

  async #create<T>(
    what: string,
    path: string,
    { schema, body }: { readonly schema: z.ZodType<T>; readonly body: object },
    signal: AbortSignal,
  ): Promise<T> {
    const { body: created } = await this.#send("POST", path, what, signal, body);
    if (uuidOf(created) === undefined) throw notZun(what, created);
    return readObject(schema, created);
  }

  async #show<T>(
    path: string,
    { schema, uuid }: { readonly schema: z.ZodType<T>; readonly uuid: string },
    signal: AbortSignal,
  ): Promise<T> {
    const what = `look at ${path}`;
    const { body } = await this.#send("GET", path, what, signal);
    if (uuidOf(body) !== uuid) throw notZun(what, body);
    return readObject(schema, body);
  }

  async #delete(path: string, what: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#send("DELETE", path, what, signal);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #send(method: ServiceRequest["method"], path: string, what: string, signal: AbortSignal, body?: unknown): Promise<HttpAnswer> {
    const headers = { "openstack-api-version": `container 1.${await this.minor(signal)}` };
    try {
      return await this.#session.send({ service: "container", method, path, headers, body, what, signal });
    } catch (error) {
      // Zun was replaced by another release.
      if (isUnsupported(error)) this.#minor = undefined;
      throw error;
    }
  }

  /** As {@link ZunApi.#send}, for calls about no single object: a 404 then says nothing about an object. */
  async #sendForAny(method: ServiceRequest["method"], path: string, what: string, signal: AbortSignal): Promise<HttpAnswer> {
    try {
      return await this.#send(method, path, what, signal);
    } catch (error) {
      if (isNotFound(error)) throw new UnavailableError(messageOf(error), { cause: error });
      throw error;
    }
  }

  async #readMinor(signal: AbortSignal): Promise<Minor> {
    const url = (await this.#session.endpoint("container", signal)).replace(/\/v1$/, "/");
    const { body } = await this.#session.sendPublic({ url, what: "read Zun's versions", signal });
    return chooseMinor(body);
  }
}

/** @throws UnreadableError with the problem */
function readObject<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new UnreadableError(problemOf(error));
}

/** The marker in the URL of a list's next page. */
function markerOf(next: string): string | undefined {
  const marker = URL.parse(next, "http://zun")?.searchParams.get("marker");
  return uuidOf({ uuid: marker });
}

/** @throws UnavailableError naming the field */
function parsed<T>(what: string, schema: z.ZodType<T>, { body }: HttpAnswer): T {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  throw new UnavailableError(`${what}: the server does not answer as Zun does: ${problemOf(error)}`);
}

/** Shows only names of fields, because values may be a container's secrets. */
function notZun(what: string, body: unknown): UnavailableError {
  const shown =
    typeof body === "string" ? body.slice(0, maxShown) : body === undefined ? "nothing" : JSON.stringify(Object.keys(Object(body)));
  return new UnavailableError(`${what}: the server does not answer as Zun does: ${shown}`);
}
