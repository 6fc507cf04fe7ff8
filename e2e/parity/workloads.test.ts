import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { configMapNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

interface Workload {
  readonly api: Api;
  readonly core: string;
  readonly apps: string;
}

/** A Deployment whose pods fit no node; the test writes their status instead. */
function deployment(fields: object = {}, image = "main:1"): object {
  return {
    metadata: { name: "web", labels: { team: "x" }, annotations: { "example.com/a": "b" } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { schedulerName: "nobody", automountServiceAccountToken: false, containers: [{ name: "main", image }] },
      },
      ...fields,
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind
async function items(api: Api, path: string): Promise<any[]> {
  return (await api.get(path)).body.items;
}

/** Makes pods ready as a node would until the check passes. */
async function settle({ api, core }: Workload, check: () => Promise<void>): Promise<void> {
  await eventually(
    async () => {
      for (const { metadata, status } of await items(api, `${core}/pods`)) {
        if (metadata.deletionTimestamp !== undefined || status.phase === "Running") continue;
        await api.patch("merge", `${core}/pods/${metadata.name}/status`, {
          status: {
            phase: "Running",
            conditions: [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString().replace(/\.\d+/, "") }],
          },
        });
      }
      await check();
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
}

/** Names of ReplicaSets contain a hash that differs between the servers. */
function withoutHash(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value)
      .replace(/web-[a-z0-9]{6,10}\b/g, "web-HASH")
      .replace(/"pod-template-hash":"[a-z0-9]+"/g, '"pod-template-hash":"HASH"'),
  );
}

test("a Deployment makes a ReplicaSet, and that its pods", async ({ api, core, apps }) => {
  const created = await api.create(`${apps}/deployments`, deployment());
  await eventually(async () => expect(await items(api, `${core}/pods`)).toHaveLength(2));
  const [replicaSet] = await items(api, `${apps}/replicasets`);
  const [pod] = await items(api, `${core}/pods`);

  expect(replicaSet.metadata.ownerReferences[0].uid).toBe(created.metadata.uid);
  expect(replicaSet.metadata.name).toBe(`web-${replicaSet.metadata.labels["pod-template-hash"]}`);
  expect(withoutHash({ ...replicaSet, status: "STATUS" })).toMatchInlineSnapshot(`
    {
      metadata: {
        annotations: {
          deployment.kubernetes.io/desired-replicas: "2",
          deployment.kubernetes.io/max-replicas: "3",
          deployment.kubernetes.io/revision: "1",
          example.com/a: "b",
        },
        creationTimestamp: "TIME",
        generation: 1,
        labels: {app: "web", pod-template-hash: "HASH"},
        name: "web-HASH",
        namespace: "NAMESPACE",
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            blockOwnerDeletion: true,
            controller: true,
            kind: "Deployment",
            name: "web",
            uid: "UID",
          },
        ],
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        replicas: 2,
        selector: {matchLabels: {app: "web", pod-template-hash: "HASH"}},
        template: {
          metadata: {labels: {app: "web", pod-template-hash: "HASH"}},
          spec: {
            automountServiceAccountToken: false,
            containers: [
              {
                image: "main:1",
                imagePullPolicy: "IfNotPresent",
                name: "main",
                resources: {},
                terminationMessagePath: "/dev/termination-log",
                terminationMessagePolicy: "File",
              },
            ],
            dnsPolicy: "ClusterFirst",
            restartPolicy: "Always",
            schedulerName: "nobody",
            securityContext: {},
            terminationGracePeriodSeconds: 30,
          },
        },
      },
      status: "STATUS",
    }
  `);
  expect(pod.metadata.name).toMatch(new RegExp(`^${replicaSet.metadata.name}-[a-z0-9]{5}$`));
  expect(withoutHash({ ...pod.metadata, name: "NAME" })).toMatchInlineSnapshot(`
    {
      creationTimestamp: "TIME",
      generateName: "web-HASH-",
      generation: 1,
      labels: {app: "web", pod-template-hash: "HASH"},
      name: "NAME",
      namespace: "NAMESPACE",
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          blockOwnerDeletion: true,
          controller: true,
          kind: "ReplicaSet",
          name: "web-HASH",
          uid: "UID",
        },
      ],
      resourceVersion: VERSION,
      uid: "UID",
    }
  `);
});

test("while pods are not ready a Deployment says that it progresses, and is not available", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment());
  const status = await eventually(async () => {
    const { body } = await api.get(`${apps}/deployments/web`);
    expect(body.status).toMatchObject({ replicas: 2, updatedReplicas: 2, unavailableReplicas: 2 });
    expect(await items(api, `${core}/pods`)).toHaveLength(2);
    return body.status;
  });

  expect(withoutHash(status)).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastTransitionTime: "TIME",
          lastUpdateTime: "TIME",
          message: "Deployment does not have minimum availability.",
          reason: "MinimumReplicasUnavailable",
          status: "False",
          type: "Available",
        },
        {
          lastTransitionTime: "TIME",
          lastUpdateTime: "TIME",
          message: 'ReplicaSet "web-HASH" is progressing.',
          reason: "ReplicaSetUpdated",
          status: "True",
          type: "Progressing",
        },
      ],
      observedGeneration: 1,
      replicas: 2,
      terminatingReplicas: 0,
      unavailableReplicas: 2,
      updatedReplicas: 2,
    }
  `);
});

test("with all pods ready a Deployment is complete", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment());
  await settle({ api, core, apps }, async () => {
    const { status } = (await api.get(`${apps}/deployments/web`)).body;
    expect(status).toMatchObject({ availableReplicas: 2, observedGeneration: 1 });
    expect(status.conditions.find(({ type }: { type: string }) => type === "Progressing").reason).toBe("NewReplicaSetAvailable");
  });
  const { metadata, status } = (await api.get(`${apps}/deployments/web`)).body;
  const [replicaSet] = await items(api, `${apps}/replicasets`);

  expect(metadata.annotations).toMatchInlineSnapshot(`{deployment.kubernetes.io/revision: "1", example.com/a: "b"}`);
  expect(withoutHash(status)).toMatchInlineSnapshot(`
    {
      availableReplicas: 2,
      conditions: [
        {
          lastTransitionTime: "TIME",
          lastUpdateTime: "TIME",
          message: "Deployment has minimum availability.",
          reason: "MinimumReplicasAvailable",
          status: "True",
          type: "Available",
        },
        {
          lastTransitionTime: "TIME",
          lastUpdateTime: "TIME",
          message: 'ReplicaSet "web-HASH" has successfully progressed.',
          reason: "NewReplicaSetAvailable",
          status: "True",
          type: "Progressing",
        },
      ],
      observedGeneration: 1,
      readyReplicas: 2,
      replicas: 2,
      terminatingReplicas: 0,
      updatedReplicas: 2,
    }
  `);
  expect(replicaSet.status).toMatchInlineSnapshot(
    `{availableReplicas: 2, fullyLabeledReplicas: 2, observedGeneration: 1, readyReplicas: 2, replicas: 2, terminatingReplicas: 0}`,
  );
});

test("a new template is rolled out with a second ReplicaSet, and the first is kept, empty", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment());
  await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/deployments/web`)).body.status.availableReplicas).toBe(2));
  await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { template: { spec: { containers: [{ name: "main", image: "main:2" }] } } },
  });
  await settle({ api, core, apps }, async () => {
    const { status } = (await api.get(`${apps}/deployments/web`)).body;
    // The real controllers count a deleted pod as terminating until they have seen that it is gone.
    expect(status).toMatchObject({ observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2, terminatingReplicas: 0 });
    expect((await items(api, `${core}/pods`)).map(({ spec }) => spec.containers[0].image)).toEqual(["main:2", "main:2"]);
  });
  const { metadata, status } = (await api.get(`${apps}/deployments/web`)).body;
  const replicaSets = (await items(api, `${apps}/replicasets`)).toSorted((a, b) =>
    a.spec.template.spec.containers[0].image < b.spec.template.spec.containers[0].image ? -1 : 1,
  );

  expect(metadata.annotations["deployment.kubernetes.io/revision"]).toBe("2");
  expect(
    withoutHash({
      ...status,
      conditions: status.conditions.map(({ type, reason }: { type: string; reason: string }) => `${type} ${reason}`).toSorted(),
    }),
  ).toMatchInlineSnapshot(`
    {
      availableReplicas: 2,
      conditions: ["Available MinimumReplicasAvailable", "Progressing NewReplicaSetAvailable"],
      observedGeneration: 2,
      readyReplicas: 2,
      replicas: 2,
      terminatingReplicas: 0,
      updatedReplicas: 2,
    }
  `);
  expect(replicaSets.map(({ metadata, spec, status }) => withoutHash([metadata.annotations, spec.replicas, status])))
    .toMatchInlineSnapshot(`
    [
      [
        {
          deployment.kubernetes.io/desired-replicas: "2",
          deployment.kubernetes.io/max-replicas: "3",
          deployment.kubernetes.io/revision: "1",
          example.com/a: "b",
        },
        0,
        {observedGeneration: 3, replicas: 0, terminatingReplicas: 0},
      ],
      [
        {
          deployment.kubernetes.io/desired-replicas: "2",
          deployment.kubernetes.io/max-replicas: "3",
          deployment.kubernetes.io/revision: "2",
          example.com/a: "b",
        },
        2,
        {availableReplicas: 2, fullyLabeledReplicas: 2, observedGeneration: 2, readyReplicas: 2, replicas: 2, terminatingReplicas: 0},
      ],
    ]
  `);
});

test("a rollout back to an old template takes its ReplicaSet again, as the newest revision", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment({ replicas: 0 }));
  const image = async (to: string): Promise<void> => {
    const { body } = await api.patch("strategic", `${apps}/deployments/web`, {
      spec: { template: { spec: { containers: [{ name: "main", image: to }] } } },
    });
    await settle({ api, core, apps }, async () =>
      expect((await api.get(`${apps}/deployments/web`)).body.status.observedGeneration).toBe(body.metadata.generation),
    );
  };
  // Counted from what the controller has in its cache: a ReplicaSet that is not there yet would not count as a revision.
  await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/deployments/web`)).body.status.terminatingReplicas).toBe(0));
  await image("main:2");
  await image("main:1");

  await eventually(async () =>
    expect((await api.get(`${apps}/deployments/web`)).body.metadata.annotations["deployment.kubernetes.io/revision"]).toBe("3"),
  );
  const revisions = (await items(api, `${apps}/replicasets`)).map(({ metadata, spec }) => [
    spec.template.spec.containers[0].image,
    metadata.annotations["deployment.kubernetes.io/revision"],
    metadata.annotations["deployment.kubernetes.io/revision-history"],
  ]);
  expect(revisions.toSorted()).toMatchInlineSnapshot(`[["main:1", "3", "1"], ["main:2", "2", undefined]]`);
});

test("with strategy Recreate the old pods go before new ones come", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment({ replicas: 1, strategy: { type: "Recreate" } }));
  await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/deployments/web`)).body.status.availableReplicas).toBe(1));
  const [old] = await items(api, `${core}/pods`);
  await api.patch("merge", `${core}/pods/${old.metadata.name}`, { metadata: { finalizers: ["example.com/a"] } });
  await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { template: { spec: { containers: [{ name: "main", image: "main:2" }] } } },
  });

  await eventually(async () => expect((await api.get(`${core}/pods/${old.metadata.name}`)).body.metadata.deletionTimestamp).toBeDefined());
  expect((await items(api, `${core}/pods`)).map(({ spec }) => spec.containers[0].image)).toEqual(["main:1"]);
  await api.patch("merge", `${core}/pods/${old.metadata.name}`, { metadata: { finalizers: null } });
  await settle({ api, core, apps }, async () =>
    expect((await items(api, `${core}/pods`)).map(({ spec }) => spec.containers[0].image)).toEqual(["main:2"]),
  );
});

test("a paused Deployment rolls nothing out until it is resumed, but scales", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment({ replicas: 1 }));
  await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/deployments/web`)).body.status.availableReplicas).toBe(1));
  await api.patch("merge", `${apps}/deployments/web`, { spec: { paused: true } });
  await api.patch("strategic", `${apps}/deployments/web`, {
    spec: { replicas: 2, template: { spec: { containers: [{ name: "main", image: "main:2" }] } } },
  });
  await settle({ api, core, apps }, async () =>
    expect((await items(api, `${core}/pods`)).map(({ spec }) => spec.containers[0].image)).toEqual(["main:1", "main:1"]),
  );
  const { status } = (await api.get(`${apps}/deployments/web`)).body;
  expect(status.conditions.map(({ type, reason }: { type: string; reason: string }) => `${type} ${reason}`).toSorted()).toContain(
    "Progressing DeploymentPaused",
  );

  await api.patch("merge", `${apps}/deployments/web`, { spec: { paused: false } });
  await settle({ api, core, apps }, async () =>
    expect((await items(api, `${core}/pods`)).map(({ spec }) => spec.containers[0].image)).toEqual(["main:2", "main:2"]),
  );
});

test("a pod that is deleted or fails is replaced", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment({ replicas: 1 }));
  await eventually(async () => expect(await items(api, `${core}/pods`)).toHaveLength(1));
  const [first] = await items(api, `${core}/pods`);
  await api.delete(`${core}/pods/${first.metadata.name}`);
  const second = await eventually(async () => {
    const pods = await items(api, `${core}/pods`);
    expect(pods).toHaveLength(1);
    expect(pods[0].metadata.uid).not.toBe(first.metadata.uid);
    return pods[0];
  });
  await api.patch("merge", `${core}/pods/${second.metadata.name}/status`, { status: { phase: "Failed" } });

  await eventually(async () => {
    const alive = (await items(api, `${core}/pods`)).filter(({ status }) => status.phase !== "Failed");
    expect(alive).toHaveLength(1);
    expect(alive[0].metadata.uid).not.toBe(second.metadata.uid);
  });
});

test("scaling down deletes pods that are not ready first", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment({ replicas: 1 }));
  await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/deployments/web`)).body.status.availableReplicas).toBe(1));
  const [ready] = await items(api, `${core}/pods`);
  await api.patch("merge", `${apps}/deployments/web/scale`, { spec: { replicas: 3 } });
  await eventually(async () => expect(await items(api, `${core}/pods`)).toHaveLength(3));
  await api.patch("merge", `${apps}/deployments/web/scale`, { spec: { replicas: 1 } });

  await eventually(async () =>
    expect((await items(api, `${core}/pods`)).map(({ metadata }) => metadata.uid)).toEqual([ready.metadata.uid]),
  );
});

test("a deleted Deployment takes ReplicaSets and pods with it; orphaned they stay, without it", async ({ api, core, apps }) => {
  await api.create(`${apps}/deployments`, deployment({ replicas: 1 }));
  await eventually(async () => expect(await items(api, `${core}/pods`)).toHaveLength(1));
  await api.delete(`${apps}/deployments/web`, { propagationPolicy: "Orphan" });
  await eventually(
    async () => {
      expect((await api.get(`${apps}/deployments/web`)).status).toBe(404);
      const [replicaSet] = await items(api, `${apps}/replicasets`);
      expect(replicaSet.metadata.ownerReferences).toBeUndefined();
    },
    { timeoutMs: 60_000 },
  );
  expect(await items(api, `${core}/pods`)).toHaveLength(1);

  // Two real controllers share a cache. When one has answered a change, the other sees the ReplicaSet without its owner and makes no second one.
  const [orphan] = await items(api, `${apps}/replicasets`);
  const orphanPath = `${apps}/replicasets/${orphan.metadata.name}`;
  const { body: changed } = await api.patch("merge", orphanPath, { spec: { minReadySeconds: 1 } });
  await eventually(async () => expect((await api.get(orphanPath)).body.status.observedGeneration).toBe(changed.metadata.generation));

  // The next ReplicaSet adopts the pods that match its selector.
  const again = await api.create(`${apps}/deployments`, deployment({ replicas: 1 }));
  await eventually(async () =>
    expect((await items(api, `${apps}/replicasets`)).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid)).toEqual([
      again.metadata.uid,
    ]),
  );
  await api.delete(`${apps}/deployments/web`);
  await eventually(
    async () => {
      expect(await items(api, `${apps}/replicasets`)).toEqual([]);
      expect(await items(api, `${core}/pods`)).toEqual([]);
    },
    { timeoutMs: 60_000 },
  );
});

test("deleted in the foreground, an owner goes after what it owns", async ({ api, core }) => {
  const owner = await api.create(`${core}/configmaps`, configMapNamed("owner"));
  const { uid } = owner.metadata;
  await api.create(
    `${core}/configmaps`,
    configMapNamed(
      "owned",
      {},
      {
        finalizers: ["example.com/a"],
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: true }],
      },
    ),
  );
  await api.delete(`${core}/configmaps/owner`, { propagationPolicy: "Foreground" });
  await eventually(async () => expect((await api.get(`${core}/configmaps/owned`)).body.metadata.deletionTimestamp).toBeDefined(), {
    timeoutMs: 60_000,
  });

  expect((await api.get(`${core}/configmaps/owner`)).status).toBe(200);
  await api.patch("merge", `${core}/configmaps/owned`, { metadata: { finalizers: null } });
  await eventually(async () => expect((await api.get(`${core}/configmaps/owner`)).status).toBe(404), { timeoutMs: 60_000 });
});

test("what names an owner that is not there is collected", async ({ api, core }) => {
  await api.create(
    `${core}/configmaps`,
    configMapNamed(
      "orphan",
      {},
      { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "00000000-0000-4000-8000-000000000000" }] },
    ),
  );

  await eventually(async () => expect((await api.get(`${core}/configmaps/orphan`)).status).toBe(404), { timeoutMs: 60_000 });
});

test("a pod that fits on no node is told so in its condition PodScheduled and an event", async ({ api, core }) => {
  await api.create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: { nodeSelector: { "example.com/nowhere": "x" }, automountServiceAccountToken: false, containers: [{ name: "a", image: "a" }] },
  });
  const condition = await eventually(async () => {
    const { status } = (await api.get(`${core}/pods/web`)).body;
    expect(status.conditions).toHaveLength(1);
    return status.conditions[0];
  });

  expect({ ...condition, message: typeof condition.message }).toMatchInlineSnapshot(`
    {
      lastProbeTime: null,
      lastTransitionTime: "TIME",
      message: "string",
      observedGeneration: 1,
      reason: "Unschedulable",
      status: "False",
      type: "PodScheduled",
    }
  `);
  await eventually(async () =>
    expect((await items(api, `${core}/events`)).map(({ reason, type }) => [reason, type])).toContainEqual(["FailedScheduling", "Warning"]),
  );
});
