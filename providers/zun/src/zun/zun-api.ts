import { isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { HttpAnswer } from "../openstack/http-client.ts";
import type { ServiceRequest, Session } from "../openstack/session.ts";
import { chooseMinor, type Minor } from "./microversion.ts";
import type { ZunCapsule, ZunContainer, ZunExec, ZunQuota, ZunStats } from "./zun-objects.ts";

/** Entries of one page of a list; Zun's own limit is 1000. */
const pageSize = 500;
/** A list that goes on for longer goes in a circle. */
const maxPages = 200;
/** Characters that an error shows of a text that is not Zun's answer. */
const maxShown = 100;

/** Enough of an answer to tell whose it is. What stands before a service may answer 200 as well, with something else. */
const entry = z.looseObject({ uuid: z.string().min(1) });
const pages = {
  containers: z.object({ containers: z.array(entry), next: z.unknown() }),
  capsules: z.object({ capsules: z.array(entry), next: z.unknown() }),
};

/** Which output is wanted. */
export interface ZunLogQuery {
  readonly timestamps: boolean;
  /** Seconds since 1970, whole. */
  readonly sinceSeconds?: number | undefined;
  readonly tail?: number | undefined;
}

/** Zun's calls, each a method. All of them throw what {@link Session.send} throws, and UnavailableError for an answer that is not Zun's. */
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
    return this.#create<ZunContainer>("/containers/?run=true", { what: "create a container", body }, signal);
  }

  /** Makes a capsule, which starts by itself. */
  async createCapsule(body: object, signal: AbortSignal): Promise<ZunCapsule> {
    return this.#create<ZunCapsule>("/capsules/", { what: "create a capsule", body }, signal);
  }

  /** All containers of the project. @throws also where a page is missing: what is returned is whole */
  listContainers(signal: AbortSignal): Promise<readonly ZunContainer[]> {
    return this.#list<ZunContainer>("containers", signal);
  }

  /** All capsules of the project. */
  listCapsules(signal: AbortSignal): Promise<readonly ZunCapsule[]> {
    return this.#list<ZunCapsule>("capsules", signal);
  }

  /** The container as its host says it is now. @throws NotFoundError */
  async showContainer(uuid: string, signal: AbortSignal): Promise<ZunContainer> {
    return this.#show<ZunContainer>(`/containers/${uuid}`, { uuid, what: "look at a container" }, signal);
  }

  /** The capsule as Zun's database has it. @throws NotFoundError */
  async showCapsule(uuid: string, signal: AbortSignal): Promise<ZunCapsule> {
    return this.#show<ZunCapsule>(`/capsules/${uuid}`, { uuid, what: "look at a capsule" }, signal);
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
    const { body } = await this.#send("GET", `/containers/${uuid}/logs?${query.toString()}`, "read a container's logs", signal);
    return typeof body === "string" ? body : "";
  }

  /** Prepares a command: with `run` it is run to its end, at most five seconds; else it begins when its websocket is opened. */
  async execute(
    uuid: string,
    { command, run }: { readonly command: string; readonly run: boolean },
    signal: AbortSignal,
  ): Promise<ZunExec> {
    const query = new URLSearchParams({ command, run: String(run), interactive: String(!run) });
    return object(await this.#send("POST", `/containers/${uuid}/execute?${query.toString()}`, "run a command in a container", signal));
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
    const { body } = await this.#send("GET", `/containers/${uuid}/attach`, "attach to a container", signal);
    return typeof body === "string" ? body : "";
  }

  /** What the container uses. */
  async stats(uuid: string, signal: AbortSignal): Promise<ZunStats> {
    return object(await this.#send("GET", `/containers/${uuid}/stats`, "measure a container", signal));
  }

  /** The project's limits. */
  async quota(signal: AbortSignal): Promise<ZunQuota> {
    const project = await this.#session.projectId(signal);
    return object(await this.#send("GET", `/quotas/${project}`, "read the project's quota", signal));
  }

  async #list<T extends { readonly uuid: string }>(kind: "containers" | "capsules", signal: AbortSignal): Promise<readonly T[]> {
    const found = new Map<string, T>();
    const what = `list the ${kind}`;
    let marker: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const path = `/${kind}/?limit=${pageSize}${marker === undefined ? "" : `&marker=${marker}`}`;
      const { body } = await this.#send("GET", path, what, signal);
      const parsed = pages[kind].safeParse(body);
      if (!parsed.success) throw notZun(what, body);
      const { [kind]: entries = [], next } = parsed.data as { readonly [Kind in typeof kind]?: readonly T[] } & { readonly next: unknown };
      for (const each of entries) found.set(each.uuid, each);
      const last = entries.at(-1)?.uuid;
      if (typeof next !== "string" || last === undefined) return [...found.values()];
      if (last === marker) break;
      marker = last;
    }
    throw new UnavailableError(`${what}: Zun's list goes in a circle: after ${marker ?? ""} it has no end`);
  }

  async #create<T>(path: string, { what, body }: { readonly what: string; readonly body: object }, signal: AbortSignal): Promise<T> {
    const { body: created } = await this.#send("POST", path, what, signal, body);
    if (!entry.safeParse(created).success) throw notZun(what, created);
    return created as T;
  }

  async #show<T>(path: string, { uuid, what }: { readonly uuid: string; readonly what: string }, signal: AbortSignal): Promise<T> {
    const { body } = await this.#send("GET", path, what, signal);
    if (entry.safeParse(body).data?.uuid !== uuid) throw notZun(`${what} (${uuid})`, body);
    return body as T;
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
    return this.#session.send({ service: "container", method, path, headers, body, what, signal });
  }

  async #readMinor(signal: AbortSignal): Promise<Minor> {
    const url = (await this.#session.endpoint("container", signal)).replace(/\/v1$/, "/");
    const { body } = await this.#session.sendPublic({ url, what: "read Zun's versions", signal });
    return chooseMinor(body);
  }
}

function object<T extends object>({ body }: HttpAnswer): T {
  return (typeof body === "object" && body !== null ? body : {}) as T;
}

/** Names of fields alone are shown: values may be secrets of a container's. */
function notZun(what: string, body: unknown): UnavailableError {
  const shown =
    typeof body === "string" ? body.slice(0, maxShown) : body === undefined ? "nothing" : JSON.stringify(Object.keys(Object(body)));
  return new UnavailableError(`${what}: what answered does not answer as Zun does: ${shown}`);
}
