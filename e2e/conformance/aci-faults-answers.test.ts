import { podRef, type AttachIO, type ContainerLogs, type Pod } from "@virtual-kubelet/core";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { openAci, type OpenedAci } from "../aci/support/open-aci.ts";
import { podOf } from "../zun/support.ts";

// Answers with a status of success that are not what was asked for, on virtual time.

const { signal } = new AbortController();
const lists = { method: "GET", path: /\/containerGroups\?/i };
const looks = { method: "GET", path: /\/containerGroups\/[^/?]+\?/i };
const creates = { method: "PUT", path: /\/containerGroups\/[^/?]+\?/i };

/** A running pod that ends with exit code 4 after two hours. */
async function running(aci: OpenedAci): Promise<Pod> {
  const pod = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
  expect(await aci.create(pod)).toBeUndefined();
  await aci.untilPhase(pod, "Running");
  return pod;
}

const script = (): object => ({ exit: { afterMs: 7_200_000, exitCode: 4 } });

const calls = ({ azure }: OpenedAci): string[] =>
  azure.calls.map(({ method }) => method).filter((method) => method !== "GET" && method !== "POST");

interface Group {
  readonly properties: {
    readonly containers: readonly { readonly name: string; readonly properties: { readonly instanceView: object } }[];
  };
}

/** Changes the answer's group. */
const changed = (change: (group: Group) => unknown) => (real: { readonly status: number; readonly body?: unknown }) => ({
  ...real,
  body: change(real.body as Group),
});
const withProperties = (properties: object): ReturnType<typeof changed> =>
  changed((group) => ({ ...group, properties: { ...group.properties, ...properties } }));
const withViews = (view: object | null): ReturnType<typeof changed> =>
  changed((group) => ({
    ...group,
    properties: {
      ...group.properties,
      containers: group.properties.containers.map((each) => ({ ...each, properties: { ...each.properties, instanceView: view } })),
    },
  }));

test.for([
  ["nothing", changed(() => ({}))],
  ["null", changed(() => null)],
  ["a list", changed((group) => [group])],
  ["a page of a proxy", changed(() => "<html>Sign in</html>")],
  ["a group without properties", changed(({ properties: _, ...group }) => group)],
  ["a group with empty properties", changed((group) => ({ ...group, properties: {} }))],
  ["a group whose containers are null", withProperties({ containers: null })],
  ["a group without containers", withProperties({ containers: [] })],
  ["a group whose containers are an object", withProperties({ containers: {} })],
  ["a group whose containers have no view", withViews(null)],
  ["a group whose containers have an empty view", withViews({})],
  ["a group with a restart count below 0", withViews({ restartCount: -1, currentState: { state: "Terminated", exitCode: 0 }, events: [] })],
  ["a group whose exit code is a text", withViews({ currentState: { state: "Terminated", exitCode: "0" }, events: [] })],
  ["another group", changed((group) => ({ ...group, name: "other" }))],
  ["an unknown provisioning state", withProperties({ provisioningState: "Hibernating" })],
  ["no provisioning state", withProperties({ provisioningState: null })],
] as const)("a look that is answered with %s tells nothing of the pod", async ([, answer]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  const fault = aci.azure.faults.add({ ...looks, answer });
  await aci.clock.advance(1_800_000);
  expect([aci.phaseOf(pod), calls(aci)]).toEqual(["Running", ["PUT"]]);
  fault[Symbol.dispose]();
  await aci.clock.runUntil(() => aci.phaseOf(pod) === "Failed", { withinMs: 7_200_000 });
  const last = aci.updates.at(-1);
  expect(last && "status" in last && last.status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
});

test("an unknown state of a container neither ends its pod nor deletes anything", async () => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  aci.azure.faults.add({ ...looks, answer: withViews({ restartCount: 0, currentState: { state: "Dreaming" }, events: [] }) });
  await aci.clock.advance(1_800_000);
  expect(["Pending", "Running"]).toContain(aci.phaseOf(pod));
  expect(calls(aci)).toEqual(["PUT"]);
});

test.for([
  ["nothing", {}],
  ["null", null],
  ["a list", []],
  ["a page of a proxy", "<html>Sign in</html>"],
  ["entries that are null", { value: null }],
  ["entries that are an object", { value: {} }],
  ["an entry that is null", { value: [null] }],
  ["an entry without fields", { value: [{}] }],
  ["an entry whose name is a number", { value: [{ id: "/x", name: 7 }] }],
] as const)("a list that is answered with %s is not taken for one without the pods", async ([, body]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  const fresh = await aci.reopen();
  aci.azure.faults.add({ ...lists, answer: { status: 200, body } });
  await aci.clock.advance(1_800_000);
  for (const provider of [aci.provider, fresh]) {
    const listed = await aci.settle(provider.getPods(signal));
    if (listed.status === "fulfilled") expect(listed.value.complete).toBe(false);
    else
      expect([isUnavailable(listed.reason), String(listed.reason)]).toEqual([
        true,
        expect.stringMatching(/list the container groups of pods/),
      ]);
  }
  expect([aci.phaseOf(pod), calls(aci)]).toEqual(["Running", ["PUT"]]);
});

test.for([
  ["go in a circle", (url: string) => url],
  ["lead to another host", () => "https://127.0.0.1:9/next"],
  ["lead to no address", () => "page two"],
] as const)("a list whose pages %s is incomplete, and no token leaves the endpoint", async ([, nextOf]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  const next = nextOf(`${aci.azure.url}/subscriptions/x/resourceGroups/y/providers/Microsoft.ContainerInstance/containerGroups?page=2`);
  aci.azure.faults.add({ ...lists, answer: { status: 200, body: { value: [], nextLink: next } } });
  const before = aci.azure.calls.length;
  expect(await aci.settle(aci.provider.getPods(signal))).toMatchObject({ value: { complete: false } });
  expect(aci.azure.calls.length - before).toBeLessThanOrEqual(2);
  await aci.clock.advance(900_000);
  expect([aci.phaseOf(pod), calls(aci)]).toEqual(["Running", ["PUT"]]);
});

test.for([
  ["nothing", {}],
  ["null", null],
  ["a page of a proxy", "<html>Sign in</html>"],
  ["another group", { id: "/subscriptions/s/x", name: "other", properties: { containers: [{ name: "web", properties: {} }] } }],
] as const)("a create that is answered with %s is looked at, and makes exactly one container group", async ([, body]) => {
  for (const when of ["before", "after"] as const) {
    await using aci = await openAci({ script });
    const pod = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
    aci.azure.faults.add({ ...creates, times: 1, when, answer: { status: 201, body } });
    const error = await aci.create(pod);
    if (error !== undefined) expect(await aci.create(pod)).toBeUndefined();
    await aci.untilPhase(pod, "Running");
    expect([aci.groups().length, calls(aci).length]).toEqual([1, when === "before" ? 2 : 1]);
  }
});

test.for([
  ["nothing", {}],
  ["a number", { content: 5 }],
  ["a page of a proxy", "<html>Sign in</html>"],
] as const)("a log that is answered with %s is no output", async ([, body]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  aci.azure.faults.add({ method: "GET", path: /\/logs\?/, answer: { status: 200, body } });
  const read = async (): Promise<string> => {
    const logs = (await aci.provider.getContainerLogs?.(
      podRef(pod),
      "web",
      { follow: false, previous: false, timestamps: false },
      signal,
    )) as ContainerLogs;
    let text = "";
    for await (const chunk of logs.data) text += String(chunk);
    return text;
  };
  expect(await aci.settle(read())).toMatchObject({ status: "rejected", reason: expect.objectContaining({ code: "VK_UNAVAILABLE" }) });
});

test.for([
  ["nothing", {}],
  ["an address that is no WebSocket", { webSocketUri: "http://127.0.0.1:1/", password: "p" }],
  ["no password", { webSocketUri: "ws://127.0.0.1:1/" }],
  ["a page of a proxy", "<html>Sign in</html>"],
] as const)("a command that is answered with %s is not said to have run", async ([, body]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  aci.azure.faults.add({ method: "POST", path: /\/exec\?/, answer: { status: 200, body } });
  const io: AttachIO = {
    stdin: undefined,
    stdout: undefined,
    stderr: undefined,
    tty: false,
    resizes: { async *[Symbol.asyncIterator]() {} },
  };
  const result = await aci.settle(Promise.resolve(aci.provider.runInContainer?.(podRef(pod), "web", ["true"], io, signal)));
  expect(result).toMatchObject({ status: "rejected", reason: expect.objectContaining({ code: "VK_UNAVAILABLE" }) });
});
