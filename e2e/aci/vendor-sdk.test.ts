import { ContainerInstanceManagementClient, type ContainerGroup } from "@azure/arm-containerinstance";
import type { TokenCredential } from "@azure/core-auth";
import { systemClock } from "@virtual-kubelet/clock";
import { eventually } from "@virtual-kubelet/testing";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWebSocketStream, WebSocket, type ClientOptions } from "ws";
import { ProcessHost } from "../support/container-host/process-host.ts";
import { groupBody, groupsPath } from "./arm-calls.ts";
import { FakeAzure, fakeAccount } from "./fake/fake-azure.ts";
import { faultAnswers, throttled } from "./fake/fault-rules.ts";
import { quickTimings } from "./fake/fake-container-group.ts";
import { trustAuthority } from "./trust-authority.ts";

const resources = new AsyncDisposableStack();
let azure: FakeAzure;
let client: ContainerInstanceManagementClient;

beforeAll(async () => {
  azure = resources.use(new FakeAzure({ host: resources.use(new ProcessHost()), timings: quickTimings, pageSize: 2 }));
  await azure.listen();
  resources.use(trustAuthority(azure.caCertificate));
  // Without it the client asks for a token of the endpoint that it is given.
  const options = { endpoint: azure.url, credentialScopes: ["https://management.azure.com/.default"] };
  client = new ContainerInstanceManagementClient(tokenServiceCredential(), fakeAccount.subscriptionId, options);
});
afterAll(() => resources.disposeAsync());

test("the vendor's client creates a group, and reads what a plain request reads", async () => {
  const created = await create("read", "echo hello; exit 3");
  expect(created.provisioningState).toBe("Succeeded");
  await eventually(async () => expect((await get("read")).instanceView?.state).toBe("Failed"));
  const group = await get("read");
  const { body } = await raw("GET", `${groupsPath}/read`);
  const { id, name, type, location, tags, properties } = body as RawGroup;

  expect(group).toMatchObject({ id, name, type, location, tags });
  expect(group).toMatchObject({ osType: properties["osType"], restartPolicy: properties["restartPolicy"], sku: properties["sku"] });
  const [container] = group.containers;
  const [plain] = properties.containers;
  expect(container).toMatchObject({ name: plain?.name, image: plain?.properties["image"], command: plain?.properties["command"] });
  const { currentState, restartCount, events } = plain?.properties.instanceView ?? {};
  expect(container?.instanceView).toMatchObject({
    restartCount,
    currentState: {
      ...currentState,
      startTime: new Date(String(currentState?.["startTime"])),
      finishTime: new Date(String(currentState?.["finishTime"])),
    },
  });
  expect(container?.instanceView?.currentState?.exitCode).toBe(3);
  expect(container?.instanceView?.events?.map((event) => event.name)).toEqual(events?.map((event) => event["name"]));
});

test("the vendor's client drops fields that are new since its version, which a plain request keeps", async () => {
  const body = {
    ...groupBody(),
    properties: { ...groupBody().properties, secretReferences: [{ name: "s", identity: "i", secretReferenceUri: "u" }] },
  };
  expect((await raw("PUT", `${groupsPath}/fresh`, body)).status).toBe(201);

  expect((await raw("GET", `${groupsPath}/fresh`)).body).toMatchObject({ properties: { secretReferences: [{ name: "s" }] } });
  expect(await get("fresh")).not.toHaveProperty("secretReferences");
});

test("the vendor's client lists all pages, without instance views", async () => {
  const before = azure.count("read");
  const names = new Set<string | undefined>();
  for await (const group of client.containerGroups.listByResourceGroup(fakeAccount.resourceGroup)) {
    names.add(group.name);
    expect(group.containers[0]?.instanceView).toBeUndefined();
  }
  expect(names.size).toBe(azure.instances.groups.size);
  await create("third", "exit 0");
  for await (const group of client.containerGroups.listByResourceGroup(fakeAccount.resourceGroup)) names.add(group.name);

  expect([...names]).toEqual(["read", "fresh", "third"]);
  expect(azure.count("read")).toBeGreaterThan(before + 2);
});

test("the vendor's client reads logs", async () => {
  await create("logs", "echo one; echo two; echo three");
  await eventually(async () => expect((await logs({})).trim().split("\n")).toEqual(["one", "two", "three"]));

  expect(await logs({ tail: 1 })).toBe("three\n");
  expect(await logs({ tail: 1, timestamps: true })).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z three\n$/);

  async function logs(options: object): Promise<string> {
    return (await client.containers.listLogs(fakeAccount.resourceGroup, "logs", "app", options)).content ?? "";
  }
});

test("a command that the vendor's client starts runs on the WebSocket, and ends with a close frame", async () => {
  await create("exec", "while :; do sleep 0.1; done");
  const socket = await exec("exec", "sh");
  const output = text(createWebSocketStream(socket));
  socket.send(Buffer.from("stty size; exit\n"));
  const [code] = (await once(socket, "close")) as [number];

  expect(code).toBe(1000);
  expect(await output).toMatch(/33 101\r\n/);
});

test("a command is a program without arguments, as the service documents", async () => {
  const socket = await exec("exec", "sh -c true");

  expect(await text(createWebSocketStream(socket))).toContain("sh -c true");
});

test("a wrong password closes the connection, and a session can be used once", async () => {
  const { webSocketUri = "" } = await client.containers.executeCommand(fakeAccount.resourceGroup, "exec", "app", { command: "sh" });
  const socket = open(webSocketUri);
  await once(socket, "open");
  socket.send("wrong");
  const [code] = (await once(socket, "close")) as [number];
  expect(code).toBe(1008);
  const [error] = (await once(open(webSocketUri), "error")) as [Error];

  expect(error.message).toContain("404");
});

test("an attached client needs the password in a header, and reads what the container writes", async () => {
  await create("attach", "while :; do echo tick; sleep 0.1; done");
  const { webSocketUri = "", password = "" } = await client.containers.attach(fakeAccount.resourceGroup, "attach", "app");
  const [error] = (await once(open(webSocketUri), "error")) as [Error];
  expect(error.message).toContain("401");
  const socket = open(webSocketUri, { headers: { authorization: password } });
  const [data] = (await once(socket, "message")) as [Buffer];
  socket.terminate();

  expect(data.toString("utf8")).toContain("tick");
});

test("a connection can be cut without a close frame, and messages can split characters", async () => {
  azure.sockets.faults.messageBytes = 1;
  const socket = await exec("exec", "sh");
  const sizes: number[] = [];
  let output = Buffer.alloc(0);
  socket.on("message", (data: Buffer) => {
    sizes.push(data.length);
    output = Buffer.concat([output, data]);
  });
  socket.send(Buffer.from("echo é\n"));
  await eventually(() => expect(output.toString("utf8")).toMatch(/é\r\n[^]*é\r\n/));
  expect(new Set(sizes)).toEqual(new Set([1]));
  azure.sockets.cutAll();
  const [code] = (await once(socket, "close")) as [number];
  delete azure.sockets.faults.messageBytes;

  // 1006: the connection ended without a close frame.
  expect(code).toBe(1006);
});

test("the vendor's client repeats a request after 429 and 503, and tells the service's code", async () => {
  azure.faults.add({ method: "GET", path: /containerGroups\/read/, times: 1, answer: throttled(0) });
  expect((await get("read")).name).toBe("read");
  azure.faults.add({
    method: "GET",
    path: /containerGroups\/read/,
    times: 1,
    answer: { ...faultAnswers.unavailable, headers: { "retry-after": "0" } },
  });
  expect((await get("read")).name).toBe("read");

  await expect(create("Wrong--Name", "exit 0")).rejects.toMatchObject({ statusCode: 400, code: "InvalidContainerGroup" });
  await expect(get("missing")).rejects.toMatchObject({ statusCode: 404, code: "ResourceNotFound" });
});

test("the vendor's client stops, starts, restarts and deletes", async () => {
  const { resourceGroup } = fakeAccount;
  await client.containerGroups.stop(resourceGroup, "exec");
  await eventually(async () => expect((await get("exec")).instanceView?.state).toBe("Stopped"));
  await client.containerGroups.beginStartAndWait(resourceGroup, "exec", { updateIntervalInMs: 20 });
  await eventually(async () => expect((await get("exec")).instanceView?.state).toBe("Running"));
  await client.containerGroups.beginRestartAndWait(resourceGroup, "exec", { updateIntervalInMs: 20 });
  await eventually(async () => expect((await get("exec")).instanceView?.state).toBe("Running"));
  await client.containerGroups.beginDeleteAndWait(resourceGroup, "exec", { updateIntervalInMs: 20 });

  await expect(get("exec")).rejects.toMatchObject({ statusCode: 404 });
});

test("the vendor's client reads usages and capabilities", async () => {
  const usages: string[] = [];
  for await (const { name } of client.location.listUsage(fakeAccount.location)) usages.push(name?.value ?? "");
  const systems: string[] = [];
  for await (const { osType } of client.location.listCapabilities(fakeAccount.location)) systems.push(osType ?? "");

  expect([usages, systems]).toEqual([
    ["ContainerGroups", "StandardCores"],
    ["Linux", "Windows"],
  ]);
});

/** Gets tokens from the fake's token service with its client secret. */
function tokenServiceCredential(): TokenCredential {
  return {
    async getToken(scopes) {
      const { tenantId, clientId, clientSecret } = fakeAccount;
      const form = new URLSearchParams({
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: clientSecret,
        scope: [scopes].flat().join(" "),
      });
      const answer = await fetch(`${azure.url}/${tenantId}/oauth2/v2.0/token`, { method: "POST", body: form });
      const { access_token: token, expires_in: seconds } = (await answer.json()) as {
        readonly access_token: string;
        readonly expires_in: number;
      };
      return { token, expiresOnTimestamp: systemClock.now() + seconds * 1000 };
    },
  };
}

function create(name: string, script: string): Promise<ContainerGroup> {
  const containers = [{ name: "app", image: "busybox", command: ["sh", "-c", script], resources: { requests: { cpu: 1, memoryInGB: 1 } } }];
  const group = { location: fakeAccount.location, osType: "Linux", restartPolicy: "Never", containers };
  return client.containerGroups.beginCreateOrUpdateAndWait(fakeAccount.resourceGroup, name, group, { updateIntervalInMs: 20 });
}

function get(name: string): Promise<ContainerGroup> {
  return client.containerGroups.get(fakeAccount.resourceGroup, name);
}

function open(uri: string, options: ClientOptions = {}): WebSocket {
  const socket = new WebSocket(uri, options);
  socket.on("error", () => {});
  return socket;
}

/** Starts a command and sends its password. */
async function exec(group: string, command: string): Promise<WebSocket> {
  const request = { command, terminalSize: { rows: 33, cols: 101 } };
  const { webSocketUri = "", password = "" } = await client.containers.executeCommand(fakeAccount.resourceGroup, group, "app", request);
  const socket = open(webSocketUri);
  await once(socket, "open");
  socket.send(password);
  return socket;
}

async function raw(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${azure.url}${path}?api-version=2025-09-01`, {
    method,
    headers: { authorization: `Bearer ${azure.tokens.issue()}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

interface RawGroup {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly location: string;
  readonly tags: object;
  readonly properties: Readonly<Record<string, unknown>> & {
    readonly containers: readonly {
      readonly name: string;
      readonly properties: Readonly<Record<string, unknown>> & {
        readonly instanceView?: {
          readonly restartCount: number;
          readonly currentState: Readonly<Record<string, unknown>>;
          readonly events: readonly Readonly<Record<string, unknown>>[];
        };
      };
    }[];
  };
}
