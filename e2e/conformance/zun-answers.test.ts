import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { podRef, type Pod, type ProviderPod, type ProviderPodStatus } from "@virtual-kubelet/core";
import { isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeCloud } from "../zun/fake/fake-cloud.ts";
import { openProvider, podOf, resolverOf, type OpenedProvider } from "../zun/support.ts";

// Answers that a cloud should not give: none of them makes the node blind, ends a pod that is wanted, or leaves anything behind.

const { signal } = new AbortController();
const running = { name: "main", image: "busybox", command: ["sleep", "600"] };
const soon = { timeoutMs: 30_000, intervalMs: 50 };

let cloud: FakeCloud;
let opened: OpenedProvider;
let pods: Pod[];
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "vk-zun-answers-"));
  cloud = await FakeCloud.start();
  pods = [];
  opened = await openProvider({ ...cloud.config, pollInterval: "200ms" }, pods);
  opened.provider.notifyPods?.((update) => void opened.updates.push(update));
});
afterEach(async () => {
  await opened[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function create(spec: Pod["spec"] = { containers: [running] }, annotations: Readonly<Record<string, string>> = {}): Promise<Pod> {
  const pod = podOf(spec ?? { containers: [] }, annotations);
  pods.push(pod);
  await opened.provider.createPod(pod, resolverOf(pod), signal);
  await eventually(async () => expect((await statusOf(pod)).phase).toBe("Running"), soon);
  return pod;
}

const statusOf = async (pod: Pod): Promise<ProviderPodStatus> => opened.provider.getPodStatus(podRef(pod), signal);
const failureOf = (call: Promise<unknown> | undefined): Promise<unknown> =>
  Promise.resolve(call).then(
    () => undefined,
    (error: unknown) => error,
  );
const gone = (): unknown[] => opened.updates.filter((update) => "gone" in update);
const containers = (): string[] => [...cloud.zun.containers.values()].filter(({ isGone }) => !isGone).map(({ uuid }) => uuid);

/** Waits until so many more lists have been asked for. */
async function moreLists(count: number): Promise<void> {
  const lists = (): number => cloud.seen.filter(({ path }) => /\/containers\/\?limit=500/.test(path)).length;
  const wanted = lists() + count;
  await eventually(() => expect(lists()).toBeGreaterThanOrEqual(wanted), { timeoutMs: 60_000 });
}

type Fields = Record<string, unknown>;

/** Changes what the cloud answers about a pod, in lists, in looks, or in both. */
function damage(pod: Pod, change: Fields, where: "list" | "show" | "both" = "both"): void {
  const { uid } = podRef(pod);
  const alter = (object: Fields): Fields => ((object["labels"] as Fields | null)?.["UID"] === uid ? { ...object, ...change } : object);
  cloud.faults.alter = {
    method: "GET",
    path: { list: /\/(containers|capsules)\/\?limit=500/, show: /\/(containers|capsules)\/[^/?]+$/, both: /\/(containers|capsules)\// }[
      where
    ],
    body: (answer) => {
      const fields = answer as Fields;
      for (const kind of ["containers", "capsules"] as const)
        if (Array.isArray(fields[kind]) && "next" in fields) return { ...fields, [kind]: (fields[kind] as Fields[]).map(alter) };
      return alter(fields);
    },
  };
}

test.each<[string, Fields]>([
  ["a status that is a number", { status: 42 }],
  ["a status that no release knows", { status: "Hibernating" }],
  ["addresses that are none", { addresses: { net: [{ addr: "10.0.0.500", version: 4 }] } }],
  ["an exit code that is none", { status: "Stopped", status_detail: "Exited(31337) 1 mins ago " }],
  ["an end before there were machines", { status: "Stopped", status_detail: `Exited(0) ${"9".repeat(20)} days ago ` }],
  ["a date that is none", { created_at: "2026-99-99 99:99:99" }],
  ["a uuid that is none", { uuid: "../../v1/capsules" }],
  ["labels that are none", { labels: "UID" }],
])("a pod with %s stays as it was, is named once, and does not keep the others", async (_what, change) => {
  const bad = await create();
  const ending = ["sh", "-c", `until [ -e ${join(folder, "over")} ]; do sleep 0.05; done; exit 4`];
  const good = await create({ restartPolicy: "Never", containers: [{ ...running, command: ending }] });
  const before = await statusOf(bad);
  damage(bad, change);
  writeFileSync(join(folder, "over"), "");
  await eventually(async () => expect((await statusOf(good)).containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4), soon);
  await eventually(() => expect(opened.updates.some((each) => "status" in each && each.status.phase === "Failed")).toBe(true), soon);
  await moreLists(3);
  const { pods: listed } = await opened.provider.getPods(signal);

  const ofBad = ({ ref }: { readonly ref: { readonly uid: string } }): boolean => ref.uid === podRef(bad).uid;
  expect([gone(), listed.filter(ofBad).map(({ status }: ProviderPod) => status)]).toEqual([
    [],
    "uuid" in change ? [expect.anything()] : [before],
  ]);
  expect(new Set(opened.skipped).size).toBe(opened.skipped.length);
  expect(opened.skipped.length).toBeGreaterThan(0);
  expect(opened.updates.filter(ofBad).map((each) => "status" in each && each.status.phase)).not.toContain("Failed");
  delete cloud.faults.alter;
  expect(await statusOf(bad)).toEqual(before);
});

test("a program that begins finds a pod that cannot be read there, as Kubernetes was told last, and makes no second one", async () => {
  const pod = await create({ containers: [running] }, { "zun.virtual-kubelet.io/subnets": "private-subnet" });
  pod.status = structuredClone(await statusOf(pod)) as NonNullable<Pod["status"]>;
  damage(pod, { status: 42 });
  await using fresh = await openProvider({ ...cloud.config, pollInterval: "200ms" }, pods);
  const { pods: listed, complete } = await fresh.provider.getPods(signal);
  expect([listed.map(({ ref, status }) => [ref, status.phase]), complete]).toEqual([[[podRef(pod), "Running"]], true]);
  const error = await failureOf(fresh.provider.createPod(pod, resolverOf(pod), signal));
  fresh.provider.notifyPods?.((update) => void fresh.updates.push(update));
  await moreLists(4);

  expect([isUnavailable(error), String(error)]).toEqual([true, expect.stringMatching(/is in Zun and cannot be read: status: /)]);
  expect([containers().length, cloud.neutron.tables["ports"]?.length, fresh.updates.filter((each) => "gone" in each)]).toEqual([1, 1, []]);
  delete cloud.faults.alter;
  await eventually(async () => expect((await fresh.provider.getPodStatus(podRef(pod), signal)).phase).toBe("Running"), soon);
});

test.each<[string, (labels: Fields) => unknown]>([
  ["labels that are none", () => 7],
  ["no node in its labels", (labels) => ({ ...labels, NodeName: "" })],
])("a list with something that has %s, and may be anybody's, is not whole, and nothing is ended or swept for it", async (_what, change) => {
  const pod = await create({ containers: [running] }, { "zun.virtual-kubelet.io/subnets": "private-subnet" });
  const [object] = cloud.zun.containers.values();
  damage(pod, { labels: change(object?.body["labels"] as Fields) }, "list");
  await using fresh = await openProvider({ ...cloud.config, pollInterval: "200ms" });
  fresh.provider.notifyPods?.(() => {});
  await moreLists(4);

  expect(await fresh.provider.getPods(signal)).toEqual({ pods: [], complete: false });
  expect([containers().length, cloud.neutron.tables["ports"]?.length]).toEqual([1, 1]);
});

test("an orphan that cannot be read is ended, and a pod that is deleted meanwhile, too", async () => {
  const [first, second] = [await create(), await create()];
  damage(first, { status: 42 });
  await opened.provider.deletePod(podRef(first), { gracePeriodSeconds: 1 }, signal);
  await eventually(() => expect(gone()).toEqual([{ ref: podRef(first), gone: true }]), soon);
  damage(second, { status: 42 });
  await using fresh = await openProvider({ ...cloud.config, pollInterval: "200ms" });
  await fresh.provider.getPods(signal);
  await fresh.provider.deletePod(podRef(second), { gracePeriodSeconds: 1 }, signal);

  await eventually(() => expect(containers()).toEqual([]), soon);
});

const notFoundWords = { errors: [{ code: "container.container-not-found", status: 404, detail: "Container x could not be found." }] };

test.each<[string, RegExp, unknown, (pod: Pod) => Promise<unknown>]>([
  ["a proxy answers 404 to everything", /./, "<html>404 page not found</html>", statusOf],
  ["Zun has no list, in its own words", /limit=500/, notFoundWords, () => opened.provider.getPods(signal)],
])("while %s no pod is gone", async (_what, path, body, ask) => {
  const pod = await create();
  cloud.faults.answerWith = { method: "GET", path, status: 404, body };
  const error = await failureOf(ask(pod));
  const before = cloud.seen.length;
  await eventually(() => expect(cloud.seen.slice(before).some((each) => each.path.includes("limit=500"))).toBe(true), soon);
  expect([isNotFound(error), isUnavailable(error), gone()]).toEqual([false, true, []]);
  delete cloud.faults.answerWith;

  expect((await statusOf(pod)).phase).toBe("Running");
});

test.each<[string, (answer: unknown) => unknown]>([
  ["whose catalogue has lost Zun", (answer) => ({ token: { ...(answer as { readonly token: Fields }).token, catalog: [] } })],
  ["whose catalogue is none", (answer) => ({ token: { ...(answer as { readonly token: Fields }).token, catalog: "none" } })],
  ["without a token", () => ({ token: null })],
])("with a token %s nothing is known of the pods, and none is gone", async (_what, body) => {
  const pod = await create();
  cloud.faults.alter = { method: "POST", path: /auth\/tokens/, body };
  cloud.keystone.tokens.clear();
  const error = await failureOf(statusOf(pod));
  expect([isUnavailable(error), gone()]).toEqual([true, []]);
  delete cloud.faults.alter;

  expect((await statusOf(pod)).phase).toBe("Running");
});

test("a capsule that one answer shows without containers is not taken for one that was never finished", async () => {
  const pod = await create({ containers: [running, { ...running, name: "side" }] });
  damage(pod, { status: "Creating", containers: [] }, "list");
  await using fresh = await openProvider(cloud.config);
  await fresh.provider.createPod(pod, resolverOf(pod), signal);

  expect([...cloud.zun.capsules.values()].map(({ status, isGone }) => [status, isGone])).toEqual([["Running", false]]);
  expect(cloud.seen.filter(({ method }) => method === "DELETE")).toEqual([]);
});

/** Somebody makes another container with the labels of the first. @returns the uuids of both */
async function copyOfFirst(): Promise<readonly [original: string, copy: string]> {
  const [original] = cloud.zun.containers.values();
  assert.ok(original);
  await cloud.zun.answer({ method: "POST", path: "/containers/", query: { run: "true" }, body: { ...original.body, name: "copy" } });
  const copy = [...cloud.zun.containers.values()].at(-1);
  assert.ok(copy && copy !== original);
  return [original.uuid, copy.uuid];
}

test("a copy of a pod's container, of whatever age, takes nothing of the pod, and is not deleted", async () => {
  const pod = await create();
  const [original] = await copyOfFirst();
  cloud.faults.alter = {
    method: "GET",
    path: /limit=500/,
    body: (answer) => {
      const page = answer as { readonly containers?: readonly Fields[] };
      return {
        ...page,
        containers: page.containers?.map((each) => (each["name"] === "copy" ? { ...each, created_at: "1999-01-01 00:00:00" } : each)),
      };
    },
  };
  await moreLists(4);

  expect(containers()).toHaveLength(2);
  expect((await statusOf(pod)).containerStatuses?.[0]?.containerID).toBe(`zun://${original}`);
  expect(opened.skipped).toEqual([expect.stringMatching(/its tags are those of pod .*it is a copy/)]);
});

test("a pod that cannot be read when the program begins is not taken for the duplicate of its copy later", async () => {
  const pod = await create();
  const [original, copy] = await copyOfFirst();
  const body = (answer: unknown): Fields => {
    const page = answer as { readonly containers?: readonly Fields[] };
    return { ...page, containers: page.containers?.map((each) => (each["uuid"] === original ? { ...each, status: "Migrating" } : each)) };
  };
  cloud.faults.alter = { method: "GET", path: /limit=500/, body };
  await using fresh = await openProvider({ ...cloud.config, pollInterval: "200ms" }, pods);
  fresh.provider.notifyPods?.((update) => void fresh.updates.push(update));
  await moreLists(4);
  delete cloud.faults.alter;
  await moreLists(4);

  expect(containers()).toEqual([original, copy]);
  expect((await fresh.provider.getPodStatus(podRef(pod), signal)).containerStatuses?.[0]?.containerID).toBe(`zun://${original}`);
});

test.each<[string, (pod: Pod, original: string) => Promise<unknown>]>([
  ["was deleted in Kubernetes", (pod) => opened.provider.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal)],
  ["is lost in Zun", async (_pod, uuid) => cloud.zun.containers.get(uuid)?.lose()],
])("the copy of a pod that %s is no pod of the node, and stays", async (_what, end) => {
  const pod = await create();
  const [original, copy] = await copyOfFirst();
  await moreLists(2);
  await end(pod, original);
  await eventually(() => expect(gone()).toEqual([{ ref: podRef(pod), gone: true }]), soon);
  await moreLists(4);

  expect(await opened.provider.getPods(signal)).toEqual({ pods: [], complete: true });
  expect([containers(), opened.updates.at(-1)]).toEqual([[copy], { ref: podRef(pod), gone: true }]);
});

test("a Neutron that knows no filters loses nobody's ports or floating IPs", async () => {
  const { tables } = cloud.neutron;
  tables["ports"]?.push({ id: "1", name: "database", description: "" }, { id: "2", name: null, description: null });
  tables["floatingips"]?.push({ id: "3", description: "somebody's", floating_ip_address: "203.0.113.9" });
  cloud.faults.alter = {
    method: "GET",
    path: /\/v2\.0\/(ports|floatingips)\?/,
    body: (answer) => Object.fromEntries(Object.keys(answer as Fields).map((key) => [key, tables[key]])),
  };
  const pod = await create(
    { containers: [running] },
    { "zun.virtual-kubelet.io/subnets": "private-subnet", "zun.virtual-kubelet.io/floating-ip": "true" },
  );
  await opened.provider.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal);
  await eventually(() => expect(gone()).toHaveLength(1), soon);

  await eventually(() => expect(tables["ports"]?.map(({ id }) => id)).toEqual(["1", "2"]), soon);
  expect(tables["floatingips"]?.map(({ id }) => id)).toEqual(["3"]);
});

test.each<[string, Fields]>([
  ["is empty and goes on", { containers: [], next: "http://zun/v1/containers?limit=500" }],
  ["goes on in a number", { containers: [], next: 5 }],
])("a list whose page %s is not whole", async (_what, body) => {
  await create();
  cloud.faults.answerWith = { method: "GET", path: /\/containers\/\?limit=500/, body };

  expect(isUnavailable(await failureOf(opened.provider.getPods(signal)))).toBe(true);
  expect(gone()).toEqual([]);
});

test("a Zun that is another release at once is asked for its versions again", async () => {
  const pod = await create();
  cloud.faults.answerWith = { method: "GET", path: /\/containers\//, status: 406, body: undefined };
  expect(await failureOf(statusOf(pod))).toBeDefined();
  delete cloud.faults.answerWith;
  cloud.maxVersion = "1.39";
  await statusOf(pod);

  expect(cloud.seen.at(-1)?.version).toBe("container 1.39");
});

test.each<[string, string, unknown, (pod: Pod) => Promise<unknown> | undefined]>([
  [
    "logs in an object",
    "GET /logs",
    {},
    (pod) => opened.provider.getContainerLogs?.(podRef(pod), "main", { follow: false, previous: false, timestamps: false }, signal),
  ],
  [
    "no figures",
    "GET /stats",
    [],
    async () => {
      const { pods: measured } = (await opened.provider.getStatsSummary?.(signal)) ?? { pods: [] };
      if (measured.length === 0) throw Object.assign(new Error("no figures"), { code: "VK_UNAVAILABLE" });
    },
  ],
  [
    "streams elsewhere",
    "POST /execute",
    { exec_id: "ab", proxy_url: "file:///etc/passwd" },
    (pod) =>
      opened.provider.runInContainer?.(
        podRef(pod),
        "main",
        ["true"],
        { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() },
        signal,
      ),
  ],
])("%s are an error of that call alone", async (_what, request, body, call) => {
  const pod = await create();
  const [method = "", path = ""] = request.split(" ");
  cloud.faults.answerWith = { method, path: new RegExp(path), body };

  expect(isUnavailable(await failureOf(call(pod)))).toBe(true);
  expect((await statusOf(pod)).phase).toBe("Running");
});
