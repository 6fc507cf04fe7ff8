import { VirtualClock } from "@virtual-kubelet/clock";
import type { PodEvent, ProviderHost } from "@virtual-kubelet/core";
import { writeTags, type PodIdentity } from "@virtual-kubelet/remote-pods";
import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import { ArmClient } from "./azure/arm-client.ts";
import { ContainerGroups } from "./azure/container-groups.ts";
import type { TokenSource } from "./azure/credential.ts";
import { groupSchema } from "./azure/group-schema.ts";
import { AciBackend, limits, nameOf, tagLimits, type AciBackendOptions } from "./backend.ts";
import { startArmServer, type ArmServer, type SeenRequest, type ServerAnswer } from "./test-support/arm-server.ts";
import { podOf, resolverOf, settingsOf, subnetId, testUid } from "./test-support/pods.ts";

const live = new AbortController().signal;
const owner = { clusterId: "c-1", nodeName: "aci-1" };
const identity: PodIdentity = { ref: { namespace: "shop", name: "web", uid: testUid }, owner, attempt: 0 };
const name = nameOf(identity);

const groupPath = (resourceGroup = "pods"): string =>
  `/subscriptions/sub-1/resourceGroups/${resourceGroup}/providers/Microsoft.ContainerInstance/containerGroups`;

function groupAnswer(properties: object = {}, resourceGroup = "pods"): object {
  return {
    id: `${groupPath(resourceGroup)}/${name}`,
    name,
    tags: writeTags(identity, {}, tagLimits),
    laterField: { kept: true },
    properties: { provisioningState: "Pending", containers: [{ name: "main", properties: { image: "nginx" } }], ...properties },
  };
}

class Tokens implements TokenSource {
  readonly refusals: string[] = [];

  async token(): Promise<string> {
    return `token-${this.refusals.length}`;
  }

  refused(token: string): void {
    this.refusals.push(token);
  }
}

interface Fixture extends AsyncDisposable {
  readonly backend: AciBackend;
  readonly server: ArmServer;
  readonly tokens: Tokens;
  readonly events: (PodEvent & { readonly pod: string })[];
  readonly clock: VirtualClock;
}

/** A backend whose Azure answers as told. */
async function start(answer: (request: SeenRequest) => ServerAnswer | "never", config: object = {}): Promise<Fixture> {
  const server = await startArmServer(answer);
  const tokens = new Tokens();
  const events: Fixture["events"] = [];
  const logger: ProviderHost["logger"] = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => logger };
  const clock = new VirtualClock(Date.parse("2026-11-21T10:00:00Z"));
  const host = {
    ...owner,
    clusterDomain: "cluster.local",
    clock,
    logger,
    recordEvent: (ref: { name: string }, event: PodEvent) => events.push({ ...event, pod: ref.name }),
  } as unknown as ProviderHost;
  const settings = settingsOf({ endpoint: server.address, credential: "token", tokenFile: "/unused", ...config });
  const budget: ConstructorParameters<typeof ArmClient>[0]["budget"] = { run: (_call, signal, send) => send(signal) };
  const arm = new ArmClient({ endpoint: server.address, tokens, budget, clock });
  const groups = new ContainerGroups(arm, settings.subscriptionId);
  const unused = {} as AciBackendOptions["exec"];
  const openSocket: AciBackendOptions["openSocket"] = async () => Promise.reject(new Error("not used"));
  const backend = new AciBackend({ settings, host, arm, groups, exec: unused, openSocket, stats: undefined });
  return { backend, server, tokens, events, clock, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const notFound: ServerAnswer = { status: 404, body: { error: { code: "ResourceNotFound", message: "not found" } } };

test("a pod is created once, under a name of its UID, and fields that are not known are kept", async () => {
  await using azure = await start(() => ({ status: 201, body: groupAnswer() }));
  const pod = podOf({ hostname: "web-0" });
  const request = await azure.backend.translate(pod, resolverOf(pod), identity, live);
  const { id, remote } = await azure.backend.create(request, identity, live);

  expect(azure.server.seen).toEqual([
    {
      method: "PUT",
      path: `${groupPath()}/${name}?api-version=2025-09-01`,
      headers: expect.objectContaining({
        authorization: "Bearer token-0",
        "if-none-match": "*",
        "user-agent": expect.stringMatching(/^virtual-kubelet-aci/),
      }),
      body: request.body,
    },
  ]);
  expect(id).toBe(azure.backend.idOf(identity));
  expect(remote).toMatchObject({ laterField: { kept: true } });
  expect(azure.backend.identityOf(remote)).toEqual({ kind: "pod", identity });
  expect(azure.events).toEqual([expect.objectContaining({ pod: "web", reason: "HostnameIgnored" })]);
});

test("a refused create says why, without the pod's secrets", async () => {
  const message = "The environment variable value 'hunter22' is not valid.";
  await using azure = await start(() => ({ status: 400, body: { error: { code: "InvalidRequestContent", message } } }));
  const container = { name: "main", image: "nginx", env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] };
  const pod = podOf({ containers: [container] });
  const request = await azure.backend.translate(pod, resolverOf(pod, { values: { "s/k": "hunter22" } }), identity, live);

  await expect(azure.backend.create(request, identity, live)).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.not.stringContaining("hunter22"),
  });
});

test("a request without an answer ends after a minute on the injected clock, and its outcome is unknown", async () => {
  await using azure = await start(() => "never");
  const listed = azure.backend.list(live).catch((error: unknown) => error);
  await vi.waitFor(() => expect(azure.server.seen).toHaveLength(1));
  await azure.clock.advance(60_000);

  expect(await listed).toMatchObject({
    code: "VK_DEADLINE_EXCEEDED",
    message: "list the container groups of pods: Azure did not answer within 60 s",
  });
});

test("readiness is judged by Azure's clock, whatever the node's says", async () => {
  const failed = { name: "Unhealthy", message: "Readiness probe failed", type: "Warning", count: 1, lastTimestamp: "2026-11-21T10:09:58Z" };
  const instanceView = { currentState: { state: "Running", startTime: "2026-11-21T10:00:00Z" }, events: [failed] };
  const properties = { readinessProbe: { periodSeconds: 5 }, instanceView };
  const group = groupAnswer({ provisioningState: "Succeeded", containers: [{ name: "main", properties }] });
  await using azure = await start(() => ({ headers: { date: "Sat, 21 Nov 2026 10:10:00 GMT" }, body: group }));
  const [found] = (await azure.backend.describe([name], live)).found;
  const context = { identity, pod: undefined, memory: undefined, isEnding: false };
  const isReady = (nowMs: number): boolean | undefined =>
    found && azure.backend.observe(found.remote, { ...context, nowMs }).status.containerStatuses?.[0]?.ready;

  expect([isReady(azure.clock.now()), isReady(azure.clock.now() + 30_000)]).toEqual([false, true]);
});

test("an error of the connection holds neither the token nor the request", async () => {
  await using azure = await start(() => "never");
  await azure.server[Symbol.asyncDispose]();
  const error: unknown = await azure.backend.list(live).catch((caught: unknown) => caught);

  expect(error).toMatchObject({ code: "VK_UNAVAILABLE", cause: expect.objectContaining({ code: "ECONNREFUSED" }) });
  expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(/token-0|authorization/i);
});

test("a refused token is renewed once", async () => {
  await using azure = await start(({ headers }) =>
    headers.authorization === "Bearer token-1"
      ? { body: groupAnswer() }
      : { status: 401, body: { error: { code: "ExpiredAuthenticationToken" } } },
  );

  expect((await azure.backend.describe([name], live)).found).toHaveLength(1);
  expect(azure.tokens.refusals).toEqual(["token-0"]);
});

test("a list has all pages, and tells own groups from those of others", async () => {
  const foreign = { ...groupAnswer(), name: "theirs", tags: { NodeName: "virtual-kubelet", PodName: "old" } };
  await using azure = await start(({ path }) => {
    const origin = azure.server.address;
    return path.includes("page=2")
      ? { body: { value: [foreign] } }
      : { body: { value: [groupAnswer()], nextLink: `${origin}${groupPath()}?page=2` } };
  });

  expect(await azure.backend.list(live)).toEqual({
    objects: [
      { id: name, identity: { kind: "pod", identity }, version: "Pending" },
      { id: "theirs", identity: { kind: "foreign" }, version: "Pending" },
    ],
    problems: [],
  });
  expect(azure.server.seen).toHaveLength(2);
});

test("a list whose second page fails, or leads to another host, is incomplete", async () => {
  await using broken = await start(({ path }) =>
    path.includes("page=2") ? { status: 500 } : { body: { value: [groupAnswer()], nextLink: `${broken.server.address}/?page=2` } },
  );
  await using elsewhere = await start(() => ({ body: { value: [groupAnswer()], nextLink: "http://127.0.0.1:9/?page=2" } }));

  for (const azure of [broken, elsewhere]) {
    const { objects, problems } = await azure.backend.list(live);
    expect(objects).toHaveLength(1);
    expect(problems).toEqual([expect.stringContaining("page 2")]);
  }
  expect(elsewhere.server.seen).toHaveLength(1);
});

test("a list whose first page fails is unknown, not empty", async () => {
  await using azure = await start(() => ({ status: 503 }));

  await expect(azure.backend.list(live)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test.for([
  ["without entries", {}],
  ["whose entries are null", { value: null }],
  ["whose entries are an object", { value: {} }],
] as const)("a list %s is unknown, not empty", async ([, body]) => {
  await using azure = await start(() => ({ body }));

  await expect(azure.backend.list(live)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test("a list whose pages go in a circle is incomplete", async () => {
  await using azure = await start(() => ({ body: { value: [groupAnswer()], nextLink: `${azure.server.address}/?page=2` } }));
  const { problems } = await azure.backend.list(live);

  expect(problems).toEqual([expect.stringContaining("the pages of the list go in a circle")]);
  expect(azure.server.seen).toHaveLength(2);
});

test("an entry that cannot be read makes a list incomplete", async () => {
  await using azure = await start(() => ({ body: { value: [{ name: 7 }, groupAnswer()] } }));
  const { objects, problems } = await azure.backend.list(live);

  expect([objects.length, problems.length]).toEqual([1, 1]);
});

test("only Azure's own word makes a group missing", async () => {
  await using azure = await start(({ path }) =>
    path.includes("gone") ? notFound : path.includes("proxy") ? { status: 404, body: "<html>" } : { body: groupAnswer() },
  );

  expect(await azure.backend.describe([name, "gone", "proxy"], live)).toMatchObject({ found: [{ id: name }], missing: ["gone"] });
  await expect(azure.backend.describe(["proxy"], live)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test.for([
  ["another group", () => ({ ...groupAnswer(), name: "other" }), /about another container group, other/],
  ["a group without containers", () => groupAnswer({ containers: [] }), /not as expected: properties.containers/],
  ["a group whose containers are null", () => groupAnswer({ containers: null }), /not as expected: properties.containers/],
  ["nothing", () => ({}), /not as expected: id/],
] as const)("an answer about %s tells nothing of the pod", async ([, body, message]) => {
  await using azure = await start(() => ({ body: body() }));

  await expect(azure.backend.describe([name], live)).rejects.toThrow(message);
});

test("a group that has been made, and whose containers' states are not told, cannot be read", async () => {
  await using azure = await start(() => ({ body: groupAnswer({ provisioningState: "Succeeded" }) }));

  expect(await azure.backend.describe([name], live)).toEqual({
    found: [],
    missing: [],
    unreadable: [{ id: name, why: "Azure's answer lacks the states of its containers" }],
  });
});

test("after a restart a group is looked for in all resource groups of the node", async () => {
  await using azure = await start(({ path }) => (path.includes("/batch/") ? { body: groupAnswer({}, "batch") } : notFound), {
    otherResourceGroups: ["batch"],
  });

  expect((await azure.backend.describe([name], live)).found).toHaveLength(1);
  await azure.backend.describe([name], live);
  expect(azure.server.seen.map(({ path }) => path.split("/")[4])).toEqual(["pods", "batch", "batch"]);
});

test("a pod is deleted by one request, and a group that is gone is no error", async () => {
  await using azure = await start(() => ({ status: 204 }));
  const target = { id: name, identity, remote: undefined };
  const ending = { graceLeftMs: 30_000, isAsked: false, killedAgoMs: undefined, isDeleted: false };

  expect(await azure.backend.end(target, ending, live)).toBe("deleted");
  expect(await azure.backend.end(target, { ...ending, isDeleted: true }, live)).toBe("wait");
  expect(azure.server.seen.map(({ method }) => method)).toEqual(["DELETE"]);
});

test("a deletion that Azure has accepted and does not carry out is asked for again after a minute", async () => {
  await using azure = await start(() => ({ status: 202 }));
  const target = { id: name, identity, remote: groupSchema.parse(groupAnswer({ provisioningState: "Succeeded" })) };
  const ending = { graceLeftMs: 0, isAsked: true, killedAgoMs: undefined, isDeleted: true };
  await azure.backend.end(target, { ...ending, isDeleted: false }, live);
  await azure.clock.advance(59_000);
  expect(await azure.backend.end(target, ending, live)).toBe("wait");
  await azure.clock.advance(1000);
  expect(await azure.backend.end(target, ending, live)).toBe("deleted");
  await azure.clock.advance(60_000);
  const deleting = { ...target, remote: groupSchema.parse(groupAnswer({ provisioningState: "Deleting" })) };
  expect(await azure.backend.end(deleting, ending, live)).toBe("wait");
  expect(azure.server.seen).toHaveLength(2);
});

test("a log is read with times, and only its last lines if only they are wanted", async () => {
  await using azure = await start(() => ({ body: { content: "2026-11-21T10:00:00Z hello\n" } }));
  const target = { id: name, identity, remote: undefined };

  expect(await azure.backend.logSnapshot(target, "main", { tailLines: 10 }, live)).toEqual({
    text: "2026-11-21T10:00:00Z hello\n",
    hasTimestamps: true,
    applied: ["tailLines"],
  });
  expect(azure.server.seen[0]?.path).toBe(`${groupPath()}/${name}/containers/main/logs?timestamps=true&tail=10&api-version=2025-09-01`);
});

test("Azure's events become the pod's, once", async () => {
  const events = [{ name: "Pulling", message: "pulling image", type: "Normal", count: 1, lastTimestamp: "2026-11-21T10:00:05Z" }];
  await using azure = await start(() => ({ body: groupAnswer({ instanceView: { events } }) }));
  await azure.backend.describe([name], live);
  await azure.backend.describe([name], live);

  expect(azure.events).toEqual([{ pod: "web", type: "Normal", reason: "Pulling", message: "pulling image" }]);
});

test("a missing subnet is created with its delegation, once", async () => {
  let exists = false;
  await using azure = await start(
    ({ method, path }) => {
      if (!path.startsWith(subnetId)) return { body: { value: [] } };
      if (method === "PUT") exists = true;
      return exists ? { body: { properties: { provisioningState: "Succeeded", addressPrefix: "10.241.0.0/16" } } } : notFound;
    },
    { subnetId, subnetCidr: "10.241.0.0/16" },
  );
  await azure.backend.ping(live);
  await azure.backend.ping(live);

  expect(azure.server.seen.filter(({ method }) => method === "PUT").map(({ body }) => body)).toEqual([
    {
      properties: {
        addressPrefix: "10.241.0.0/16",
        delegations: [
          {
            name: "aciDelegation",
            properties: {
              serviceName: "Microsoft.ContainerInstance/containerGroups",
              actions: ["Microsoft.Network/virtualNetworks/subnets/action"],
            },
          },
        ],
      },
    },
  ]);
});

test.for([
  ["another range", { addressPrefix: "10.0.0.0/8" }, /its range is 10\.0\.0\.0\/8/],
  ["a route table", { addressPrefix: "10.241.0.0/16", routeTable: { id: "/rt" } }, /route table \/rt/],
  [
    "another delegation",
    { addressPrefix: "10.241.0.0/16", delegations: [{ properties: { serviceName: "Microsoft.Web/serverFarms" } }] },
    /delegated to Microsoft\.Web/,
  ],
  [
    "another user",
    { addressPrefix: "10.241.0.0/16", serviceAssociationLinks: [{ properties: { linkedResourceType: "Microsoft.Web/x" } }] },
    /used by Microsoft\.Web/,
  ],
] as const)("a subnet with %s is refused and left alone", async ([, properties, message]) => {
  await using azure = await start(({ path }) => ({ body: path.startsWith(subnetId) ? { properties } : { value: [] } }), {
    subnetId,
    subnetCidr: "10.241.0.0/16",
  });

  await expect(azure.backend.ping(live)).rejects.toMatchObject({ code: "VK_INVALID_INPUT", message: expect.stringMatching(message) });
  expect(azure.server.seen.filter(({ method }) => method !== "GET")).toEqual([]);
});

test("a delegated subnet stays as it is", async () => {
  const delegations = [{ properties: { serviceName: "Microsoft.ContainerInstance/containerGroups" } }];
  const properties = { addressPrefixes: ["10.241.0.0/16"], delegations };
  await using azure = await start(({ path }) => ({ body: path.startsWith(subnetId) ? { properties } : { value: [] } }), {
    subnetId,
    subnetCidr: "10.241.0.0/16",
  });
  await azure.backend.ping(live);

  expect(azure.server.seen.map(({ method }) => method)).toEqual(["GET", "GET"]);
});

test("the node is as large as configured, with the original's labels", async () => {
  await using azure = await start(() => ({}), { cpu: "40", memory: "80Gi", pods: "30", gpuSkus: ["V100"], gpus: "4" });

  expect(await azure.backend.configureNode()).toMatchObject({
    capacity: { cpu: "40", memory: "80Gi", pods: "30", "nvidia.com/gpu": "4" },
    operatingSystem: "linux",
    labels: {
      "node.kubernetes.io/exclude-from-external-load-balancers": "true",
      "alpha.service-controller.kubernetes.io/exclude-balancer": "true",
      "kubernetes.azure.com/managed": "false",
    },
  });
});

test("every class of requests has its published rates", () => {
  expect(Object.keys(limits.rates)).toEqual(["read", "write", "create", "delete", "monitor"]);
  expect(limits).toMatchObject({ idempotency: "name", rates: { read: [{ burst: 250, perSecond: 25 }] } });
});
