import type { Pod } from "@virtual-kubelet/kube-client";
import { expect } from "vitest";
import { podStatusPatch } from "../../packages/core/src/pod/status/pod-status-patch.ts";
import { derivePodStatus } from "../../packages/core/src/pod/status/pod-status.ts";
import type { Api, Answer } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

// The API server compares some fields of a pod's status with its spec. A kubelet's status of another pod breaks these rules.

const status = { image: "main:1", imageID: "", ready: false, restartCount: 0 };

const spec = {
  nodeName: "n1",
  restartPolicy: "Never",
  resourceClaims: ["net", "disk"].map((name) => ({ name, resourceClaimName: `${name}-1` })),
  containers: [
    {
      name: "main",
      image: "main:1",
      resources: {
        requests: { cpu: "1", "example.com/gpu": "2" },
        limits: { "example.com/gpu": "2" },
        claims: [{ name: "net" }, { name: "disk", request: "fast" }],
      },
    },
    { name: "side", image: "side:1" },
  ],
  initContainers: [{ name: "setup", image: "setup:1" }],
};

function write(api: Api, core: string, fields: object): Promise<Answer> {
  return api.patch("merge", `${core}/pods/web/status`, { status: fields });
}

/** Returns what a refusal says of each field. */
function causes({ status: code, body }: Answer): unknown {
  return [code, ...body.details.causes.map(({ field, message }: Readonly<Record<string, string>>) => `${field}: ${message}`)];
}

test("the health of a container's devices is stored if the container has them", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", spec));
  const allocatedResourcesStatus = ["example.com/gpu", "cpu", "claim:net", "claim:disk/fast"].map((name, index) => ({
    name,
    resources: [
      { resourceID: `${index}-a`, health: "Healthy" },
      { resourceID: `${index}-b`, health: "Unhealthy", message: "hot" },
      { resourceID: "", health: "Unknown" },
    ],
  }));
  const stray = { name: "stray", ...status, allocatedResourcesStatus: [{ name: "example.com/other" }] };
  const containerStatuses = [{ name: "main", ...status, allocatedResourcesStatus }, stray];
  const answer = await write(api, core, { containerStatuses });

  expect(answer.status).toBe(200);
  expect(answer.body.status.containerStatuses).toMatchObject(containerStatuses);
});

test("the health of devices that the container does not have is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", spec));
  const answer = await write(api, core, {
    containerStatuses: [
      {
        name: "main",
        ...status,
        allocatedResourcesStatus: [
          { name: "example.com/other" },
          { name: "memory" },
          { name: "claim:net/one" },
          { name: "claim:disk" },
          { name: "" },
          {
            name: "cpu",
            resources: [
              { resourceID: "a", health: "Healthy" },
              { resourceID: "a", health: "PermanentlyUnhealthy" },
              { resourceID: "b", message: "" },
              { resourceID: "c", health: "Unknown", message: "é".repeat(513) },
            ],
          },
        ],
      },
    ],
    initContainerStatuses: [{ name: "setup", ...status, allocatedResourcesStatus: [{ name: "claim:net" }] }],
    ephemeralContainerStatuses: [
      { name: "debug", ...status, allocatedResourcesStatus: [] },
      { name: "more", ...status, allocatedResourcesStatus: [{ name: "cpu" }] },
    ],
  });

  expect(causes(answer)).toMatchInlineSnapshot(`
    [
      422,
      "status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: \\"example.com/other\\": must match one of the container's resource requests",
      "status.containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: \\"memory\\": must match one of the container's resource requests",
      "status.containerStatuses[0].allocatedResourcesStatus[2].name: Invalid value: \\"claim:net/one\\": must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
      "status.containerStatuses[0].allocatedResourcesStatus[3].name: Invalid value: \\"claim:disk\\": must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
      "status.containerStatuses[0].allocatedResourcesStatus[4].name: Invalid value: \\"\\": must match one of the container's resource requests",
      'status.containerStatuses[0].allocatedResourcesStatus[5].resources[1].health: Unsupported value: "PermanentlyUnhealthy": supported values: "Healthy", "Unhealthy", "Unknown"',
      'status.containerStatuses[0].allocatedResourcesStatus[5].resources[1].resourceID: Duplicate value: "a"',
      'status.containerStatuses[0].allocatedResourcesStatus[5].resources[2].health: Unsupported value: "": supported values: "Healthy", "Unhealthy", "Unknown"',
      "status.containerStatuses[0].allocatedResourcesStatus[5].resources[2].message: Required value: must be non-empty if specified",
      "status.containerStatuses[0].allocatedResourcesStatus[5].resources[3].message: Too long: may not be more than 1024 bytes",
      "status.initContainerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: \\"claim:net\\": must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
      "status.ephemeralContainerStatuses[1].allocatedResourcesStatus: Forbidden: must not be specified in container status",
    ]
  `);
});

test("the user of a container is refused with an invalid ID, and in a pod for Windows", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", spec));
  const user = { linux: { uid: -1, gid: 2 ** 31, supplementalGroups: [0, -5] } };
  const users = {
    containerStatuses: [
      { name: "main", ...status, user: { linux: { uid: 0, gid: 2 ** 31 - 1, supplementalGroups: [10] } } },
      { name: "stray", ...status, user },
    ],
    initContainerStatuses: [{ name: "setup", ...status, user }],
    ephemeralContainerStatuses: [{ name: "debug", ...status, user }],
  };
  expect(causes(await write(api, core, users))).toMatchInlineSnapshot(`
    [
      422,
      "status.containerStatuses[1].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      "status.containerStatuses[1].user.linux.gid: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
      "status.containerStatuses[1].user.linux.supplementalGroups[1]: Invalid value: -5: must be between 0 and 2147483647, inclusive",
      "status.initContainerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      "status.initContainerStatuses[0].user.linux.gid: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
      "status.initContainerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: -5: must be between 0 and 2147483647, inclusive",
      "status.ephemeralContainerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      "status.ephemeralContainerStatuses[0].user.linux.gid: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
      "status.ephemeralContainerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: -5: must be between 0 and 2147483647, inclusive",
    ]
  `);

  await api.delete(`${core}/pods/web?gracePeriodSeconds=0`);
  await api.create(`${core}/pods`, podNamed("web", { ...spec, os: { name: "windows" } }));
  expect(causes(await write(api, core, users))).toMatchInlineSnapshot(`
    [
      422,
      "status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod",
      "status.containerStatuses[1].user.linux: Forbidden: cannot be set for a windows pod",
      "status.initContainerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod",
      "status.ephemeralContainerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod",
    ]
  `);
  expect((await write(api, core, { containerStatuses: [{ name: "main", ...status, user: {} }] })).status).toBe(200);
});

test("the image of a mounted volume is dropped, because its feature is off", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", spec));
  const volumeMounts = [
    { name: "a", mountPath: "/a", readOnly: true, recursiveReadOnly: "Disabled", volumeStatus: { image: { imageRef: "a".repeat(300) } } },
    { name: "", mountPath: "" },
  ];
  const answer = await write(api, core, {
    containerStatuses: [{ name: "main", ...status, volumeMounts }],
    initContainerStatuses: [{ name: "setup", ...status, volumeMounts }],
    ephemeralContainerStatuses: [{ name: "debug", ...status, volumeMounts }],
    nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: "", containers: [], resources: {} }],
  });

  expect(answer.status).toBe(200);
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = answer.body.status;
  expect([containerStatuses, initContainerStatuses, ephemeralContainerStatuses].map(([each]) => each.volumeMounts)).toEqual(
    Array(3).fill([
      { name: "a", mountPath: "/a", readOnly: true, recursiveReadOnly: "Disabled" },
      { name: "", mountPath: "" },
    ]),
  );
  expect(answer.body.status).not.toHaveProperty("nodeAllocatableResourceClaimStatuses");
});

test("the status of claims that the pod does not have is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", spec));
  const valid = {
    resourceClaimStatuses: [{ name: "net", resourceClaimName: "net-1" }, { name: "disk" }],
    extendedResourceClaimStatus: {
      requestMappings: [{ containerName: "main", resourceName: "example.com/gpu", requestName: "one" }],
      resourceClaimName: "gpus-1",
    },
  };
  const stored = await write(api, core, valid);
  expect(stored.status).toBe(200);
  expect(stored.body.status).toMatchObject(valid);

  const mapping = { containerName: "main", resourceName: "example.com/other", requestName: "Not ok" };
  const claims = [{ name: "other", resourceClaimName: "Not ok" }, { name: "net" }, { name: "net" }];
  const requestMappings = [mapping, mapping, { ...mapping, containerName: "stray", requestName: "one" }];
  expect(
    causes(
      await write(api, core, {
        resourceClaimStatuses: claims,
        extendedResourceClaimStatus: { requestMappings, resourceClaimName: "Not ok" },
      }),
    ),
  ).toMatchInlineSnapshot(`
    [
      422,
      'status.resourceClaimStatuses[0].name: Invalid value: "other": must match the name of an entry in \`spec.resourceClaims\`',
      "status.resourceClaimStatuses[0].resourceClaimName: Invalid value: \\"Not ok\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'status.resourceClaimStatuses[2].name: Duplicate value: "net"',
      'status.extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value: "example.com/other": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      "status.extendedResourceClaimStatus.requestName: Invalid value: \\"Not ok\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      'status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "example.com/other": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      "status.extendedResourceClaimStatus.requestName: Invalid value: \\"Not ok\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      'status.extendedResourceClaimStatus.requestMappings[1].containerName: Duplicate value: "main"',
      'status.extendedResourceClaimStatus.requestMappings[1].resourceName: Duplicate value: "example.com/other"',
      'status.extendedResourceClaimStatus.requestMappings[1].requestName: Duplicate value: "Not ok"',
      'status.extendedResourceClaimStatus.requestMappings[2].containerName: Invalid value: "stray": must match the name of an entry in spec.initContainers.name or spec.containers.name',
      "status.extendedResourceClaimStatus.resourceClaimName: Invalid value: \\"Not ok\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ]
  `);
  expect(causes(await write(api, core, { extendedResourceClaimStatus: { requestMappings: [], resourceClaimName: "" } })))
    .toMatchInlineSnapshot(`
    [
      422,
      "status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is required",
      "status.extendedResourceClaimStatus.resourceClaimName: Required value",
    ]
  `);
});

test("a negative generation is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", spec));

  expect(
    causes(
      await write(api, core, {
        observedGeneration: -1,
        conditions: [
          { type: "Ready", status: "True", observedGeneration: -1 },
          { type: "a..b/gate", status: "True", observedGeneration: -2 },
        ],
      }),
    ),
  ).toMatchInlineSnapshot(`
    [
      422,
      "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
      "status.conditions[1].observedGeneration: Invalid value: -2: must be a non-negative integer",
      "status.conditions[1].Type: Invalid value: \\"a..b/gate\\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
    ]
  `);
});

/** Returns a spec whose first container has a rule for the exit code 42. */
function withRule(action: "Restart" | "RestartAllContainers"): object {
  const restartPolicyRules = [{ action, exitCodes: { operator: "In", values: [42] } }];
  const main = { name: "main", image: "main:1", restartPolicy: "Never", restartPolicyRules };
  return { ...spec, containers: [main, { name: "side", image: "side:1" }] };
}

test("a container leaves its end only by its own rules, or if a rule can restart all containers", async ({ api, core }) => {
  const states = (main: object, others: object): object => ({
    containerStatuses: [
      { name: "main", ...status, state: main },
      { name: "side", ...status, state: others },
    ],
    initContainerStatuses: [{ name: "setup", ...status, state: others }],
    ephemeralContainerStatuses: [{ name: "debug", ...status, state: others }],
  });
  const terminated = { terminated: { exitCode: 42 } };
  const running = { running: {} };

  await api.create(`${core}/pods`, podNamed("web", withRule("Restart")));
  expect((await write(api, core, states(terminated, terminated))).status).toBe(200);
  expect((await write(api, core, states(running, terminated))).status).toBe(200);
  expect(causes(await write(api, core, states(running, running)))).toMatchInlineSnapshot(`
    [
      422,
      "status.containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state",
      "status.initContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
      "status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
    ]
  `);

  await api.delete(`${core}/pods/web?gracePeriodSeconds=0`);
  await api.create(`${core}/pods`, podNamed("web", withRule("RestartAllContainers")));
  expect((await write(api, core, states(terminated, terminated))).status).toBe(200);
  expect(causes(await write(api, core, states(running, running)))).toMatchInlineSnapshot(
    `[422, "status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"]`,
  );
});

test.for([
  ["Restart", ["running", "terminated"], ["terminated"]],
  ["RestartAllContainers", ["running", "running"], ["running"]],
] as const)("the core shows of restarts by the rule %s what the API server accepts", async ([action, main, init], { api, core }) => {
  let pod: Pod = await api.create(`${core}/pods`, podNamed("web", withRule(action)));
  for (const state of [{ terminated: { exitCode: 42 } }, { running: {} }]) {
    const reported = {
      phase: "Running",
      containerStatuses: ["main", "side"].map((name) => ({ name, ...status, state })),
      initContainerStatuses: [{ name: "setup", ...status, state }],
    };
    const body = podStatusPatch(pod, derivePodStatus({ pod, reported, hostIPs: [], nowMs: Date.parse("2026-01-01T00:00:00Z") }));
    const answer = await api.patch("strategic", `${core}/pods/web/status`, body);
    expect(answer.status).toBe(200);
    pod = answer.body as Pod;
  }

  expect(pod.status?.containerStatuses?.flatMap(({ state }) => Object.keys(state ?? {}))).toEqual(main);
  expect(pod.status?.initContainerStatuses?.flatMap(({ state }) => Object.keys(state ?? {}))).toEqual(init);
});
