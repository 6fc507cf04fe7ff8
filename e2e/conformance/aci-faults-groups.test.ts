import { podRef, type Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { groupBody, groupsPath } from "../aci/arm-calls.ts";
import { usualTimings } from "../aci/fake/fake-container-group.ts";
import { faultAnswers, throttled } from "../aci/fake/fault-rules.ts";
import { openAci, type OpenedAci } from "../aci/support/open-aci.ts";
import { podOf, resolverOf } from "../zun/support.ts";

// What happens to container groups without the node's doing, on virtual time.

const { signal } = new AbortController();
const now = { gracePeriodSeconds: 0 };
const creates = { method: "PUT", path: /\/containerGroups\/[^/?]+\?/i };
const deletes = { method: "DELETE", path: /\/containerGroups\/[^/?]+\?/i };

const webPod = (more: object = {}): Pod => podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }], ...more });

const count = ({ azure }: OpenedAci, method: string): number => azure.calls.filter((call) => call.method === method).length;
const calledPaths = ({ azure }: OpenedAci): string => azure.calls.map(({ method, path }) => `${method} ${path}`).join("\n");

/** Creates a running pod. */
async function running(aci: OpenedAci, pod: Pod = webPod()): Promise<Pod> {
  expect(await aci.create(pod)).toBeUndefined();
  await aci.untilPhase(pod, "Running");
  return pod;
}

/** Creates a container group of somebody else. */
async function foreign({ azure, settle }: OpenedAci, name: string, tags: Readonly<Record<string, string>>): Promise<void> {
  const headers = { authorization: `Bearer ${azure.tokens.issue()}` };
  const query = new URLSearchParams({ "api-version": "2025-09-01" });
  const answer = azure.handle({ method: "PUT", path: `${groupsPath}/${name}`, query, headers, body: groupBody({}, tags) });
  expect(await settle(answer)).toMatchObject({ value: { status: 201 } });
}

test("an address that comes 30 s after the containers have started is reported soon", async () => {
  await using aci = await openAci();
  const pod = webPod({ containers: [{ name: "web", image: "nginx", ports: [{ containerPort: 80 }] }] });
  let isThere = false;
  aci.azure.faults.add({
    method: "GET",
    path: /\/containerGroups\/[^/?]+\?/i,
    answer: (real) => {
      const { properties, ...body } = real.body as { readonly properties: object };
      return isThere ? real : { ...real, body: { ...body, properties: { ...properties, ipAddress: { type: "Public", ports: [] } } } };
    },
  });
  await running(aci, pod);
  await aci.clock.advance(30_000);
  const addresses = (): unknown[] => aci.updates.flatMap((update) => ("status" in update ? [update.status.podIP] : []));
  expect(addresses().filter(Boolean)).toEqual([]);
  isThere = true;
  await aci.clock.advance(10_000);
  expect(addresses().at(-1)).toBe(aci.groups()[0]?.address);
  expect(aci.phaseOf(pod)).toBe("Running");
});

test("three restarts between two looks are all counted, with the last end", async () => {
  await using aci = await openAci({
    script: ({ attempt }) => (attempt < 3 ? { exit: { afterMs: attempt === 0 ? 60_000 : 200, exitCode: 5 + attempt } } : {}),
    azure: { timings: { ...usualTimings, restartMs: () => 100 } },
  });
  const pod = await running(aci, webPod({ restartPolicy: "Always" }));
  await aci.clock.advance(600_000);
  const told = aci.updates.flatMap((update) => ("status" in update ? (update.status.containerStatuses ?? []) : []));
  expect([...new Set(told.map(({ restartCount }) => restartCount))]).toEqual([0, 3]);
  expect(told.at(-1)).toMatchObject({ state: { running: {} }, lastState: { terminated: { exitCode: 7 } } });
  expect([aci.phaseOf(pod), aci.groups().length, count(aci, "PUT")]).toEqual(["Running", 1, 1]);
});

test.for([
  ["loses all its tags", () => ({})],
  ["gets the UID of another pod", (tags: object) => ({ ...tags, "vk.uid": "00000000-0000-4000-8000-000000000001" })],
  ["gets the name of another node", (tags: object) => ({ ...tags, "vk.node": "other" })],
  ["gets another version", (tags: object) => ({ ...tags, "vk.version": "9" })],
] as const)("a running pod whose container group %s stays, and is deleted when Kubernetes says so", async ([, retag]) => {
  await using aci = await openAci();
  const pod = await running(aci);
  const [group] = aci.groups();
  group!.tags = retag(group!.tags);
  await aci.clock.advance(900_000);
  expect([aci.phaseOf(pod), count(aci, "PUT"), count(aci, "DELETE")]).toEqual(["Running", 1, 0]);
  await aci.settle(aci.provider.deletePod(podRef(pod), now, signal));
  await aci.untilPhase(pod, "gone");
  expect(aci.groups()).toEqual([]);
});

test.for([
  ["keeps", false],
  ["refuses", true],
] as const)(
  "after a restart, a container group without tags is not made twice, where Azure %s a second create",
  async ([, refusesExisting]) => {
    await using aci = await openAci();
    aci.azure.instances.behavior.refusesExisting = refusesExisting;
    const pod = await running(aci);
    const [group] = aci.groups();
    group!.tags = {};
    const again = await aci.reopen();
    expect(await aci.settle(again.getPods(signal))).toMatchObject({ value: { pods: [], complete: true } });
    const result = await aci.settle(again.createPod(pod, resolverOf(pod), signal));
    if (refusesExisting)
      expect(String((result as PromiseRejectedResult).reason)).toMatch(/has an object vk-.* that does not belong to the pod/);
    else expect((await aci.settle(again.getPodStatus(podRef(pod), signal))).status).toBe("fulfilled");
    expect([aci.groups().length, group!.containers[0]!.runs.length]).toEqual([1, 1]);
  },
);

test("names of tags in another case, as Azure may return them, are recognized after a restart", async () => {
  await using aci = await openAci();
  const pod = await running(aci);
  const [group] = aci.groups();
  group!.tags = Object.fromEntries(Object.entries(group!.tags).map(([key, value]) => [key.toUpperCase(), value]));
  const again = await aci.reopen();
  expect(await aci.settle(again.getPods(signal))).toMatchObject({ value: { pods: [{ ref: podRef(pod) }], complete: true } });
});

test("a copy of a pod's container group, made by hand with its tags, is left alone, and is not the pod", async () => {
  await using aci = await openAci();
  const pod = await running(aci);
  await foreign(aci, "copy", aci.groups()[0]!.tags);
  await aci.clock.advance(900_000);
  expect([aci.phaseOf(pod), aci.groups().length]).toEqual(["Running", 2]);
  await aci.settle(aci.provider.deletePod(podRef(pod), now, signal));
  await aci.untilPhase(pod, "gone");
  await aci.clock.advance(900_000);
  expect(aci.groups().map(({ name }) => name)).toEqual(["copy"]);
});

test("container groups of others, of the original provider and of other nodes are never touched", async () => {
  await using aci = await openAci();
  const pod = await running(aci);
  const own = aci.groups()[0]!;
  const original = {
    PodName: "web",
    NodeName: "aci-e2e",
    Namespace: "default",
    UID: "u",
    CreationTimestamp: "2026-01-01 00:00:00 +0000 UTC",
  };
  const others: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "default-web": original,
    "no-tags": {},
    "of-a-team": { team: "shop" },
    "of-another-node": { ...own.tags, "vk.node": "aci-2" },
    "of-another-cluster": { ...own.tags, "vk.cluster": "other" },
    "of-another-program": { ...own.tags, "vk.managed-by": "somebody" },
  };
  for (const [name, tags] of Object.entries(others)) await foreign(aci, name, tags);
  const before = aci.azure.calls.length;
  await aci.clock.advance(1_800_000);
  const again = await aci.reopen();
  expect(await aci.settle(again.getPods(signal))).toMatchObject({ value: { pods: [{ ref: podRef(pod) }], complete: true } });
  again.notifyPods?.(() => {});
  await aci.clock.advance(1_800_000);

  const names = Object.keys(others).join("|");
  expect(
    calledPaths(aci)
      .split("\n")
      .slice(before)
      .filter((call) => new RegExp(`/(${names})(/|$)`).test(call)),
  ).toEqual([]);
  expect(aci.groups().map(({ name }) => name)).toEqual([own.name, ...Object.keys(others)]);
  expect(new Set(aci.updates.map(({ ref }) => ref.uid))).toEqual(new Set([podRef(pod).uid]));
});

test.for([
  ["a 500", faultAnswers.serverError],
  ["a 429", throttled(2)],
  ["half of a page", faultAnswers.garbage],
  ["a broken connection", "drop"],
  ["no answer", "never"],
] as const)("a list whose second page is %s loses no pod, and deletes none", async ([, answer]) => {
  await using aci = await openAci({ azure: { pageSize: 2 } });
  const pods: Pod[] = [];
  for (let at = 0; at < 5; at++) pods.push(await running(aci));
  aci.azure.faults.add({ method: "GET", path: /skiptoken=2/, answer });
  await aci.clock.advance(900_000);
  const listed = await aci.settle(aci.provider.getPods(signal));
  expect(listed).toMatchObject({ value: { complete: false } });
  expect(listed.status === "fulfilled" && listed.value.pods).toHaveLength(5);
  const again = await aci.reopen();
  expect(await aci.settle(again.getPods(signal))).toMatchObject({ value: { complete: false } });
  again.notifyPods?.((update) => void aci.updates.push(update));
  await aci.clock.advance(900_000);
  expect(pods.map((pod) => aci.phaseOf(pod))).toEqual(pods.map(() => "Running"));
  expect([aci.groups().length, count(aci, "DELETE")]).toEqual([5, 0]);
});

test("a pod that is deleted while its create is under way leaves nothing behind", async () => {
  await using aci = await openAci();
  const pod = webPod();
  aci.azure.faults.add({ ...creates, times: 1, delayMs: 20_000, answer: (real) => real });
  const created = aci.provider.createPod(pod, resolverOf(pod), signal);
  await aci.clock.advance(1000);
  expect(aci.groups()).toHaveLength(1);
  const deleted = aci.provider.deletePod(podRef(pod), now, signal);
  expect((await aci.settle(Promise.allSettled([created, deleted]))).status).toBe("fulfilled");
  await aci.clock.runUntil(() => aci.groups().length === 0);
  await aci.clock.advance(300_000);
  expect([aci.groups().length, aci.phaseOf(pod), count(aci, "PUT")]).toEqual([0, "gone", 1]);
});

test("a pod that is deleted while nothing is known of its create leaves nothing behind", async () => {
  await using aci = await openAci();
  const pod = webPod();
  aci.azure.faults.add({ ...creates, times: 1, when: "after", answer: "never" });
  using _away = aci.azure.faults.add({ method: "GET", times: 4, answer: faultAnswers.serverError });
  void aci.provider.createPod(pod, resolverOf(pod), signal).catch(() => {});
  await aci.clock.advance(1000);
  const deleted = await aci.settle(aci.provider.deletePod(podRef(pod), now, signal));
  if (deleted.status === "rejected") await aci.settle(aci.provider.deletePod(podRef(pod), now, signal));
  await aci.clock.advance(300_000);
  expect(aci.groups()).toEqual([]);
});

test("a program that is killed between a create and its answer finds the container group when it starts again", async () => {
  const pod = webPod();
  await using aci = await openAci({ pods: [pod] });
  aci.azure.faults.add({ ...creates, times: 1, when: "after", answer: "never" });
  void aci.provider.createPod(pod, resolverOf(pod), signal).catch(() => {});
  await aci.clock.advance(1000);
  await aci.provider[Symbol.asyncDispose]?.();
  const again = await aci.reopen();
  expect((await aci.settle(again.createPod(pod, resolverOf(pod), signal))).status).toBe("fulfilled");
  again.notifyPods?.((update) => void aci.updates.push(update));
  await aci.untilPhase(pod, "Running");
  expect([aci.groups().length, count(aci, "PUT")]).toEqual([1, 1]);
});

test.for([
  ["accepts and does not carry out", { status: 202 }],
  ["answers with a 500", faultAnswers.serverError],
  ["does not answer", "never"],
  ["refuses, because the group is changing", { status: 409, body: { error: { code: "ContainerGroupTransitioning", message: "Retry." } } }],
] as const)("a deletion that Azure %s is asked for again", async ([, answer]) => {
  await using aci = await openAci();
  const pod = await running(aci);
  aci.azure.faults.add({ ...deletes, times: 1, answer });
  await aci.settle(aci.provider.deletePod(podRef(pod), now, signal));
  await aci.clock.runUntil(() => aci.phaseOf(pod) === "gone", { withinMs: 600_000 });
  expect([aci.groups().length, count(aci, "DELETE")]).toEqual([0, 2]);
});

test("a container group that somebody deletes makes its pod gone, and a missing resource group does not", async () => {
  await using aci = await openAci();
  const [lost, other] = [await running(aci), await running(aci)];
  using fault = aci.azure.faults.add({
    answer: { status: 404, body: { error: { code: "ResourceGroupNotFound", message: "Resource group 'pods' could not be found." } } },
  });
  await aci.clock.advance(900_000);
  expect([aci.phaseOf(lost), aci.phaseOf(other)]).toEqual(["Running", "Running"]);
  fault[Symbol.dispose]();
  await aci.azure.instances.lose(aci.groups()[0]!.name);
  await aci.untilPhase(lost, "gone");
  expect(aci.phaseOf(other)).toBe("Running");
});
