import { randomBytes } from "node:crypto";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { perServer, test } from "./support/parity-test.ts";
import { claimNamed, daemonSetNamed, statefulSetNamed } from "./support/workload-objects.ts";

interface Place {
  readonly api: Api;
  readonly core: string;
  readonly apps: string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind
async function items(api: Api, path: string): Promise<any[]> {
  return (await api.get(path)).body.items;
}

/** Makes pods ready as a node would, and terminates those that are being deleted, until the check passes. */
async function settle({ api, core }: Place, check: () => Promise<void>): Promise<void> {
  await eventually(
    async () => {
      for (const { metadata, status } of await items(api, `${core}/pods`)) {
        const path = `${core}/pods/${metadata.name}`;
        if (metadata.deletionTimestamp !== undefined) await api.delete(path, { gracePeriodSeconds: 0 });
        else if (status.phase !== "Running")
          await api.patch("merge", `${path}/status`, {
            status: {
              phase: "Running",
              conditions: [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString().replace(/\.\d+/, "") }],
            },
          });
      }
      await check();
    },
    { timeoutMs: 60_000, intervalMs: 200 },
  );
}

/**
 * Waits until the real controllers have the stored revisions in their cache, without which they take the next one for the first. The garbage
 * collector has the same cache, and deletes a later revision whose owner is missing.
 */
async function revisionsAreCached({ api, apps }: Place): Promise<void> {
  const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "none", uid: "00000000-0000-4000-8000-000000000000" };
  await api.create(`${apps}/controllerrevisions`, { metadata: { name: "probe", ownerReferences: [owner] }, data: {}, revision: 1 });
  await eventually(async () => expect((await api.get(`${apps}/controllerrevisions/probe`)).status).toBe(404), { timeoutMs: 60_000 });
}

/** Names of a DaemonSet's revisions contain a hash that differs between the servers. */
function withoutHash(value: unknown, hash: string): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(hash, "HASH"));
}

/** A DaemonSet for a node of its own that has no kubelet. */
async function onOwnNode(api: Api, work: (spec: object, podSpec: object) => Promise<void>): Promise<void> {
  const name = `parity-${randomBytes(4).toString("hex")}`;
  await api.create("/api/v1/nodes", { metadata: { name, labels: { "example.com/own": name } }, spec: { unschedulable: true } });
  try {
    await work({}, { nodeSelector: { "example.com/own": name }, tolerations: [{ operator: "Exists" }] });
  } finally {
    await api.delete(`/api/v1/nodes/${name}`);
  }
}

test("a DaemonSet has a pod on its node, and a revision of its template", async ({ api, core, apps }) => {
  await onOwnNode(api, async (spec, podSpec) => {
    await api.create(`${apps}/daemonsets`, daemonSetNamed("a", spec, podSpec));
    await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/daemonsets/a`)).body.status.numberAvailable).toBe(1));
    const [pod] = await items(api, `${core}/pods`);
    const [revision] = await items(api, `${apps}/controllerrevisions`);
    const hash = revision.metadata.labels["controller-revision-hash"];

    // In this order of keys: clients compare the bytes.
    expect([JSON.stringify(revision.data)]).toMatchInlineSnapshot(`
      [
        '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"automountServiceAccountToken":false,"containers":[{"image":"main:1","imagePullPolicy":"IfNotPresent","name":"main","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","nodeSelector":{"example.com/own":"NAMESPACE"},"restartPolicy":"Always","schedulerName":"nobody","securityContext":{},"terminationGracePeriodSeconds":30,"tolerations":[{"operator":"Exists"}]}}}}',
      ]
    `);
    expect((await api.get(`${apps}/daemonsets/a`)).body.status).toMatchInlineSnapshot(`
      {
        currentNumberScheduled: 1,
        desiredNumberScheduled: 1,
        numberAvailable: 1,
        numberMisscheduled: 0,
        numberReady: 1,
        observedGeneration: 1,
        updatedNumberScheduled: 1,
      }
    `);
    expect(withoutHash({ ...pod.metadata, name: "NAME" }, hash)).toMatchInlineSnapshot(`
      {
        creationTimestamp: "TIME",
        generateName: "a-",
        generation: 1,
        labels: {app: "web", controller-revision-hash: "HASH", pod-template-generation: "1"},
        name: "NAME",
        namespace: "NAMESPACE",
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            blockOwnerDeletion: true,
            controller: true,
            kind: "DaemonSet",
            name: "a",
            uid: "UID",
          },
        ],
        resourceVersion: VERSION,
        uid: "UID",
      }
    `);
    expect([pod.spec.affinity, pod.spec.tolerations]).toMatchInlineSnapshot(`
      [
        {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: "metadata.name", operator: "In", values: ["NAMESPACE"]}]}]},
          },
        },
        [
          {operator: "Exists"},
          {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists"},
          {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists"},
          {effect: "NoSchedule", key: "node.kubernetes.io/disk-pressure", operator: "Exists"},
          {effect: "NoSchedule", key: "node.kubernetes.io/memory-pressure", operator: "Exists"},
          {effect: "NoSchedule", key: "node.kubernetes.io/pid-pressure", operator: "Exists"},
          {effect: "NoSchedule", key: "node.kubernetes.io/unschedulable", operator: "Exists"},
        ],
      ]
    `);
    expect(withoutHash(revision, hash)).toMatchInlineSnapshot(`
      {
        data: {
          spec: {
            template: {
              $patch: "replace",
              metadata: {labels: {app: "web"}},
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
                nodeSelector: {example.com/own: "NAMESPACE"},
                restartPolicy: "Always",
                schedulerName: "nobody",
                securityContext: {},
                terminationGracePeriodSeconds: 30,
                tolerations: [{operator: "Exists"}],
              },
            },
          },
        },
        metadata: {
          annotations: {deprecated.daemonset.template.generation: "1"},
          creationTimestamp: "TIME",
          labels: {app: "web", controller-revision-hash: "HASH"},
          name: "a-HASH",
          namespace: "NAMESPACE",
          ownerReferences: [
            {
              apiVersion: "apps/v1",
              blockOwnerDeletion: true,
              controller: true,
              kind: "DaemonSet",
              name: "a",
              uid: "UID",
            },
          ],
          resourceVersion: VERSION,
          uid: "UID",
        },
        revision: 1,
      }
    `);
  });
});

test("a DaemonSet's pod is replaced when the template changes; the old revision stays", async ({ api, core, apps }) => {
  await onOwnNode(api, async (spec, podSpec) => {
    await api.create(`${apps}/daemonsets`, daemonSetNamed("a", spec, podSpec));
    await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/daemonsets/a`)).body.status.numberAvailable).toBe(1));
    await revisionsAreCached({ api, core, apps });
    await api.patch("strategic", `${apps}/daemonsets/a`, {
      spec: { template: { spec: { containers: [{ name: "main", image: "main:2" }] } } },
    });
    await settle({ api, core, apps }, async () => {
      expect((await items(api, `${core}/pods`)).map((pod) => pod.spec.containers[0].image)).toEqual(["main:2"]);
      expect((await api.get(`${apps}/daemonsets/a`)).body.status).toMatchObject({
        observedGeneration: 2,
        numberAvailable: 1,
        updatedNumberScheduled: 1,
      });
    });

    expect((await items(api, `${apps}/controllerrevisions`)).map(({ revision }) => revision).toSorted()).toEqual([1, 2]);
    const [pod] = await items(api, `${core}/pods`);
    expect(pod.metadata.labels["pod-template-generation"]).toBe("2");
  });
});

test("a DaemonSet without a matching node wants no pods", async ({ api, core, apps }) => {
  await api.create(`${apps}/daemonsets`, daemonSetNamed("a"));
  await settle({ api, core, apps }, async () => expect((await api.get(`${apps}/daemonsets/a`)).body.status.observedGeneration).toBe(1));

  expect((await api.get(`${apps}/daemonsets/a`)).body.status).toMatchInlineSnapshot(
    `{currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0, observedGeneration: 1}`,
  );
});

test("the hash of a DaemonSet's revision differs between the servers, that of a StatefulSet's does not", async ({ api, apps }) => {
  await api.create(`${apps}/daemonsets`, daemonSetNamed("a"));
  await api.create(`${apps}/statefulsets`, statefulSetNamed("b", { replicas: 0 }));
  const names = await eventually(async () => {
    const revisions = await items(api, `${apps}/controllerrevisions`);
    expect(revisions).toHaveLength(2);
    return revisions.map(({ metadata }) => metadata.name).toSorted();
  });
  expect(names).toEqual([
    perServer({ embedded: expect.stringMatching(/^a-[a-z0-9]{5,10}$/), "kube-apiserver": "a-5b9c67fcf6" }),
    "b-5d5777fcd",
  ]);
});

test("a StatefulSet's pods are created in order, with stable names", async ({ api, core, apps }) => {
  await api.create(`${apps}/statefulsets`, statefulSetNamed("a", { replicas: 2 }));
  await eventually(async () => expect(await items(api, `${core}/pods`)).toHaveLength(1));
  await settle({ api, core, apps }, async () => {
    const { status } = (await api.get(`${apps}/statefulsets/a`)).body;
    expect(status).toMatchObject({ availableReplicas: 2, currentReplicas: 2 });
  });
  const [pod] = await items(api, `${core}/pods`);

  expect((await api.get(`${apps}/statefulsets/a`)).body.status).toMatchInlineSnapshot(`
    {
      availableReplicas: 2,
      collisionCount: 0,
      currentReplicas: 2,
      currentRevision: "a-5d5777fcd",
      observedGeneration: 1,
      readyReplicas: 2,
      replicas: 2,
      updateRevision: "a-5d5777fcd",
      updatedReplicas: 2,
    }
  `);
  expect([pod.metadata, pod.spec.hostname, pod.spec.subdomain]).toMatchInlineSnapshot(`
    [
      {
        creationTimestamp: "TIME",
        generateName: "a-",
        generation: 1,
        labels: {
          app: "web",
          apps.kubernetes.io/pod-index: "0",
          controller-revision-hash: "a-5d5777fcd",
          statefulset.kubernetes.io/pod-name: "a-0",
        },
        name: "a-0",
        namespace: "NAMESPACE",
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            blockOwnerDeletion: true,
            controller: true,
            kind: "StatefulSet",
            name: "a",
            uid: "UID",
          },
        ],
        resourceVersion: VERSION,
        uid: "UID",
      },
      "a-0",
      "web",
    ]
  `);
  expect((await items(api, `${apps}/controllerrevisions`)).map(({ data, metadata, revision }) => [metadata, revision, data]))
    .toMatchInlineSnapshot(`
    [
      [
        {
          creationTimestamp: "TIME",
          labels: {app: "web", controller.kubernetes.io/hash: "5d5777fcd"},
          name: "a-5d5777fcd",
          namespace: "NAMESPACE",
          ownerReferences: [
            {
              apiVersion: "apps/v1",
              blockOwnerDeletion: true,
              controller: true,
              kind: "StatefulSet",
              name: "a",
              uid: "UID",
            },
          ],
          resourceVersion: VERSION,
          uid: "UID",
        },
        1,
        {
          spec: {
            template: {
              $patch: "replace",
              metadata: {labels: {app: "web"}},
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
        },
      ],
    ]
  `);
});

test("a StatefulSet is updated down to its partition", async ({ api, core, apps }) => {
  const path = `${apps}/statefulsets/a`;
  const images = async (): Promise<string[]> =>
    (await items(api, `${core}/pods`)).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0].image}`).toSorted();
  await api.create(
    `${apps}/statefulsets`,
    statefulSetNamed("a", {
      replicas: 2,
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } },
    }),
  );
  await settle({ api, core, apps }, async () => expect((await api.get(path)).body.status.currentReplicas).toBe(2));
  await revisionsAreCached({ api, core, apps });
  await api.patch("strategic", path, { spec: { template: { spec: { containers: [{ name: "main", image: "main:2" }] } } } });
  await settle({ api, core, apps }, async () => {
    expect(await images()).toEqual(["a-0 main:1", "a-1 main:2"]);
    expect((await api.get(path)).body.status).toMatchObject({ readyReplicas: 2, updatedReplicas: 1 });
  });
  expect((await api.get(path)).body.status).toMatchInlineSnapshot(`
    {
      availableReplicas: 2,
      collisionCount: 0,
      currentReplicas: 1,
      currentRevision: "a-5d5777fcd",
      observedGeneration: 2,
      readyReplicas: 2,
      replicas: 2,
      updateRevision: "a-58bcf67b99",
      updatedReplicas: 1,
    }
  `);

  await api.patch("merge", path, { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
  await settle({ api, core, apps }, async () => {
    expect(await images()).toEqual(["a-0 main:2", "a-1 main:2"]);
    const { status } = (await api.get(path)).body;
    expect(status.currentRevision).toBe(status.updateRevision);
  });
  expect((await api.get(path)).body.status).toMatchInlineSnapshot(`
    {
      availableReplicas: 2,
      collisionCount: 0,
      currentReplicas: 2,
      currentRevision: "a-58bcf67b99",
      observedGeneration: 3,
      readyReplicas: 2,
      replicas: 2,
      updateRevision: "a-58bcf67b99",
      updatedReplicas: 2,
    }
  `);
});

test("a StatefulSet gives each pod its claims, and keeps them", async ({ api, core, apps }) => {
  await api.create(`${apps}/statefulsets`, statefulSetNamed("a", { volumeClaimTemplates: [claimNamed("data")] }));
  await eventually(async () => expect(await items(api, `${core}/pods`)).toHaveLength(1));
  const [pod] = await items(api, `${core}/pods`);
  const [claim] = await items(api, `${core}/persistentvolumeclaims`);

  expect(pod.spec.volumes).toMatchInlineSnapshot(`[{name: "data", persistentVolumeClaim: {claimName: "data-a-0"}}]`);
  expect([claim.metadata, claim.spec]).toMatchInlineSnapshot(`
    [
      {
        creationTimestamp: "TIME",
        finalizers: ["kubernetes.io/pvc-protection"],
        labels: {app: "web"},
        name: "data-a-0",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      {accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Gi"}}, storageClassName: "none", volumeMode: "Filesystem"},
    ]
  `);
  await api.patch("merge", `${apps}/statefulsets/a/scale`, { spec: { replicas: 0 } });
  await settle({ api, core, apps }, async () => expect(await items(api, `${core}/pods`)).toEqual([]));
  expect(await items(api, `${core}/persistentvolumeclaims`)).toHaveLength(1);
});

test("a StatefulSet's claims are deleted with it if its policy says so", async ({ api, core, apps }) => {
  const persistentVolumeClaimRetentionPolicy = { whenDeleted: "Delete", whenScaled: "Retain" };
  await api.create(
    `${apps}/statefulsets`,
    statefulSetNamed("a", { volumeClaimTemplates: [claimNamed("data")], persistentVolumeClaimRetentionPolicy }),
  );
  const claim = await eventually(async () => {
    const [first] = await items(api, `${core}/persistentvolumeclaims`);
    expect(first.metadata.ownerReferences).toHaveLength(1);
    return first;
  });
  expect(claim.metadata.ownerReferences).toMatchInlineSnapshot(`
    [
      {
        apiVersion: "apps/v1",
        blockOwnerDeletion: true,
        controller: true,
        kind: "StatefulSet",
        name: "a",
        uid: "UID",
      },
    ]
  `);

  await api.delete(`${apps}/statefulsets/a`);
  await settle({ api, core, apps }, async () => expect(await items(api, `${core}/persistentvolumeclaims`)).toEqual([]));
});
