import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

interface Table {
  readonly kind: string;
  readonly columnDefinitions: readonly {
    readonly name: string;
    readonly type: string;
    readonly format: string;
    readonly priority: number;
    readonly description: string;
  }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: unknown }[];
}

async function tableOf(api: Api, path: string): Promise<Table> {
  return (await api.get(path, { accept })).body;
}

/** Cells by column, without ages. */
function rowsOf({ columnDefinitions, rows }: Table): unknown {
  return rows.map(({ cells }) =>
    Object.fromEntries(
      columnDefinitions.map(({ name }, index) => [
        name,
        name === "Age" || name === "Last Seen" || name === "First Seen" ? typeof cells[index] : cells[index],
      ]),
    ),
  );
}

const columnsOf = ({ columnDefinitions }: Table): unknown =>
  columnDefinitions.map(({ name, type, format, priority }) => [name, type, format, priority].join(" "));

test("a table is a list of rows with the metadata of each object", async ({ api, core }) => {
  await api.create(`${core}/secrets`, { metadata: { name: "a" }, data: { b: "" } });
  const table = await tableOf(api, `${core}/secrets`);

  // The embedded server has shorter column descriptions.
  expect({
    ...table,
    columnDefinitions: table.columnDefinitions.map(({ description, ...column }) => ({ ...column, description: typeof description })),
    rows: table.rows.map(({ cells, ...row }) => ({ ...row, cells: cells.slice(0, 3) })),
  }).toMatchInlineSnapshot(`
    {
      apiVersion: "meta.k8s.io/v1",
      columnDefinitions: [
        {description: "string", format: "name", name: "Name", priority: 0, type: "string"},
        {description: "string", format: "", name: "Type", priority: 0, type: "string"},
        {description: "string", format: "", name: "Data", priority: 0, type: "string"},
        {description: "string", format: "", name: "Age", priority: 0, type: "string"},
      ],
      kind: "Table",
      metadata: {resourceVersion: VERSION},
      rows: [
        {
          cells: ["a", "Opaque", 1],
          object: {
            apiVersion: "meta.k8s.io/v1",
            kind: "PartialObjectMetadata",
            metadata: {
              creationTimestamp: "TIME",
              name: "a",
              namespace: "NAMESPACE",
              resourceVersion: VERSION,
              uid: "UID",
            },
          },
        },
      ],
    }
  `);
});

test("rows contain no object with includeObject=None, and the complete object with Object", async ({ api, core }) => {
  const secret = await api.create(`${core}/secrets`, { metadata: { name: "a" } });

  expect((await tableOf(api, `${core}/secrets?includeObject=None`)).rows[0]?.object).toBeNull();
  expect((await tableOf(api, `${core}/secrets?includeObject=Object`)).rows[0]?.object).toEqual(secret);
  expect((await tableOf(api, `${core}/secrets?includeObject=Metadata`)).rows[0]?.object).toMatchObject({ kind: "PartialObjectMetadata" });
});

test("a single object is a table with one row", async ({ api, core }) => {
  await api.create(`${core}/secrets`, { metadata: { name: "a" } });

  expect(rowsOf(await tableOf(api, `${core}/secrets/a`))).toMatchInlineSnapshot(`[{Age: "string", Data: 0, Name: "a", Type: "Opaque"}]`);
});

test("pods show readiness, reason, restarts, addresses and node", async ({ api, core }) => {
  const status = (fields: object, name: string): Promise<unknown> => api.patch("merge", `${core}/pods/${name}/status`, { status: fields });
  const container = (state: object, fields: object = {}): object => ({
    name: "main",
    image: "a",
    imageID: "",
    ready: false,
    restartCount: 0,
    state,
    ...fields,
  });
  for (const name of ["pending", "running", "waiting", "failed", "succeeded", "reason", "terminating", "init", "notready"]) {
    await api.create(
      `${core}/pods`,
      podNamed(name, {
        nodeName: "n1",
        ...(name === "init"
          ? {
              initContainers: [
                { name: "i1", image: "a" },
                { name: "i2", image: "a" },
              ],
            }
          : {}),
      }),
    );
  }
  await api.create(
    `${core}/pods`,
    podNamed("gated", { schedulingGates: [{ name: "a.b/c" }], readinessGates: [{ conditionType: "a.b/c" }] }),
  );
  const ready = { type: "Ready", status: "True" };
  await status(
    {
      phase: "Running",
      podIP: "192.168.1.1",
      conditions: [ready],
      containerStatuses: [container({ running: {} }, { ready: true, restartCount: 3 })],
    },
    "running",
  );
  await status({ phase: "Pending", containerStatuses: [container({ waiting: { reason: "ImagePullBackOff" } })] }, "waiting");
  await status({ phase: "Failed", containerStatuses: [container({ terminated: { exitCode: 3, reason: "Error" } })] }, "failed");
  await status({ phase: "Succeeded", containerStatuses: [container({ terminated: { exitCode: 0, reason: "Completed" } })] }, "succeeded");
  await status({ phase: "Failed", reason: "Evicted" }, "reason");
  await status({ phase: "Running", containerStatuses: [container({ terminated: { exitCode: 0, signal: 9 } })] }, "notready");
  await status(
    {
      phase: "Pending",
      initContainerStatuses: [
        { ...container({ terminated: { exitCode: 0 } }), name: "i1" },
        { ...container({ waiting: { reason: "PodInitializing" } }), name: "i2" },
      ],
    },
    "init",
  );
  await api.delete(`${core}/pods/terminating`);
  const table = await tableOf(api, `${core}/pods`);

  expect(columnsOf(table)).toMatchInlineSnapshot(`
    [
      "Name string name 0",
      "Ready string  0",
      "Status string  0",
      "Restarts string  0",
      "Age string  0",
      "IP string  1",
      "Node string  1",
      "Nominated Node string  1",
      "Readiness Gates string  1",
    ]
  `);
  expect(rowsOf(table)).toMatchInlineSnapshot(`
    [
      {
        Age: "string",
        IP: "<none>",
        Name: "failed",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Error",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "gated",
        Node: "<none>",
        Nominated Node: "<none>",
        Readiness Gates: "0/1",
        Ready: "0/1",
        Restarts: "0",
        Status: "SchedulingGated",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "init",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Init:1/2",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "notready",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Signal:9",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "pending",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Pending",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "reason",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Evicted",
      },
      {
        Age: "string",
        IP: "192.168.1.1",
        Name: "running",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "1/1",
        Restarts: "3",
        Status: "Running",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "succeeded",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Completed",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "terminating",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "Terminating",
      },
      {
        Age: "string",
        IP: "<none>",
        Name: "waiting",
        Node: "n1",
        Nominated Node: "<none>",
        Readiness Gates: "<none>",
        Ready: "0/1",
        Restarts: "0",
        Status: "ImagePullBackOff",
      },
    ]
  `);
});

test("nodes show readiness, roles, version and addresses", async ({ api, namespace: name }) => {
  await api.create("/api/v1/nodes", {
    metadata: { name, labels: { "node-role.kubernetes.io/edge": "", "kubernetes.io/role": "agent" } },
    spec: { unschedulable: true },
  });
  try {
    await api.patch("strategic", `/api/v1/nodes/${name}/status`, {
      status: {
        conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2099-01-01T00:00:00Z" }],
        addresses: [
          { type: "InternalIP", address: "192.168.1.1" },
          { type: "ExternalIP", address: "203.0.113.1" },
        ],
        nodeInfo: { kubeletVersion: "v1.36.3", osImage: "An OS", kernelVersion: "6.1", containerRuntimeVersion: "pretend://1" },
      },
    });
    const table = await tableOf(api, `/api/v1/nodes?fieldSelector=metadata.name=${name}`);

    expect(columnsOf(table)).toMatchInlineSnapshot(`
      [
        "Name string name 0",
        "Status string  0",
        "Roles string  0",
        "Age string  0",
        "Version string  0",
        "Internal-IP string  1",
        "External-IP string  1",
        "OS-Image string  1",
        "Kernel-Version string  1",
        "Container-Runtime string  1",
      ]
    `);
    expect(rowsOf(table)).toMatchInlineSnapshot(`
      [
        {
          Age: "string",
          Container-Runtime: "pretend://1",
          External-IP: "203.0.113.1",
          Internal-IP: "192.168.1.1",
          Kernel-Version: "6.1",
          Name: "NAMESPACE",
          OS-Image: "An OS",
          Roles: "agent,edge",
          Status: "Ready,SchedulingDisabled",
          Version: "v1.36.3",
        },
      ]
    `);
  } finally {
    await api.delete(`/api/v1/nodes/${name}`);
  }
});

test("Deployments and ReplicaSets show how many are ready", async ({ api, apps }) => {
  const spec = {
    replicas: 0,
    selector: { matchLabels: { a: "b" } },
    template: {
      metadata: { labels: { a: "b" } },
      spec: {
        containers: [
          { name: "one", image: "a:1" },
          { name: "two", image: "b:2" },
        ],
      },
    },
  };
  await api.create(`${apps}/deployments`, { metadata: { name: "web" }, spec: { ...spec, paused: true } });
  await api.create(`${apps}/replicasets`, { metadata: { name: "web", labels: { c: "d" } }, spec });
  const deployments = await tableOf(api, `${apps}/deployments`);
  const replicaSets = await tableOf(api, `${apps}/replicasets?labelSelector=c`);

  expect(columnsOf(deployments)).toMatchInlineSnapshot(`
    [
      "Name string name 0",
      "Ready string  0",
      "Up-to-date string  0",
      "Available string  0",
      "Age string  0",
      "Containers string  1",
      "Images string  1",
      "Selector string  1",
    ]
  `);
  expect(rowsOf(deployments)).toMatchInlineSnapshot(`
    [
      {
        Age: "string",
        Available: 0,
        Containers: "one,two",
        Images: "a:1,b:2",
        Name: "web",
        Ready: "0/0",
        Selector: "a=b",
        Up-to-date: 0,
      },
    ]
  `);
  expect(columnsOf(replicaSets)).toMatchInlineSnapshot(`
    [
      "Name string name 0",
      "Desired integer  0",
      "Current integer  0",
      "Ready integer  0",
      "Age string  0",
      "Containers string  1",
      "Images string  1",
      "Selector string  1",
    ]
  `);
  expect(rowsOf(replicaSets)).toMatchInlineSnapshot(
    `[{Age: "string", Containers: "one,two", Current: 0, Desired: 0, Images: "a:1,b:2", Name: "web", Ready: 0, Selector: "a=b"}]`,
  );
});

test("services show type, addresses, ports and selector", async ({ api, core }) => {
  const create = (name: string, spec: object): Promise<unknown> => api.create(`${core}/services`, { metadata: { name }, spec });
  await create("a-cluster", {
    ports: [
      { name: "a", port: 80 },
      { name: "b", port: 53, protocol: "UDP" },
    ],
    selector: { a: "b", c: "d" },
  });
  await create("b-headless", { clusterIP: "None" });
  await create("c-external", { type: "ExternalName", externalName: "example.com" });
  await create("d-balanced", { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] });
  await create("e-ips", { ports: [{ port: 80 }], externalIPs: ["203.0.113.1"] });
  const table = await tableOf(api, `${core}/services`);

  expect(columnsOf(table)).toMatchInlineSnapshot(`
    [
      "Name string name 0",
      "Type string  0",
      "Cluster-IP string  0",
      "External-IP string  0",
      "Port(s) string  0",
      "Age string  0",
      "Selector string  1",
    ]
  `);
  expect(rowsOf(table)).toMatchInlineSnapshot(`
    [
      {
        Age: "string",
        Cluster-IP: "IP",
        External-IP: "<none>",
        Name: "a-cluster",
        Port(s): "80/TCP,53/UDP",
        Selector: "a=b,c=d",
        Type: "ClusterIP",
      },
      {
        Age: "string",
        Cluster-IP: "None",
        External-IP: "<none>",
        Name: "b-headless",
        Port(s): "<none>",
        Selector: "<none>",
        Type: "ClusterIP",
      },
      {
        Age: "string",
        Cluster-IP: "<none>",
        External-IP: "example.com",
        Name: "c-external",
        Port(s): "<none>",
        Selector: "<none>",
        Type: "ExternalName",
      },
      {
        Age: "string",
        Cluster-IP: "IP",
        External-IP: "<pending>",
        Name: "d-balanced",
        Port(s): "80/TCP",
        Selector: "<none>",
        Type: "LoadBalancer",
      },
      {
        Age: "string",
        Cluster-IP: "IP",
        External-IP: "203.0.113.1",
        Name: "e-ips",
        Port(s): "80/TCP",
        Selector: "<none>",
        Type: "ClusterIP",
      },
    ]
  `);
});

test("namespaces, config maps, secrets, service accounts, leases and events have their own columns", async ({ api, core, namespace }) => {
  await api.create(`${core}/configmaps`, { metadata: { name: "a", labels: { a: "b" } }, data: { a: "" }, binaryData: { b: "" } });
  await api.create(`${core}/secrets`, { metadata: { name: "a" }, data: { a: "" } });
  await api.create(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
    metadata: { name: "a" },
    spec: { holderIdentity: "me" },
  });
  await api.create(`${core}/events`, {
    metadata: { name: "a" },
    involvedObject: { kind: "Pod", name: "web", namespace, fieldPath: "spec.containers{main}" },
    reason: "Tested",
    message: "m ",
    type: "Normal",
    source: { component: "test", host: "h" },
    count: 2,
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
  });
  for (const path of [
    `/api/v1/namespaces?fieldSelector=metadata.name=${namespace}`,
    `${core}/configmaps?labelSelector=a`,
    `${core}/secrets`,
    `${core}/serviceaccounts`,
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
    `${core}/events`,
  ]) {
    const table = await tableOf(api, path);

    expect({ columns: columnsOf(table), rows: rowsOf(table) }).toMatchSnapshot(path.replace(namespace, "NAMESPACE"));
  }
});

test("an age is in human-readable units", async ({ api, core }) => {
  await api.create(`${core}/secrets`, { metadata: { name: "a" } });
  const { rows } = await tableOf(api, `${core}/secrets`);

  expect(rows[0]?.cells.at(-1)).toMatch(/^\d+s$/);
});
