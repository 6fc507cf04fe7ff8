import { randomBytes } from "node:crypto";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { budgetNamed, claimNamed, volumeNamed } from "./support/workload-objects.ts";

const volumesPath = "/api/v1/persistentvolumes";
const classesPath = "/apis/storage.k8s.io/v1/storageclasses";

/** Volumes and classes are cluster-scoped, so their names must be unique. */
const uniqueName = (): string => `parity-${randomBytes(4).toString("hex")}`;
/** The real controller retries every fifteen seconds. */
const patience = { timeoutMs: 50_000 };

test("a claim and a matching volume are bound to each other, and the volume is released when the claim is deleted", async ({
  api,
  core,
}) => {
  const name = uniqueName();
  const claims = `${core}/persistentvolumeclaims`;
  await api.create(volumesPath, volumeNamed(name));
  await api.create(claims, claimNamed("a", { storageClassName: `class-of-${name}` }));
  const claim = await eventually(async () => {
    const { body } = await api.get(`${claims}/a`);
    expect(body.status.phase).toBe("Bound");
    return body;
  }, patience);
  const volume = await eventually(async () => {
    const { body } = await api.get(`${volumesPath}/${name}`);
    expect(body.status.phase).toBe("Bound");
    return body;
  }, patience);

  expect(claim).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        annotations: {pv.kubernetes.io/bind-completed: "yes", pv.kubernetes.io/bound-by-controller: "yes"},
        creationTimestamp: "TIME",
        finalizers: ["kubernetes.io/pvc-protection"],
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: {requests: {storage: "1Gi"}},
        storageClassName: "class-of-NAMESPACE",
        volumeMode: "Filesystem",
        volumeName: "NAMESPACE",
      },
      status: {accessModes: ["ReadWriteOnce"], capacity: {storage: "2Gi"}, phase: "Bound"},
    }
  `);
  expect(volume).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: {
        annotations: {pv.kubernetes.io/bound-by-controller: "yes"},
        creationTimestamp: "TIME",
        finalizers: ["kubernetes.io/pv-protection"],
        name: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: {storage: "2Gi"},
        claimRef: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          name: "a",
          namespace: "NAMESPACE",
          resourceVersion: VERSION,
          uid: "UID",
        },
        hostPath: {path: "/data", type: ""},
        persistentVolumeReclaimPolicy: "Retain",
        storageClassName: "class-of-NAMESPACE",
        volumeMode: "Filesystem",
      },
      status: {lastPhaseTransitionTime: "TIME", phase: "Bound"},
    }
  `);

  await api.delete(`${volumesPath}/${name}`);
  expect((await api.get(`${volumesPath}/${name}`)).body.metadata.deletionTimestamp).toBeDefined();
  await api.delete(`${claims}/a`);
  await eventually(async () => {
    expect((await api.get(`${claims}/a`)).status).toBe(404);
    expect((await api.get(`${volumesPath}/${name}`)).status).toBe(404);
  }, patience);
});

test("a volume without a claim is available, and released after its claim", async ({ api, core }) => {
  const name = uniqueName();
  const claims = `${core}/persistentvolumeclaims`;
  await api.create(volumesPath, volumeNamed(name));
  const phase = async (wanted: string): Promise<void> => {
    await eventually(async () => expect((await api.get(`${volumesPath}/${name}`)).body.status.phase).toBe(wanted), patience);
  };
  await phase("Available");
  await api.create(claims, claimNamed("a", { volumeName: name, storageClassName: `class-of-${name}` }));
  await phase("Bound");
  const claim = await eventually(async () => {
    const { body } = await api.get(`${claims}/a`);
    expect(body.status.phase).toBe("Bound");
    return body;
  }, patience);
  expect(claim.metadata.annotations).toMatchInlineSnapshot(`{pv.kubernetes.io/bind-completed: "yes"}`);
  await api.delete(`${claims}/a`);
  await phase("Released");
  await api.delete(`${volumesPath}/${name}`);
});

test("claims without a class get the default class that exists when they are created", async ({ api, core }) => {
  const { body } = await api.post(`${core}/persistentvolumeclaims`, claimNamed("a", { storageClassName: undefined }));
  expect(body.spec.storageClassName).toBeUndefined();
});

test("claims of a class with WaitForFirstConsumer wait for a pod", async ({ api, core }) => {
  const name = uniqueName();
  await api.create(classesPath, {
    metadata: { name },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
  });
  const waiting = ["Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding"];
  const eventsOf = async (claim: string): Promise<unknown[]> => {
    const { items } = (await api.get(`${core}/events?fieldSelector=involvedObject.name=${claim}`)).body;
    return items.map(({ reason, message, type }: Record<string, string>) => [type, reason, message]);
  };
  // When the first claim is pending, the controller has seen the class; when the volume is Available, it has seen the volume.
  await api.create(`${core}/persistentvolumeclaims`, claimNamed("first", { storageClassName: name }));
  await eventually(async () => expect(await eventsOf("first")).toContainEqual(waiting), patience);
  await api.create(volumesPath, volumeNamed(name, { storageClassName: name }));
  await eventually(async () => expect((await api.get(`${volumesPath}/${name}`)).body.status.phase).toBe("Available"), patience);
  await api.create(`${core}/persistentvolumeclaims`, claimNamed("a", { storageClassName: name }));

  await eventually(async () => expect(await eventsOf("a")).toEqual([waiting]), patience);
  expect((await api.get(`${core}/persistentvolumeclaims/a`)).body.status).toEqual({ phase: "Pending" });
  await api.delete(`${volumesPath}/${name}`);
  await api.delete(`${classesPath}/${name}`);
});

test("a pod with missing claims is not scheduled", async ({ api, core }) => {
  const claimed = (name: string, claimName: string): unknown =>
    podNamed(name, { schedulerName: "default-scheduler", volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] });
  const node = uniqueName();
  await api.create("/api/v1/nodes", { metadata: { name: node }, spec: { unschedulable: true } });
  await api.create(`${core}/persistentvolumeclaims`, claimNamed("unbound"));
  await api.create(`${core}/pods`, claimed("a", "none"));
  await api.create(`${core}/pods`, claimed("b", "unbound"));
  // The real scheduler may see a pod before the claim or the node, and then retries.
  const toldOf = async (name: string, message: RegExp): Promise<void> =>
    await eventually(
      async () => expect((await api.get(`${core}/pods/${name}`)).body.status.conditions?.[0]?.message).toMatch(message),
      patience,
    );

  await toldOf("a", /^0\/\d+ nodes are available: persistentvolumeclaim "none" not found\./);
  await toldOf("b", /^0\/\d+ nodes are available: pod has unbound immediate PersistentVolumeClaims\./);
  await api.delete(`/api/v1/nodes/${node}`);
});

test("a budget counts its pods, and refuses evictions that would violate it", async ({ api, core }) => {
  const budgets = `${core.replace("/api/v1/", "/apis/policy/v1/")}/poddisruptionbudgets`;
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, "");
  for (const name of ["a", "b"]) {
    await api.create(`${core}/pods`, podNamed(name, { nodeName: "parity-nowhere" }, { labels: { app: "web" } }));
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime }] };
    await api.patch("merge", `${core}/pods/${name}/status`, { status });
  }
  await api.create(budgets, budgetNamed("a", { minAvailable: 1 }));
  const statusOf = async (allowed: number): Promise<unknown> =>
    await eventually(async () => {
      const { status } = (await api.get(`${budgets}/a`)).body;
      expect(status).toMatchObject({ disruptionsAllowed: allowed, observedGeneration: 1 });
      return status;
    }, patience);
  const evict = (name: string): Promise<unknown> =>
    api.post(`${core}/pods/${name}/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } });

  expect(await statusOf(1)).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastTransitionTime: "TIME",
          message: "",
          observedGeneration: 1,
          reason: "SufficientPods",
          status: "True",
          type: "DisruptionAllowed",
        },
      ],
      currentHealthy: 2,
      desiredHealthy: 1,
      disruptionsAllowed: 1,
      expectedPods: 2,
      observedGeneration: 1,
    }
  `);
  expect(await evict("a")).toMatchObject({ status: 201 });
  await eventually(
    async () => expect((await api.get(`${budgets}/a`)).body.status).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 }),
    patience,
  );
  expect(await evict("b")).toMatchInlineSnapshot(`
    429 Failure {
      details: {causes: [{message: "The disruption budget a needs 1 healthy pods and has 1 currently", reason: "DisruptionBudget"}]},
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      reason: "TooManyRequests",
    }
  `);

  await api.create(budgets, budgetNamed("b", { maxUnavailable: 0 }));
  expect(await evict("b")).toMatchInlineSnapshot(
    `500 Failure {message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}`,
  );
  // There is no kubelet to finish the deletion.
  await api.delete(`${core}/pods/a`, { gracePeriodSeconds: 0 });
  await api.delete(`${core}/pods/b`, { gracePeriodSeconds: 0 });
});
