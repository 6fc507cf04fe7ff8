import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import type { Reaper } from "@virtual-kubelet/testing";
import { groupUse } from "../../real-process-provider/group-use.ts";
import { ApiFault, notFound, wrongState } from "./api-fault.ts";
import { FakeContainer, type ContainerBody } from "./fake-container.ts";
import { schemaProblem } from "./schema-check.ts";
import { shellSplit } from "./shell-split.ts";

const { schemas } = JSON.parse(readFileSync(new URL("./zun-schemas.json", import.meta.url), "utf8")) as {
  readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/** A call of the API. */
export interface ZunCall {
  readonly method: string;
  /** Path without the version, such as `/containers/UUID/stop`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A response of the API. */
export interface ZunAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** A capsule with its containers. */
export interface FakeCapsule {
  readonly uuid: string;
  readonly createdMs: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly FakeContainer[];
  readonly initMembers: readonly FakeContainer[];
  readonly restartPolicy: string;
  status: string;
  isGone: boolean;
}

interface CapsuleTemplate {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly MemberBody[];
    readonly initContainers?: readonly MemberBody[];
    readonly restartPolicy?: string;
  };
}

interface MemberBody {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** States in which an action is allowed. Source: zun 18.0.0 zun/common/utils.py (`VALID_STATES`). */
const allowed: Readonly<Record<string, readonly string[]>> = {
  delete: ["Running", "Created", "Error", "Stopped", "Deleted", "Dead"],
  stop: ["Running"],
  reboot: ["Created", "Running", "Stopped", "Error"],
  kill: ["Running"],
  execute: ["Running"],
  execute_resize: ["Running"],
  attach: ["Running"],
  resize: ["Running"],
  stats: ["Running"],
  logs: ["Created", "Error", "Paused", "Running", "Stopped", "Unknown"],
};

/** Signals that the provider uses. */
const signals: Readonly<Record<string, NodeJS.Signals>> = { SIGTERM: "SIGTERM", SIGKILL: "SIGKILL" };

/** Zun's API on top of {@link FakeContainer}: routes, schemas and refusals of zun 18.0.0. */
export class FakeZun implements AsyncDisposable {
  readonly containers: Map<string, FakeContainer> = new Map<string, FakeContainer>();
  readonly capsules: Map<string, FakeCapsule> = new Map<string, FakeCapsule>();
  /** URL of the websocket proxy. */
  proxyUrl = "";
  /** Maximum number of containers in the project; Zun refuses more because of the quota. */
  quota = 1000;
  readonly #reaper: Reaper;
  #addresses = 0;

  constructor(reaper: Reaper) {
    this.#reaper = reaper;
  }

  /** Ends all containers, including those of capsules. */
  async [Symbol.asyncDispose](): Promise<void> {
    const losses = [...this.containers.values()].map((container) => container.lose());
    await Promise.all([...losses, ...[...this.capsules.values()].map((capsule) => this.#removeCapsule(capsule))]);
  }

  /** Zun's periodic sync, which refreshes the status of plain containers and ignores capsules. */
  sync(): void {
    this.#drop();
    for (const container of this.containers.values()) container.sync();
  }

  /** Answers a call. @throws ApiFault */
  async answer({ method, path, query, body }: ZunCall): Promise<ZunAnswer> {
    this.#drop();
    const [, collection = "", ident = "", action = ""] = path.split("/");
    if (collection === "quotas") return { status: 200, body: { containers: this.quota, memory: 51_200, disk: 100, cpu: 20 } };
    if (collection === "capsules") return this.#answerCapsules(method, ident, { query, body });
    if (collection !== "containers") throw notFound("resource", path);
    if (ident === "")
      return method === "POST" ? this.#createContainer(query, body) : this.#page("containers", [...this.containers.values()], query);
    const container = this.containers.get(ident);
    if (!container) throw notFound("container", ident);
    if (action !== "") return this.#act(container, action, { query, body });
    if (method === "DELETE") {
      this.#check("query_param_delete", query);
      this.#state(container, "delete");
      container.remove(query["stop"] === "true");
      return { status: 204 };
    }
    container.refresh();
    return { status: 200, body: containerView(container) };
  }

  #createContainer(query: ZunCall["query"], body: unknown): ZunAnswer {
    this.#check("query_param_create", query);
    this.#check("container_create", body);
    const request = body as ContainerBody;
    if ("image_pull_policy" in request)
      throw new ApiFault(
        403,
        "container.policy-not-authorized",
        "Policy doesn't allow container:create:image_pull_policy to be performed.",
      );
    if (this.containers.size >= this.quota) throw new ApiFault(403, "container.over-quota", "Quota exceeded for resources: ['containers']");
    const container = this.#newContainer(request);
    this.containers.set(container.uuid, container);
    const view = containerView(container);
    container.begin();
    return { status: 202, body: view };
  }

  #answerCapsules(method: string, ident: string, { query, body }: Pick<ZunCall, "query" | "body">): ZunAnswer {
    if (ident === "") {
      if (method === "POST") return this.#createCapsule(body);
      return this.#page("capsules", [...this.capsules.values()], query);
    }
    const capsule = this.capsules.get(ident);
    if (!capsule) throw notFound("container", ident);
    if (method === "DELETE") {
      void this.#removeCapsule(capsule);
      return { status: 204 };
    }
    return { status: 200, body: capsuleView(capsule) };
  }

  #createCapsule(body: unknown): ZunAnswer {
    this.#check("capsule_create", body);
    const { metadata, spec } = (body as { readonly template: CapsuleTemplate }).template;
    const toMember = (member: MemberBody): FakeContainer =>
      this.#newContainer({
        image: member.image,
        command: [...(member.command ?? []), ...(member.args ?? [])],
        environment: member.env ?? {},
      });
    const capsule: FakeCapsule = {
      uuid: randomUUID(),
      createdMs: Date.now(),
      name: metadata.name ?? "",
      labels: metadata.labels ?? {},
      members: spec.containers.map(toMember),
      initMembers: (spec.initContainers ?? []).map(toMember),
      restartPolicy: spec.restartPolicy ?? "Always",
      status: "Creating",
      isGone: false,
    };
    this.capsules.set(capsule.uuid, capsule);
    const view = { ...capsuleView(capsule), addresses: null };
    void this.#runCapsule(capsule);
    return { status: 202, body: view };
  }

  /** Runs init containers one after another, ignoring their exit codes, and then all others at once. */
  async #runCapsule(capsule: FakeCapsule): Promise<void> {
    for (const member of capsule.initMembers) {
      member.begin();
      await until(() => member.process?.ended !== undefined || capsule.isGone);
      member.refresh();
    }
    for (const member of capsule.members) if (!capsule.isGone) member.begin();
    await until(() => capsule.isGone || capsule.members.every(({ status }) => status !== "Creating" && status !== "Created"));
    capsule.status = "Running";
  }

  async #removeCapsule(capsule: FakeCapsule): Promise<void> {
    capsule.status = "Deleting";
    await Promise.all([...capsule.members, ...capsule.initMembers].map((member) => member.lose()));
    capsule.isGone = true;
  }

  async #act(container: FakeContainer, action: string, { query, body }: Pick<ZunCall, "query" | "body">): Promise<ZunAnswer> {
    this.#state(container, action);
    switch (action) {
      case "stop":
        this.#check("query_param_stop", query);
        container.stop(Number(query["timeout"] ?? 10) * 1000);
        return { status: 202 };
      case "reboot":
        this.#check("query_param_reboot", query);
        container.reboot(Number(query["timeout"] ?? 10) * 1000);
        return { status: 202 };
      case "kill":
        this.#check("query_param_signal", merged(query, body));
        container.kill(signals[query["signal"] ?? "SIGKILL"] ?? "SIGKILL");
        return { status: 202 };
      case "logs":
        this.#check("query_param_logs", query);
        return { status: 200, body: logText(container, query) };
      case "stats":
        return {
          status: 200,
          body: {
            CONTAINER: container.body.name,
            "CPU %": 0.01,
            "MEM USAGE(MiB)": groupUse(container.running().child.pid ?? 0).rssBytes / 1024 ** 2,
            "MEM LIMIT(MiB)": 512,
            "MEM %": 0.3,
            "BLOCK I/O(B)": "0/0",
            "NET I/O(B)": "10/20",
          },
        };
      case "attach":
        if (container.body.interactive !== true)
          throw new ApiFault(
            400,
            "container.no-interactive-flag",
            "Container doesn't support to be attached, please check the interactive set properly",
          );
        container.attachToken = randomUUID();
        return { status: 200, body: `${this.proxyUrl}?token=${container.attachToken}&uuid=${container.uuid}` };
      case "execute":
        return this.#execute(container, query);
      case "execute_resize":
        this.#check("query_param_execute_resize", query);
        this.onResize(query["exec_id"] ?? "", Number(query["w"]), Number(query["h"]));
        return { status: 200 };
      case "resize":
        return { status: 200 };
      default:
        throw notFound("action", action);
    }
  }

  /** Called when the size of a command's terminal changes. */
  onResize: (execId: string, width: number, height: number) => void = () => {};

  async #execute(container: FakeContainer, query: ZunCall["query"]): Promise<ZunAnswer> {
    this.#check("query_param_execute_command", query);
    const command = shellSplit(query["command"] ?? "");
    if (query["run"] !== "true") {
      const { execId, token } = container.createExec(command);
      const proxy_url = `${this.proxyUrl}?token=${token}&uuid=${container.uuid}&exec_id=${execId}`;
      return { status: 200, body: { output: null, exit_code: null, exec_id: execId, token, proxy_url } };
    }
    const { output, exitCode } = await container.running().run(command);
    return { status: 200, body: { output, exit_code: exitCode, exec_id: null, token: null } };
  }

  #newContainer(body: ContainerBody): FakeContainer {
    const number = ++this.#addresses;
    const address = `10.88.${Math.floor(number / 250)}.${(number % 250) + 2}`;
    return new FakeContainer(body, { reaper: this.#reaper, address, port: randomUUID() });
  }

  #page(
    kind: "containers" | "capsules",
    all: readonly (FakeContainer | FakeCapsule)[],
    { limit = "1000", marker }: ZunCall["query"],
  ): ZunAnswer {
    const start = marker === undefined ? 0 : all.findIndex(({ uuid }) => uuid === marker) + 1;
    const page = all.slice(start, start + Number(limit));
    const next = start + page.length < all.length ? `http://zun/v1/${kind}?limit=${limit}&marker=${page.at(-1)?.uuid}` : null;
    return { status: 200, body: { [kind]: page.map((each) => ("members" in each ? capsuleView(each) : containerView(each))), next } };
  }

  #check(name: string, value: unknown): void {
    const problem = schemaProblem(schemas[name] ?? {}, value);
    if (problem !== undefined) throw new ApiFault(400, "container.schema-validation-error", problem);
  }

  #state({ uuid, status }: FakeContainer, action: string): void {
    if (allowed[action] && !allowed[action].includes(status)) throw wrongState(uuid, action, status);
  }

  #drop(): void {
    for (const [uuid, { isGone }] of this.containers) if (isGone) this.containers.delete(uuid);
    for (const [uuid, { isGone }] of this.capsules) if (isGone) this.capsules.delete(uuid);
  }
}

/** Merges query and body of an action like Zun's web framework: a field in both becomes a list. */
function merged(query: ZunCall["query"], body: unknown): object {
  const inBody = Object.entries((body ?? {}) as Readonly<Record<string, unknown>>);
  return { ...query, ...Object.fromEntries(inBody.map(([key, value]) => [key, key in query ? [query[key], value] : value])) };
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** A time in Zun's format: UTC without a zone. */
function zunTime(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", "000");
}

function addressesOf({ address, port, process }: FakeContainer): object | null {
  return process
    ? { "6c2dee1c-8d4c-4b39-a4b1-5d6b8f0d7d2e": [{ addr: address, version: 4, port, subnet_id: "s", preserve_on_delete: false }] }
    : null;
}

/** A container in a response. Shape: recorded from zun-api 18.0.0, 2026-11; values of the compute host come from its source code. */
function containerView(container: FakeContainer): object {
  const { body, uuid, status, statusReason, statusDetail, taskState, createdMs } = container;
  return {
    uuid,
    name: body.name ?? null,
    image: body.image,
    status,
    status_reason: statusReason,
    status_detail: statusDetail,
    task_state: taskState,
    labels: body.labels ?? {},
    addresses: addressesOf(container),
    interactive: body.interactive ?? false,
    tty: body.tty ?? false,
    created_at: zunTime(createdMs),
    updated_at: zunTime(Date.now()),
  };
}

function capsuleView({ uuid, name, status, labels, members, initMembers, createdMs }: FakeCapsule): object {
  const [first] = members;
  return {
    uuid,
    name,
    status,
    status_reason: null,
    labels,
    addresses: first && addressesOf(first),
    created_at: zunTime(createdMs),
    updated_at: zunTime(createdMs),
    containers: members.map(containerView),
    init_containers: initMembers.map(containerView),
  };
}

function logText({ process }: FakeContainer, { timestamps, tail = "all", since }: ZunCall["query"]): string {
  let lines = process?.log ?? [];
  if (since !== undefined) lines = lines.filter(({ timeMs }) => timeMs >= Number(since) * 1000);
  if (tail !== "all") lines = lines.slice(Math.max(0, lines.length - Number(tail)));
  // Docker's times have nine fractional digits, and every line has a different time.
  const time = (ms: number, sequence: number): string =>
    new Date(ms).toISOString().replace("Z", `${String(sequence % 1_000_000).padStart(6, "0")}Z`);
  return lines.map(({ timeMs, sequence, text }) => `${timestamps === "true" ? `${time(timeMs, sequence)} ` : ""}${text}\n`).join("");
}
