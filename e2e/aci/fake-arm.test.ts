import { describe, expect, test } from "vitest";
import { groupBody, groupsPath, openPretendAzure } from "./arm-calls.ts";
import { publishedLimits } from "./fake/call-limits.ts";
import type { ContainerGroupBody, GroupProperties } from "./fake/container-group-body.ts";
import { fakeAccount } from "./fake/fake-azure.ts";
import { faultAnswers, throttled } from "./fake/fault-rules.ts";

const web = `${groupsPath}/web`;

describe("life of a container group", () => {
  test("it is Pending, Creating and Succeeded, and its container's state and events follow", async () => {
    const { ok, call, clock } = openPretendAzure(() => ({ pullMs: 3000, startMs: 1000, exit: { afterMs: 60_000, exitCode: 3 } }));
    const created = await call("PUT", web, groupBody({}, { a: "b" }));
    expect(created).toMatchObject({ status: 201, body: { name: "web", tags: { a: "b" }, properties: { provisioningState: "Pending" } } });
    expect(await stateNow()).toEqual(["Pending", "Pending", "Waiting"]);
    await clock.advance(2000);
    expect(await stateNow()).toEqual(["Creating", "Pending", "Waiting"]);
    await clock.advance(11_000);
    expect(await stateNow()).toEqual(["Creating", "Pending", "Waiting"]);
    await clock.advance(1000);
    expect(await stateNow()).toEqual(["Succeeded", "Running", "Running"]);
    await clock.advance(60_000);
    expect(await stateNow()).toEqual(["Succeeded", "Failed", "Terminated"]);

    const view = await containerNow();
    expect(view).toMatchObject({
      restartCount: 0,
      currentState: {
        state: "Terminated",
        startTime: "2026-01-01T00:00:14Z",
        finishTime: "2026-01-01T00:01:14Z",
        exitCode: 3,
        detailStatus: "Error",
      },
    });
    expect(view.events.map(({ name, firstTimestamp }) => `${name} ${firstTimestamp}`)).toEqual([
      "Pulling 2026-01-01T00:00:10Z",
      "Pulled 2026-01-01T00:00:13Z",
      "Started 2026-01-01T00:00:14Z",
    ]);

    async function stateNow(): Promise<unknown[]> {
      const { properties } = (await ok("GET", web)) as unknown as GroupAnswer;
      return [properties.provisioningState, properties.instanceView?.state, (await containerNow()).currentState.state];
    }

    async function containerNow(): Promise<InstanceView> {
      const { properties } = (await ok("GET", web)) as unknown as GroupAnswer;
      return properties.containers[0]!.properties.instanceView!;
    }
  });

  test("containers are restarted according to the policy, with the state before and a count", async () => {
    const { ok, clock } = openPretendAzure(({ attempt }) => (attempt < 2 ? { exit: { afterMs: 1000, exitCode: 1 } } : {}));
    await ok("PUT", web, groupBody({ restartPolicy: "OnFailure" }));
    await clock.advance(11_500);
    expect(await view(ok)).toMatchObject({
      restartCount: 0,
      currentState: { state: "Waiting", detailStatus: expect.stringContaining("CrashLoopBackOff") },
      previousState: { state: "Terminated", exitCode: 1 },
    });
    await clock.advance(60_000);
    expect(await view(ok)).toMatchObject({ restartCount: 2, currentState: { state: "Running" }, previousState: { exitCode: 1 } });
    expect((await view(ok)).events.find(({ name }) => name === "BackOff")).toMatchObject({ count: 2, type: "Warning" });
  });

  test.for([
    ["Always", 0, "Running"],
    ["OnFailure", 0, "Succeeded"],
    ["Never", 1, "Failed"],
    ["Never", 0, "Succeeded"],
  ] as const)("with the policy %s, an exit with %i makes the group %s", async ([restartPolicy, exitCode, state]) => {
    const { ok, clock } = openPretendAzure(({ attempt }) => (attempt === 0 ? { exit: { afterMs: 1000, exitCode } } : {}));
    await ok("PUT", web, groupBody({ restartPolicy }));
    await clock.advance(60_000);

    expect(((await ok("GET", web)) as unknown as GroupAnswer).properties.instanceView?.state).toBe(state);
  });

  test("init containers run one after another before the others, and a failed one fails the group", async () => {
    const order: string[] = [];
    const { ok, clock } = openPretendAzure(({ name }) => {
      order.push(name);
      return name === "app" ? {} : { exit: { afterMs: 1000, exitCode: name === "two" ? 4 : 0 } };
    });
    const init = (name: string): object => ({ name, properties: { image: "init:1" } });
    await ok("PUT", web, groupBody({ initContainers: [init("one"), init("two")] } as unknown as Partial<GroupProperties>));
    await clock.advance(60_000);

    expect(order).toEqual(["one", "two"]);
    const { properties } = (await ok("GET", web)) as unknown as GroupAnswer;
    expect(properties.instanceView?.state).toBe("Failed");
    expect(properties.initContainers.map((each) => each.properties.instanceView?.currentState.exitCode)).toEqual([0, 4]);
    expect(properties.containers[0]?.properties.instanceView?.currentState.state).toBe("Waiting");
  });

  test("an image that cannot be pulled leaves the container waiting, and an inaccessible one refuses the group", async () => {
    const { ok, call, azure, clock } = openPretendAzure(() => ({ refused: { why: "image", message: "no such image" } }));
    await ok("PUT", web, groupBody());
    await clock.advance(12_000);
    expect(await view(ok)).toMatchObject({ currentState: { state: "Waiting", detailStatus: expect.stringContaining("ImagePullBackOff") } });
    expect((await view(ok)).events.find(({ name }) => name === "Failed")?.message).toContain("no such image");
    azure.instances.behavior.refuseImage = () => "Please check the image and registry credential.";

    expect(await call("PUT", `${groupsPath}/other`, groupBody())).toMatchObject({
      status: 400,
      body: { error: { code: "InaccessibleImage" } },
    });
  });

  test("a lack of memory is told in the detail", async () => {
    const { ok, clock } = openPretendAzure(() => ({ exit: { afterMs: 1, exitCode: 137, isOutOfMemory: true } }));
    await ok("PUT", web, groupBody());
    await clock.advance(20_000);

    expect(await view(ok)).toMatchObject({ currentState: { exitCode: 137, detailStatus: "OOMKilled" } });
  });

  test("a delete ends containers within the grace period, and the group is gone afterwards", async () => {
    const { ok, call, clock } = openPretendAzure(() => ({ onTerminate: { afterMs: 5000, exitCode: 0 } }));
    await ok("PUT", web, groupBody());
    await clock.advance(20_000);
    const answer = await call("DELETE", web);
    expect(answer).toMatchObject({ status: 202 });
    await clock.advance(5000);
    expect(((await ok("GET", web)) as unknown as GroupAnswer).properties.provisioningState).toBe("Deleting");
    await clock.advance(1000);

    expect(await call("GET", web)).toMatchObject({ status: 404, body: { error: { code: "ResourceNotFound" } } });
    expect(await call("DELETE", web)).toMatchObject({ status: 204 });
  });

  test("the operation of a create or delete can be followed", async () => {
    const { ok, call, clock } = openPretendAzure();
    const created = await call("PUT", web, groupBody());
    const url = typeof created === "string" ? "" : (created.headers?.["azure-asyncoperation"] ?? "");
    const { pathname } = new URL(url);
    expect(await ok("GET", pathname)).toMatchObject({ status: "InProgress" });
    await clock.advance(20_000);

    expect(await ok("GET", pathname)).toMatchObject({ status: "Succeeded" });
  });

  test("a stopped group keeps its end and loses its address, and can be started again", async () => {
    const { ok, call, clock, azure } = openPretendAzure();
    await ok("PUT", web, groupBody());
    await clock.advance(20_000);
    const address = azure.instances.group("web").address;
    expect(await call("POST", `${web}/stop`)).toEqual({ status: 204 });
    await clock.settle();
    expect(((await ok("GET", web)) as unknown as GroupAnswer).properties).toMatchObject({
      provisioningState: "Succeeded",
      instanceView: { state: "Stopped" },
    });
    expect(azure.instances.group("web").address).toBeUndefined();
    expect(await call("POST", `${web}/start`)).toEqual({ status: 202 });
    await clock.advance(20_000);

    expect(((await ok("GET", web)) as unknown as GroupAnswer).properties.instanceView?.state).toBe("Running");
    expect(azure.instances.group("web").address).not.toBe(address);
  });

  test("the same body again changes nothing, another image restarts the group, and other resources are refused", async () => {
    const { ok, call, clock, host } = openPretendAzure();
    await ok("PUT", web, groupBody());
    expect(await call("PUT", web, groupBody())).toMatchObject({ status: 409, body: { error: { code: "ContainerGroupTransitioning" } } });
    await clock.advance(20_000);
    expect(await call("PUT", web, groupBody())).toMatchObject({ status: 200 });
    await clock.advance(20_000);
    expect([...host.groups.values()].flatMap(({ runs }) => runs)).toHaveLength(1);
    expect(await call("PUT", web, withApp({ image: "web:2" }))).toMatchObject({ status: 200 });
    await clock.advance(20_000);
    expect([...host.groups.values()].map((group) => group.last("app").spec.image)).toEqual(["web:2"]);

    const larger = withApp({ image: "web:2", resources: { requests: { cpu: 2, memoryInGB: 1.5 } } });
    expect(await call("PUT", web, larger)).toMatchObject({ status: 400, body: { error: { code: "InvalidContainerGroupUpdate" } } });
  });

  test("a patch changes tags only", async () => {
    const { ok, call } = openPretendAzure();
    await ok("PUT", web, groupBody({}, { a: "1" }));
    expect(await ok("PATCH", web, { tags: { b: "2" } })).toMatchObject({ tags: { b: "2" } });

    expect(await call("PATCH", web, { properties: {} })).toMatchObject({ status: 400, body: { error: { code: "InvalidRequestContent" } } });
  });
});

describe("what a test does to a group", () => {
  test("provisioning can be held, and fail", async () => {
    const { ok, clock, azure } = openPretendAzure();
    await ok("PUT", web, groupBody());
    const group = azure.instances.group("web");
    const held = group.hold();
    await clock.advance(3_600_000);
    expect(group.provisioningState).toBe("Pending");
    held[Symbol.dispose]();
    await clock.advance(20_000);
    expect(group.provisioningState).toBe("Succeeded");
    group.fail("Failed", "The node is broken");

    expect((await ok("GET", web)) as unknown as GroupAnswer).toMatchObject({
      properties: {
        provisioningState: "Failed",
        instanceView: { state: "Failed", events: [{ name: "Failed", message: "The node is broken" }] },
      },
    });
  });

  test("the address can be late", async () => {
    const { ok, clock } = openPretendAzure(undefined, {
      timings: { pendingMs: 0, creatingMs: 0, addressMs: 30_000, deletingMs: 0, graceMs: 0, restartMs: () => 0 },
    });
    const ipAddress = { type: "Private", ports: [] };
    await ok("PUT", web, groupBody({ ipAddress, subnetIds: [{ id: "subnet" }] }));
    await clock.advance(29_000);
    expect(((await ok("GET", web)) as unknown as GroupAnswer).properties.ipAddress?.ip).toBeUndefined();
    await clock.advance(1000);

    expect(((await ok("GET", web)) as unknown as GroupAnswer).properties.ipAddress?.ip).toMatch(/^10\./);
  });

  test("a repaired group has new containers and a new address", async () => {
    const { ok, clock, azure } = openPretendAzure();
    await ok("PUT", web, groupBody());
    await clock.advance(20_000);
    const group = azure.instances.group("web");
    const { address } = group;
    await group.repair();
    await clock.advance(3000);
    expect(group.provisioningState).toBe("Repairing");
    await clock.advance(20_000);

    expect([group.provisioningState, group.state]).toEqual(["Succeeded", "Running"]);
    expect(group.address).not.toBe(address);
  });

  test("restarts can jump, tags can be changed by a human, and a group can be lost", async () => {
    const { ok, call, clock, azure } = openPretendAzure();
    await ok("PUT", web, groupBody({}, { a: "1" }));
    await clock.advance(20_000);
    const group = azure.instances.group("web");
    group.containers[0]!.extraRestarts = 3;
    group.tags = {};
    expect(await ok("GET", web)).toMatchObject({
      tags: {},
      properties: { containers: [{ properties: { instanceView: { restartCount: 3 } } }] },
    });
    await azure.instances.lose("web");

    expect(await call("GET", web)).toMatchObject({ status: 404 });
  });
});

describe("lists", () => {
  test("a list has pages and no instance views", async () => {
    const { ok, azure } = openPretendAzure(undefined, { pageSize: 2 });
    for (const name of ["a", "b", "c"]) await ok("PUT", `${groupsPath}/${name}`, groupBody({}, { name }));
    const first = (await ok("GET", groupsPath)) as unknown as ListAnswer;
    expect(first.value.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(JSON.stringify(first)).not.toContain("instanceView");
    const next = new URL(first.nextLink ?? "");
    const second = (await ok("GET", next.pathname, undefined, Object.fromEntries(next.searchParams))) as unknown as ListAnswer;
    expect(second.value.map(({ name }) => name)).toEqual(["c"]);
    expect(second.nextLink).toBeUndefined();

    expect(azure.count("read")).toBe(2);
  });

  test("the second page can fail", async () => {
    const { ok, call, azure } = openPretendAzure(undefined, { pageSize: 1 });
    for (const name of ["a", "b"]) await ok("PUT", `${groupsPath}/${name}`, groupBody());
    using _fault = azure.faults.add({ path: /skiptoken/, answer: faultAnswers.unavailable });

    expect(await call("GET", groupsPath)).toMatchObject({ status: 200 });
    expect(await call("GET", groupsPath, undefined, { $skiptoken: "1" })).toMatchObject({ status: 503 });
  });
});

describe("secrets", () => {
  test("no answer has a value of a secret", async () => {
    const { ok } = openPretendAzure();
    const secret = "cGFzc3dvcmQ=";
    const body = groupBody({
      containers: [
        {
          name: "app",
          properties: {
            image: "web:1",
            environmentVariables: [
              { name: "PLAIN", value: "visible" },
              { name: "TOKEN", secureValue: secret },
            ],
            resources: { requests: { cpu: 1, memoryInGB: 1 } },
          },
        },
      ],
      volumes: [
        { name: "files", secret: { file: secret } },
        { name: "share", azureFile: { shareName: "s", storageAccountName: "a", storageAccountKey: secret } },
      ],
      imageRegistryCredentials: [{ server: "r", username: "u", password: secret }],
      diagnostics: { logAnalytics: { workspaceId: "w", workspaceKey: secret } },
      extensions: [{ name: "x", properties: { extensionType: "x", version: "1", protectedSettings: { key: secret } } }],
    } as Partial<GroupProperties>);
    const answers = JSON.stringify([await ok("PUT", web, body), await ok("GET", web), await ok("GET", groupsPath)]);

    expect(answers).not.toContain(secret);
    expect(answers).toContain("visible");
  });
});

describe("refusals", () => {
  const cases: readonly (readonly [string, ContainerGroupBody | object, string])[] = [
    ["an unknown field", groupBody({ hostNetwork: true } as object), "InvalidRequestContent"],
    ["no operating system", groupBody({ osType: undefined } as unknown as Partial<GroupProperties>), "InvalidOsType"],
    ["no location", { ...groupBody(), location: undefined }, "LocationRequired"],
    ["no resources", withApp({ image: "web:1", resources: undefined }), "ResourceRequestsNotSpecified"],
    ["no image", withApp({ image: "" }), "InvalidContainerGroup"],
    ["CPU in thousandths", withApp({ resources: { requests: { cpu: 0.005, memoryInGB: 1 } } }), "InvalidContainerGroup"],
    ["memory in hundredths of a GB", withApp({ resources: { requests: { cpu: 1, memoryInGB: 1.05 } } }), "InvalidContainerGroup"],
    [
      "a limit above the sum of requests",
      withApp({ resources: { requests: { cpu: 1, memoryInGB: 1 }, limits: { cpu: 2 } } }),
      "ContainerLimitGreaterThanContainerGroupTotalRequest",
    ],
    ["a GPU", withApp({ resources: { requests: { cpu: 1, memoryInGB: 1, gpu: { count: 1, sku: "V100" } } } }), "InvalidContainerGroup"],
    ["more CPU than a host has", withApp({ resources: { requests: { cpu: 32, memoryInGB: 1 } } }), "InvalidContainerGroup"],
    [
      "a variable with two values",
      withApp({ environmentVariables: [{ name: "A", value: "1", secureValue: "2" }] }),
      "InvalidContainerGroup",
    ],
    ["a probe without an action", withApp({ livenessProbe: { periodSeconds: 1 } }), "InvalidContainerGroup"],
    ["a mount of an unknown volume", withApp({ volumeMounts: [{ name: "v", mountPath: "/v" }] }), "InvalidContainerGroup"],
    ["a secret that is not in Base64", groupBody({ volumes: [{ name: "v", secret: { a: "plain text" } }] }), "InvalidContainerGroup"],
    ["a volume of two types", groupBody({ volumes: [{ name: "v", emptyDir: {}, secret: {} }] }), "InvalidContainerGroup"],
    [
      "21 volumes",
      groupBody({ volumes: Array.from({ length: 21 }, (_, index) => ({ name: `v${index}`, emptyDir: {} })) }),
      "InvalidContainerGroup",
    ],
    [
      "61 containers",
      groupBody({
        containers: Array.from({ length: 61 }, (_, index) => ({ ...appOf({}), name: `c${index}` })),
      }),
      "InvalidContainerGroup",
    ],
    ["one container name twice", groupBody({ containers: [appOf({}), appOf({})] }), "InvalidContainerGroup"],
    ["a private address without a subnet", groupBody({ ipAddress: { type: "Private", ports: [] } }), "InvalidContainerGroup"],
    [
      "a public address in a subnet",
      groupBody({ ipAddress: { type: "Public", ports: [] }, subnetIds: [{ id: "s" }] }),
      "InvalidContainerGroup",
    ],
    [
      "a public address with a port that no container has",
      groupBody({ ipAddress: { type: "Public", ports: [{ port: 80 }] } }),
      "InvalidContainerGroup",
    ],
    ["51 tags", groupBody({}, Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`t${index}`, "x"]))), "InvalidContainerGroup"],
    ["a tag name with a slash", groupBody({}, { "a/b": "c" }), "InvalidTagNameCharacters"],
    ["a tag value of 257 characters", groupBody({}, { a: "x".repeat(257) }), "InvalidTagValueLength"],
  ];

  test.for(cases)("%s: %3$s", async ([, body, code]) => {
    const { call, azure } = openPretendAzure();

    expect(await call("PUT", web, body)).toMatchObject({ status: 400, body: { error: { code } } });
    expect(azure.instances.groups.size).toBe(0);
  });

  test.for(["Upper", "-a", "a-", "a--b", "a_b", "x".repeat(64)])("the name %s", async (name) => {
    const { call } = openPretendAzure();

    expect(await call("PUT", `${groupsPath}/${name}`, groupBody())).toMatchObject({ status: 400 });
  });

  test("other subscriptions and resource groups, a missing version, and missing or ended tokens", async () => {
    const { azure, call, clock } = openPretendAzure();
    expect(await call("GET", groupsPath.replace("/pods/", "/others/"))).toMatchObject({
      body: { error: { code: "ResourceGroupNotFound" } },
    });
    expect(await call("GET", groupsPath.replace(fakeAccount.subscriptionId, "other"))).toMatchObject({
      body: { error: { code: "SubscriptionNotFound" } },
    });
    expect(await call("GET", groupsPath.replace("/pods/", "/PODS/"))).toMatchObject({ status: 200 });
    expect(await call("GET", groupsPath, undefined, { "api-version": "latest" })).toMatchObject({
      body: { error: { code: "MissingApiVersionParameter" } },
    });
    await clock.advance(25 * 3_600_000);
    expect(await call("GET", groupsPath)).toMatchObject({ status: 401, body: { error: { code: "ExpiredAuthenticationToken" } } });
    azure.tokens.revokeAll();

    expect(await call("GET", groupsPath)).toMatchObject({ status: 401, body: { error: { code: "InvalidAuthenticationToken" } } });
  });
});

describe("limits", () => {
  test("100 creates in five minutes, then 429 with Retry-After until the first is five minutes old", async () => {
    const { call, clock } = openPretendAzure(undefined, { limits: { ...publishedLimits, groups: 1000, cores: 1000 } });
    for (let index = 0; index < 100; index++) {
      expect(await call("PUT", `${groupsPath}/g${index}`, groupBody())).toMatchObject({ status: 201 });
      await clock.advance(1000);
    }
    expect(await call("PUT", `${groupsPath}/more`, groupBody())).toMatchObject({ status: 429, headers: { "retry-after": "200" } });
    await clock.advance(200_000);

    expect(await call("PUT", `${groupsPath}/more`, groupBody())).toMatchObject({ status: 201 });
  });

  test("250 reads at once, and 25 each second", async () => {
    const { call, clock } = openPretendAzure(undefined, { limits: publishedLimits });
    for (let index = 0; index < 250; index++) expect(await call("GET", groupsPath)).toMatchObject({ status: 200 });
    expect(await call("GET", groupsPath)).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    await clock.advance(1000);
    const after = await Promise.all(Array.from({ length: 26 }, () => call("GET", groupsPath)));

    expect(after.filter((answer) => typeof answer !== "string" && answer.status === 200)).toHaveLength(25);
  });

  test("quotas of groups and cores", async () => {
    const { call, ok, azure } = openPretendAzure(undefined, { limits: { ...publishedLimits, groups: 2, cores: 2.5 } });
    await ok("PUT", `${groupsPath}/a`, groupBody());
    expect(await call("PUT", `${groupsPath}/b`, withApp({ resources: { requests: { cpu: 2, memoryInGB: 1 } } }))).toMatchObject({
      status: 409,
      body: { error: { code: "ContainerGroupQuotaReached" } },
    });
    await ok("PUT", `${groupsPath}/b`, groupBody());
    expect(await call("PUT", `${groupsPath}/c`, groupBody())).toMatchObject({ body: { error: { code: "ContainerGroupQuotaReached" } } });
    const usages = `/subscriptions/${fakeAccount.subscriptionId}/providers/Microsoft.ContainerInstance/locations/westeurope/usages`;
    expect(await ok("GET", usages)).toMatchObject({
      value: [
        { currentValue: 2, limit: 2, name: { value: "ContainerGroups" } },
        { currentValue: 2, limit: 2.5 },
      ],
    });

    expect(azure.count("write")).toBe(4);
  });
});

describe("faults", () => {
  test("a fault before the request is carried out leaves nothing; one after it leaves the group", async () => {
    const { call, azure } = openPretendAzure();
    azure.faults.add({ method: "PUT", times: 1, answer: faultAnswers.serverError });
    expect(await call("PUT", web, groupBody())).toMatchObject({ status: 500 });
    expect(azure.instances.groups.size).toBe(0);
    azure.faults.add({ method: "PUT", times: 1, when: "after", answer: faultAnswers.serverTimeout });
    expect(await call("PUT", web, groupBody())).toMatchObject({ status: 503, body: { error: { code: "ServerTimeout" } } });
    expect(azure.instances.groups.size).toBe(1);
    azure.faults.add({ method: "PUT", times: 1, when: "after", answer: "drop" });

    expect(await call("PUT", `${groupsPath}/other`, groupBody())).toBe("drop");
    expect(azure.instances.groups.size).toBe(2);
  });

  test("a fault hits as many requests as it says, or all until it is disposed", async () => {
    const { call, azure } = openPretendAzure();
    azure.faults.add({ times: 2, answer: throttled(7) });
    const answers = [await call("GET", groupsPath), await call("GET", groupsPath), await call("GET", groupsPath)];
    expect(answers.map((answer) => (typeof answer === "string" ? 0 : answer.status))).toEqual([429, 429, 200]);
    {
      using _garbage = azure.faults.add({ answer: faultAnswers.garbage });
      expect(await call("GET", groupsPath)).toEqual(faultAnswers.garbage);
    }
    using _changed = azure.faults.add({ answer: (real) => ({ ...real, status: 299 }) });

    expect(await call("GET", groupsPath)).toMatchObject({ status: 299 });
  });

  test("nothing answers while Azure is away", async () => {
    const { call, azure } = openPretendAzure();
    azure.isAway = true;

    expect(await call("GET", groupsPath)).toBe("drop");
  });
});

describe("logs", () => {
  test("the last lines, with or without times, of the last run that has started", async () => {
    const { ok, clock } = openPretendAzure(({ attempt }) => ({
      lines: ["a", "b", "c"].map((text, index) => ({ afterMs: index * 1000, text: `${text}${attempt}\n` })),
      exit: { afterMs: 5000, exitCode: 1 },
    }));
    await ok("PUT", web, groupBody({ restartPolicy: "OnFailure" }));
    expect(await ok("GET", `${web}/containers/app/logs`)).toEqual({ content: "" });
    await clock.advance(11_000);
    expect(await ok("GET", `${web}/containers/app/logs`)).toEqual({ content: "a0\nb0\n" });
    expect(await ok("GET", `${web}/containers/app/logs`, undefined, { tail: "1", timestamps: "true" })).toEqual({
      content: "2026-01-01T00:00:11.000000001Z b0\n",
    });
    await clock.advance(10_000);
    expect(await ok("GET", `${web}/containers/app/logs`)).toEqual({ content: "a0\nb0\nc0\n" });
    await clock.advance(5000);

    expect(await ok("GET", `${web}/containers/app/logs`)).toEqual({ content: "a1\nb1\n" });
  });

  test("a stopped container keeps 1,000 lines or 16 KB, cut inside a character if need be", async () => {
    const { ok, clock } = openPretendAzure(({ name }) => ({
      lines: Array.from({ length: 1200 }, (_, index) => ({ afterMs: 0, text: name === "app" ? `${index}\n` : `${"é".repeat(50)}\n` })),
      exit: { afterMs: 1000, exitCode: 0 },
    }));
    const second = { ...appOf({}), name: "second" };
    await ok("PUT", web, groupBody({ containers: [appOf({}), second] }));
    await clock.advance(10_500);
    const running = await ok("GET", `${web}/containers/app/logs`);
    expect(String(running["content"]).split("\n")).toHaveLength(1201);
    await clock.advance(5000);
    const { content } = await ok("GET", `${web}/containers/app/logs`);
    expect(String(content).startsWith("200\n")).toBe(true);
    const { content: cut } = await ok("GET", `${web}/containers/second/logs`);

    expect(Buffer.byteLength(String(cut).replace("\uFFFD", ""))).toBeLessThanOrEqual(16_000);
    expect(String(cut).startsWith("\uFFFD")).toBe(true);
  });

  test("an unknown container and a wrong tail are refused", async () => {
    const { ok, call } = openPretendAzure();
    await ok("PUT", web, groupBody());

    expect(await call("GET", `${web}/containers/other/logs`)).toMatchObject({ status: 404 });
    expect(await call("GET", `${web}/containers/app/logs`, undefined, { tail: "many" })).toMatchObject({ status: 400 });
    expect(await call("POST", `${web}/containers/app/exec`, { command: "sh" })).toMatchObject({ status: 409 });
  });
});

describe("subnets and metrics", () => {
  const subnet = `/subscriptions/${fakeAccount.subscriptionId}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/pods`;

  test("a subnet is missing until it is created with a prefix in an existing network", async () => {
    const { call, ok, azure } = openPretendAzure();
    expect(await call("GET", subnet)).toMatchObject({ status: 404, body: { error: { code: "ResourceNotFound" } } });
    azure.network.networks.add("net/vnet");
    expect(await call("GET", subnet)).toMatchObject({ status: 404, body: { error: { code: "NotFound" } } });
    expect(await call("PUT", subnet, { properties: {} })).toMatchObject({ status: 400 });
    expect(await call("PUT", subnet, { properties: { addressPrefix: "10.1.0.0/24" } })).toMatchObject({ status: 201 });

    expect(await ok("GET", subnet)).toMatchObject({
      name: "pods",
      properties: { addressPrefix: "10.1.0.0/24", provisioningState: "Succeeded" },
    });
  });

  test("Azure Monitor has an average of CPU and memory for each container", async () => {
    const { ok, clock } = openPretendAzure(() => ({ usage: { cpuNanosecondsPerSecond: 250_000_000, memoryBytes: 5000 } }));
    await ok("PUT", web, groupBody());
    await clock.advance(70_000);
    const answer = await ok("GET", `${web}/providers/microsoft.insights/metrics`, undefined, {
      metricnames: "CPUUsage,MemoryUsage",
      $filter: "containerName eq '*'",
    });

    expect(answer).toMatchObject({
      value: [
        {
          name: { value: "CpuUsage" },
          timeseries: [{ metadatavalues: [{ value: "app" }], data: [{ timeStamp: "2026-01-01T00:01:00Z", average: 250 }] }],
        },
        { name: { value: "MemoryUsage" }, timeseries: [{ data: [{ average: 5000 }] }] },
      ],
    });
  });
});

interface InstanceView {
  readonly restartCount: number;
  readonly currentState: { readonly state: string; readonly exitCode?: number };
  readonly events: readonly { readonly name: string; readonly message: string; readonly firstTimestamp: string }[];
}

interface ContainerAnswer {
  readonly properties: { readonly instanceView?: InstanceView };
}

interface GroupAnswer {
  readonly properties: {
    readonly provisioningState: string;
    readonly instanceView?: { readonly state: string };
    readonly containers: readonly ContainerAnswer[];
    readonly initContainers: readonly ContainerAnswer[];
    readonly ipAddress?: { readonly ip?: string };
  };
}

interface ListAnswer {
  readonly value: readonly { readonly name: string }[];
  readonly nextLink?: string;
}

async function view(ok: ReturnType<typeof openPretendAzure>["ok"]): Promise<InstanceView> {
  const { properties } = (await ok("GET", web)) as unknown as GroupAnswer;
  const instanceView = properties.containers[0]?.properties.instanceView;
  if (!instanceView) throw new Error("the container has no instance view");
  return instanceView;
}

function appOf(properties: object): ContainerGroupBody["properties"]["containers"][number] {
  const [app] = groupBody().properties.containers;
  if (!app) throw new Error("the group has no container");
  return { name: "app", properties: { ...app.properties, ...properties } };
}

function withApp(properties: object): ContainerGroupBody {
  return groupBody({ containers: [appOf(properties)] });
}
