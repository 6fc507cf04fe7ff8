import assert from "node:assert/strict";
import { podRef, type Pod, type PodUpdate } from "@virtual-kubelet/core";
import { isNotFound, isQuotaExceeded, isUnavailable } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeCloud } from "../zun/fake/fake-cloud.ts";
import { openProvider, podOf, resolverOf, type OpenedProvider } from "../zun/support.ts";

// What goes wrong between a node and a cloud: nothing is lost, and nothing runs twice.

const { signal } = new AbortController();
let cloud: FakeCloud;
let opened: OpenedProvider;
let updates: PodUpdate[];

beforeEach(async () => {
  cloud = await FakeCloud.start();
  opened = await openProvider(cloud.config);
  updates = [];
});
afterEach(async () => {
  await opened[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

const sleeping = { name: "main", image: "busybox", command: ["sleep", "600"] };

const create = (pod: Pod): Promise<void> => opened.provider.createPod(pod, resolverOf(pod), signal);
const list = "GET /container/v1/containers/?limit=500";
const requests = (): string[] => cloud.seen.map(({ method, path }) => `${method} ${path}`);

/** Waits until so many more lists have begun. */
async function moreLists(count: number): Promise<void> {
  const listed = (): number => requests().filter((request) => request === list).length;
  const wanted = listed() + count;
  await eventually(() => expect(listed()).toBeGreaterThanOrEqual(wanted), { timeoutMs: 60_000 });
}

const watch = (): void => opened.provider.notifyPods?.((update) => void updates.push(update));

test("a cloud that is away at the start makes the ping fail with where it was looked for, and is found when it is back", async () => {
  cloud.faults.away = true;
  const error: unknown = await Promise.resolve(opened.provider.ping?.(signal)).catch((caught: unknown) => caught);
  expect([isUnavailable(error), String(error)]).toEqual([
    true,
    expect.stringMatching(/POST http:\/\/127\.0\.0\.1:\d+\/identity\/v3\/auth\/tokens/),
  ]);

  delete cloud.faults.away;
  await opened.provider.ping?.(signal);
});

test("a wrong password is said to be refused, and is not shown", async () => {
  await using wrong = await openProvider({ ...cloud.config, password: "not-the-password" });
  const error: unknown = await Promise.resolve(wrong.provider.ping?.(signal)).catch((caught: unknown) => caught);
  expect(String(error)).toMatch(/sign in at .* by password: The request you have made requires authentication/);
  expect(JSON.stringify(error) + String(error)).not.toContain("not-the-password");
});

test("a token that ends is asked for anew, in the midst of everything", async () => {
  const pod = podOf({ containers: [sleeping] });
  await create(pod);
  cloud.keystone.tokens.clear();
  expect((await opened.provider.getPodStatus(podRef(pod), signal)).containerStatuses).toHaveLength(1);
});

test("a create whose answer was lost is found at once, and is not made twice", async () => {
  const pod = podOf({ containers: [sleeping] });
  cloud.faults.loseAnswer = { method: "POST", path: /containers\/$/ };
  await create(pod);
  await create(pod);
  expect(cloud.faults.loseAnswer).toBeUndefined();
  expect(cloud.zun.containers.size).toBe(1);
  await eventually(async () => expect((await opened.provider.getPodStatus(podRef(pod), signal)).phase).toBe("Running"));
});

test("a second container of one pod, which came through late, is deleted, and the first runs on", async () => {
  const pod = podOf({ containers: [sleeping] });
  await create(pod);
  const [first] = cloud.zun.containers.values();
  assert.ok(first);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await cloud.zun.answer({ method: "POST", path: "/containers/", query: { run: "true" }, body: first.body });
  expect(cloud.zun.containers.size).toBe(2);
  watch();

  await eventually(() => expect([...cloud.zun.containers.keys()]).toEqual([first.uuid]));
  expect((await opened.provider.getPodStatus(podRef(pod), signal)).containerStatuses?.[0]?.containerID).toBe(`zun://${first.uuid}`);
});

test("a half-made capsule, which Zun never finishes, is deleted, and one is made in its place", async () => {
  const pod = podOf({ containers: [sleeping, { ...sleeping, name: "side" }] });
  await create(pod);
  const [whole] = cloud.zun.capsules.values();
  assert.ok(whole);
  cloud.zun.capsules.set(whole.uuid, { ...whole, status: "Creating", members: [] });
  await using fresh = await openProvider(cloud.config);
  await fresh.provider.createPod(pod, resolverOf(pod), signal);

  expect([...cloud.zun.capsules.values()].filter(({ isGone }) => !isGone).map(({ members }) => members.length)).toEqual([2]);
  await Promise.all(whole.members.map((member) => member.lose()));
});

test("a container that somebody else deleted is gone, and that is told", async () => {
  const pod = podOf({ containers: [sleeping] });
  watch();
  await create(pod);
  const [container] = cloud.zun.containers.values();
  await container?.lose();

  await eventually(() => assert.deepEqual(updates.at(-1), { ref: podRef(pod), gone: true }));
  await assert.rejects(opened.provider.getPod(podRef(pod), signal), (error) => isNotFound(error));
});

test("while lists fail nothing is called gone, and a change is told when they are back", async () => {
  const pod = podOf({ restartPolicy: "Never", containers: [{ ...sleeping, command: ["sh", "-c", "sleep 1; exit 4"] }] });
  watch();
  await create(pod);
  cloud.faults.listsFail = true;
  await moreLists(2);
  assert.ok(!updates.some((update) => "gone" in update));
  delete cloud.faults.listsFail;

  await eventually(() => {
    const last = updates.at(-1);
    assert.ok(last && "status" in last);
    assert.equal(last.status.containerStatuses?.[0]?.state?.terminated?.exitCode, 4);
  });
});

const circle = { containers: [{ uuid: "1", status: "Running" }], next: "http://zun/v1/containers?marker=1" };

test.each<[string, unknown, number?]>([
  ["of a proxy, in HTML", "<html>Welcome</html>"],
  ["without a list", {}],
  ["whose list is none", { containers: null }],
  ["whose list is an object", { containers: {} }],
  ["that goes in a circle", circle],
  ["that leads elsewhere", "<html>Sign in</html>", 302],
])("a list %s is not taken for one without the pods", async (_answer, body, status = 200) => {
  const pod = podOf({ containers: [sleeping] });
  watch();
  await create(pod);
  await eventually(async () => expect((await opened.provider.getPodStatus(podRef(pod), signal)).phase).toBe("Running"));
  cloud.faults.answerWith = { method: "GET", path: /\/containers\/\?limit=500/, status, body };
  const error: unknown = await opened.provider.getPods(signal).catch((caught: unknown) => caught);
  await using fresh = await openProvider(cloud.config);
  const first: unknown = await fresh.provider.getPods(signal).catch((caught: unknown) => caught);

  expect([isUnavailable(error), isUnavailable(first)]).toEqual([true, true]);
  expect(String(error)).toMatch(/list the containers/);
  expect(updates.filter((update) => "gone" in update)).toEqual([]);
});

test.each<[string, unknown]>([
  ["of a proxy, in HTML", "<html>Welcome</html>"],
  ["without a body", undefined],
  ["without a container", {}],
  ["about another container", { uuid: "00000000-0000-4000-8000-000000000001", status: "Stopped", status_detail: "Exited(0) 1 min ago" }],
])("a look at a container that is answered %s tells nothing of the pod", async (_answer, body) => {
  const pod = podOf({ containers: [sleeping] });
  await create(pod);
  await eventually(async () => expect((await opened.provider.getPodStatus(podRef(pod), signal)).phase).toBe("Running"));
  const before = await opened.provider.getPodStatus(podRef(pod), signal);
  cloud.faults.answerWith = { method: "GET", path: /\/containers\/[^/?]+$/, body };
  const error: unknown = await opened.provider.getPodStatus(podRef(pod), signal).catch((caught: unknown) => caught);
  delete cloud.faults.answerWith;

  expect(isUnavailable(error)).toBe(true);
  expect(await opened.provider.getPodStatus(podRef(pod), signal)).toEqual(before);
});

test("a create that is answered with something else is not taken for one that came through", async () => {
  const pod = podOf({ containers: [sleeping] });
  cloud.faults.answerWith = { method: "POST", path: /\/containers\//, status: 202, body: {} };
  const error: unknown = await create(pod).catch((caught: unknown) => caught);
  expect(isUnavailable(error)).toBe(true);
  delete cloud.faults.answerWith;

  await create(pod);
  expect(cloud.zun.containers.size).toBe(1);
});

test("many pods cost one list a round, and no look at any that stays as it was", async () => {
  watch();
  const pods = Array.from({ length: 5 }, () => podOf({ containers: [sleeping] }));
  await Promise.all(pods.map(create));
  await eventually(() =>
    assert.equal(
      new Set(updates.flatMap((update) => ("status" in update && update.status.phase === "Running" ? [update.ref.uid] : []))).size,
      5,
    ),
  );
  // What is looked at more closely after its creation is, by the end of the list after the next, before the one that follows.
  await moreLists(3);
  const before = cloud.seen.length;
  await moreLists(2);
  expect(new Set(requests().slice(before))).toEqual(new Set([list]));
});

test("a quota that is used up is said so, and nothing stays of the pod's ports", async () => {
  cloud.zun.quota = 0;
  const pod = podOf({ containers: [sleeping] }, { "zun.virtual-kubelet.io/subnets": "private-subnet" });
  await assert.rejects(create(pod), (error) => isQuotaExceeded(error));
  expect(cloud.neutron.tables["ports"]).toEqual([]);
});

test("ports and floating IPs that a crash left behind are deleted, and others' are not", async () => {
  const { tables } = cloud.neutron;
  const description = "virtual-kubelet cluster=cluster-e2e node=zun-e2e";
  tables["ports"]?.push(
    { id: "1", name: "vk-gone", description },
    { id: "2", name: "vk-other", description: "virtual-kubelet cluster=x node=zun-e2e" },
  );
  tables["floatingips"]?.push({ id: "3", description: `${description} pod=gone` }, { id: "4", description: "somebody's" });
  watch();

  await eventually(() => {
    assert.deepEqual(
      tables["ports"]?.map(({ id }) => id),
      ["2"],
    );
    assert.deepEqual(
      tables["floatingips"]?.map(({ id }) => id),
      ["4"],
    );
  });
});

test("a floating IP whose answer is lost is given once, and told once it is found", async () => {
  cloud.faults.loseAnswer = { method: "POST", path: /\/floatingips$/ };
  watch();
  const pod = podOf({ containers: [sleeping] }, { "zun.virtual-kubelet.io/floating-ip": "true" });
  // The fake makes no port with a container.
  cloud.neutron.tables["ports"]?.push({ id: "placeholder" });
  await create(pod);

  await eventually(() => expect(opened.events).toEqual(["NetworkNotReady", "FloatingIP"]));
  expect(cloud.neutron.tables["floatingips"]).toHaveLength(1);
  await opened.provider.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal);
  await eventually(() => expect(cloud.neutron.tables["floatingips"]).toEqual([]));
});

test("a capsule is put into its security groups once Zun has made its port", async () => {
  await using grouped = await openProvider({ ...cloud.config, securityGroups: ["web"] });
  grouped.provider.notifyPods?.(() => {});
  const pod = podOf({ containers: [sleeping, { ...sleeping, name: "side" }] });
  cloud.neutron.tables["ports"]?.push({ id: "placeholder" });
  await grouped.provider.createPod(pod, resolverOf(pod), signal);

  await eventually(() => {
    const put = cloud.seen.find(({ method, path }) => method === "PUT" && path.startsWith("/network/v2.0/ports/"));
    assert.deepEqual(put?.body, { port: { security_groups: ["7f1a9a0e-97ac-4e53-9c6b-1d2e4b5c6d7e"] } });
  });
  await grouped.provider.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal);
  await eventually(() => assert.equal(cloud.zun.capsules.size, 0));
});

test("a Zun that is too old is named with its version", async () => {
  cloud.maxVersion = "1.20";
  await assert.rejects(Promise.resolve(opened.provider.ping?.(signal)), /Zun's newest API version is 1\.20; 1\.32 or newer is needed/);
});

test("a Zun without entry points runs pods that need none, and refuses the others by their field", async () => {
  cloud.maxVersion = "1.38";
  await assert.rejects(create(podOf({ containers: [sleeping] })), { fieldPath: "spec.containers[0].command" });
  await create(podOf({ containers: [{ name: "main", image: "busybox", args: ["sleep", "600"] }] }));
  expect(cloud.seen.at(-1)?.version).toBe("container 1.38");
});
