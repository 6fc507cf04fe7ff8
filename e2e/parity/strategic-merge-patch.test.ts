import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const container = (name: string, more: object = {}): object => ({ name, image: `${name}:1`, ...more });

/** A Deployment without replicas, so that its template can change freely. */
function template(spec: object): object {
  return {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec },
    },
  };
}

test("containers, their ports, variables and mounts are merged by their keys", async ({ api, apps }) => {
  await api.create(
    `${apps}/deployments`,
    template({
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        container("a", {
          env: [
            { name: "ONE", value: "1" },
            { name: "TWO", value: "2" },
          ],
          ports: [{ containerPort: 80, name: "http" }],
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        }),
        container("b"),
      ],
    }),
  );
  const answer = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: "a",
              image: "a:2",
              env: [
                { name: "TWO", value: "zwei" },
                { name: "THREE", value: "3" },
              ],
              ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }],
              volumeMounts: [{ mountPath: "/v", name: "v", readOnly: true }],
            },
            container("c"),
          ],
        },
      },
    },
  });

  expect(answer.body.spec.template.spec).toMatchInlineSnapshot(`
    {
      containers: [
        {
          env: [{name: "ONE", value: "1"}, {name: "TWO", value: "zwei"}, {name: "THREE", value: "3"}],
          image: "a:2",
          imagePullPolicy: "IfNotPresent",
          name: "a",
          ports: [{containerPort: 80, hostPort: 8080, name: "http", protocol: "TCP"}, {containerPort: 81, protocol: "TCP"}],
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
          volumeMounts: [{mountPath: "/v", name: "v", readOnly: true}],
        },
        {
          image: "c:1",
          imagePullPolicy: "IfNotPresent",
          name: "c",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
        {
          image: "b:1",
          imagePullPolicy: "IfNotPresent",
          name: "b",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      dnsPolicy: "ClusterFirst",
      restartPolicy: "Always",
      schedulerName: "default-scheduler",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      volumes: [{emptyDir: {}, name: "v"}],
    }
  `);
});

test("$patch: delete removes an element of a merged list, $patch: replace all others", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ containers: [container("a"), container("b"), container("c")] }));
  const patch = async (containers: readonly object[]): Promise<string[]> => {
    const { body } = await api.patch("strategic", `${apps}/deployments/web`, { spec: { template: { spec: { containers } } } });
    return body.spec.template.spec.containers.map(({ name }: { name: string }) => name);
  };

  expect(await patch([{ name: "b", $patch: "delete" }])).toEqual(["a", "c"]);
  expect(await patch([{ name: "nobody", $patch: "delete" }])).toEqual(["a", "c"]);
  expect(await patch([{ $patch: "replace" }, container("d")])).toEqual(["d"]);
});

test("$patch: replace replaces an object, $patch: delete empties it", async ({ api, apps }) => {
  await api.create(
    `${apps}/deployments`,
    template({ nodeSelector: { a: "1" }, securityContext: { runAsUser: 5 }, containers: [container("a")] }),
  );
  const replaced = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { template: { spec: { nodeSelector: { $patch: "replace", b: "2" }, securityContext: { $patch: "delete" } } } },
  });

  expect(replaced.body.spec.template.spec.nodeSelector).toEqual({ b: "2" });
  expect(replaced.body.spec.template.spec.securityContext).toEqual({});
});

test("$retainKeys keeps only the named keys, as a change of the strategy needs", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ volumes: [{ name: "v", emptyDir: {} }], containers: [container("a")] }));
  const strategy = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } },
  });
  const volume = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { template: { spec: { volumes: [{ $retainKeys: ["name", "hostPath"], name: "v", hostPath: { path: "/v" } }] } } },
  });

  expect(strategy.body.spec.strategy).toEqual({ type: "Recreate" });
  expect(volume.body.spec.template.spec.volumes).toEqual([{ name: "v", hostPath: { path: "/v", type: "" } }]);
});

test("without $retainKeys a volume gets two sources and is refused", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ volumes: [{ name: "v", emptyDir: {} }], containers: [container("a")] }));

  expect(
    await api.patch("strategic", `${apps}/deployments/web`, {
      spec: { template: { spec: { volumes: [{ name: "v", secret: { secretName: "s" } }] } } },
    }),
  ).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.template.spec.volumes[0].secret",
            message: "Forbidden: may not specify more than 1 volume type",
            reason: "FieldValueForbidden",
          },
        ],
        group: "apps",
        kind: "Deployment",
        name: "web",
      },
      message: 'Deployment.apps "web" is invalid: spec.template.spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type',
      reason: "Invalid",
    }
  `);
});

test("$setElementOrder sorts a merged list", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ containers: [container("a"), container("b")] }));
  const { body } = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: {
      template: { spec: { "$setElementOrder/containers": [{ name: "c" }, { name: "b" }, { name: "a" }], containers: [container("c")] } },
    },
  });

  expect(body.spec.template.spec.containers.map(({ name }: { name: string }) => name)).toEqual(["c", "b", "a"]);
});

test("finalizers are a set: merged, $deleteFromPrimitiveList and $setElementOrder work on it", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, { metadata: { name: "a", finalizers: ["example.com/a", "example.com/b"] } });
  const patch = async (metadata: object): Promise<string[]> =>
    (await api.patch("strategic", `${core}/configmaps/a`, { metadata })).body.metadata.finalizers;

  expect(await patch({ finalizers: ["example.com/c", "example.com/a"] })).toMatchInlineSnapshot(
    `["example.com/c", "example.com/a", "example.com/b"]`,
  );
  expect(await patch({ "$deleteFromPrimitiveList/finalizers": ["example.com/b"] })).toMatchInlineSnapshot(
    `["example.com/c", "example.com/a"]`,
  );
  expect(
    await patch({ "$setElementOrder/finalizers": ["example.com/d", "example.com/c", "example.com/a"], finalizers: ["example.com/d"] }),
  ).toMatchInlineSnapshot(`["example.com/d", "example.com/c", "example.com/a"]`);
  await api.patch("merge", `${core}/configmaps/a`, { metadata: { finalizers: null } });
});

test("lists without a merge key, such as command, are replaced", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ containers: [container("a", { command: ["x", "y"] })], tolerations: [{ key: "a" }] }));
  const { body } = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { template: { spec: { containers: [{ name: "a", command: ["z"] }], tolerations: [{ key: "b" }] } } },
  });

  expect(body.spec.template.spec.containers[0].command).toEqual(["z"]);
  expect(body.spec.template.spec.tolerations).toEqual([{ key: "b" }]);
});

test("null removes a field, also within an element of a list", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ nodeSelector: { a: "1", b: "2" }, containers: [container("a", { command: ["x"] })] }));
  const { body } = await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { template: { spec: { nodeSelector: { a: null }, containers: [{ name: "a", command: null }] } } },
  });

  expect(body.spec.template.spec.nodeSelector).toEqual({ b: "2" });
  expect(body.spec.template.spec.containers[0].command).toBeUndefined();
});

test("pod conditions are merged by type, container statuses replaced", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  await api.patch("strategic", `${core}/pods/web/status`, {
    status: {
      conditions: [
        { type: "Ready", status: "False" },
        { type: "Initialized", status: "True" },
      ],
      containerStatuses: [
        { name: "main", image: "main:1", imageID: "", ready: false, restartCount: 0, state: { waiting: { reason: "Slow" } } },
      ],
      podIPs: [{ ip: "192.168.1.1" }],
    },
  });
  const { body } = await api.patch("strategic", `${core}/pods/web/status`, {
    status: {
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
      containerStatuses: [{ name: "main", image: "main:1", imageID: "", ready: true, restartCount: 1, state: { running: {} } }],
      podIPs: [{ ip: "192.168.1.2" }],
    },
  });

  expect(body.status).toMatchInlineSnapshot(`
    {
      conditions: [
        {lastProbeTime: null, lastTransitionTime: "TIME", status: "True", type: "Ready"},
        {lastProbeTime: null, lastTransitionTime: null, status: "True", type: "Initialized"},
      ],
      containerStatuses: [{image: "main:1", imageID: "", lastState: {}, name: "main", ready: true, restartCount: 1, state: {running: {startedAt: null}}}],
      phase: "Pending",
      podIP: "192.168.1.1",
      podIPs: [{ip: "192.168.1.1"}],
      qosClass: "BestEffort",
    }
  `);
});

test("node addresses and conditions are merged by type, taints replaced, images replaced", async ({ api, namespace }) => {
  const nodes = "/api/v1/nodes";
  await api.create(nodes, {
    metadata: { name: namespace, labels: { a: "b" } },
    spec: { unschedulable: true, taints: [{ key: "a", effect: "NoSchedule" }] },
  });
  try {
    await api.patch("strategic", `${nodes}/${namespace}/status`, {
      status: {
        addresses: [
          { type: "InternalIP", address: "192.168.1.1" },
          { type: "Hostname", address: "h" },
        ],
        conditions: [{ type: "Ready", status: "True" }],
        images: [{ names: ["a"] }, { names: ["b"] }],
      },
    });
    const { body } = await api.patch("strategic", `${nodes}/${namespace}/status`, {
      status: {
        addresses: [{ type: "InternalIP", address: "192.168.1.2" }],
        conditions: [{ type: "DiskPressure", status: "False" }],
        images: [{ names: ["c"] }],
      },
    });

    expect(body.status.addresses).toEqual([
      { type: "InternalIP", address: "192.168.1.2" },
      { type: "Hostname", address: "h" },
    ]);
    expect(body.status.conditions.map(({ type }: { type: string }) => type).toSorted()).toEqual(["DiskPressure", "Ready"]);
    expect(body.status.images).toEqual([{ names: ["c"] }]);
  } finally {
    await api.delete(`${nodes}/${namespace}`);
  }
});

test("node addresses that replace others are grouped by type, their merge key; the first ones keep their order", async ({
  api,
  namespace,
}) => {
  const node = `/api/v1/nodes/${namespace}`;
  const [internal, external, second] = [
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "ExternalIP", address: "192.0.2.1" },
    { type: "InternalIP", address: "fd00::1" },
  ];
  const patch = { status: { addresses: [{ $patch: "replace" }, internal, external, second] } };
  await api.create("/api/v1/nodes", { metadata: { name: namespace } });
  try {
    const first = await api.patch("strategic", `${node}/status`, patch);
    const again = await api.patch("strategic", `${node}/status`, patch);

    expect(first.body.status.addresses).toEqual([internal, external, second]);
    expect(again.body.status.addresses).toEqual([internal, second, external]);
  } finally {
    await api.delete(node);
  }
});

test("service ports are merged by port, owner references by uid, image pull secrets by name", async ({ api, core }) => {
  const owner = (uid: string, name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", name, uid });
  const root = (await api.get(`${core}/configmaps/kube-root-ca.crt`)).body;
  await api.create(`${core}/services`, {
    metadata: { name: "web", ownerReferences: [owner(root.metadata.uid, "kube-root-ca.crt")] },
    spec: {
      ports: [
        { name: "a", port: 80 },
        { name: "b", port: 81 },
      ],
    },
  });
  await api.create(`${core}/serviceaccounts`, { metadata: { name: "robot" }, imagePullSecrets: [{ name: "a" }] });
  const service = await api.patch("strategic", `${core}/services/web`, {
    metadata: { ownerReferences: [{ uid: root.metadata.uid, controller: true }] },
    spec: {
      ports: [
        { port: 81, targetPort: 8081 },
        { name: "c", port: 82 },
      ],
    },
  });
  const account = await api.patch("strategic", `${core}/serviceaccounts/robot`, { imagePullSecrets: [{ name: "b" }] });

  expect(service.body.spec.ports).toMatchInlineSnapshot(`
    [
      {name: "a", port: 80, protocol: "TCP", targetPort: 80},
      {name: "b", port: 81, protocol: "TCP", targetPort: 8081},
      {name: "c", port: 82, protocol: "TCP", targetPort: 82},
    ]
  `);
  expect(service.body.metadata.ownerReferences).toHaveLength(1);
  expect(service.body.metadata.ownerReferences[0].controller).toBe(true);
  expect(account.body.imagePullSecrets).toMatchInlineSnapshot(`[{name: "b"}]`);
});

test("an element without its merge key is refused", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ containers: [container("a")] }));

  expect(
    await api.patch("strategic", `${apps}/deployments/web`, { spec: { template: { spec: { containers: [{ image: "b" }] } } } }),
  ).toMatchInlineSnapshot(`500 Failure {message: "map: map[image:b] does not contain declared merge key: name"}`);
});

test("an unknown directive is refused", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, template({ containers: [container("a")] }));

  expect(await api.patch("strategic", `${apps}/deployments/web`, { spec: { $patch: "dance" } })).toMatchInlineSnapshot(
    `500 Failure {message: "unknown patch type: dance in map: map[$patch:dance]"}`,
  );
  expect(
    await api.patch("strategic", `${apps}/deployments/web`, {
      spec: { template: { spec: { containers: [{ name: "a", $patch: "dance" }] } } },
    }),
  ).toMatchInlineSnapshot(`500 Failure {message: "unknown patch type: dance in map: map[$patch:dance name:a]"}`);
});
