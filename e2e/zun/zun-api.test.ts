import assert from "node:assert/strict";
import { podRef, type Pod, type PodRef, type PodUpdate } from "@virtual-kubelet/core";
import { isForbidden, isInvalidInput, isNotFound, isQuotaExceeded, isUnavailable } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openProvider, podOf, resolverOf, type OpenedProvider } from "./support.ts";
import { startRealZun, type RealZun } from "./zun-api/start-zun-api.ts";

// Zun's real API checks each request: token, version, schema, policy, quota, and its own requests to Neutron.

const { signal } = new AbortController();
let zun: RealZun;
let opened: OpenedProvider;

beforeAll(async () => {
  zun = await startRealZun();
  opened = await openProvider(zun.cloud.config);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await zun?.[Symbol.asyncDispose]();
});

async function create(pod: Pod, files: Readonly<Record<string, string>> = {}): Promise<PodRef> {
  await opened.provider.createPod(pod, resolverOf(pod, files), signal);
  return podRef(pod);
}

async function remove(ref: PodRef): Promise<void> {
  await opened.provider.deletePod(ref, { gracePeriodSeconds: 1 }, signal);
  await eventually(async () => {
    await assert.rejects(opened.provider.getPod(ref, signal), (error) => isNotFound(error));
  });
}

test("a container with all supported fields of a pod is accepted, runs, is inspected, and is deleted", async () => {
  const pod = podOf(
    {
      restartPolicy: "OnFailure",
      hostname: "web-0",
      containers: [
        {
          name: "main",
          image: "registry.example.com/library/nginx:1.29",
          command: ["sh", "-c"],
          args: ["exec nginx -g 'daemon off;'"],
          env: [{ name: "A", value: "two  words" }, { name: "EMPTY" }],
          workingDir: "/srv",
          stdin: true,
          tty: true,
          resources: { limits: { cpu: "50m", memory: "100Mi" } },
          volumeMounts: [
            { name: "settings", mountPath: "/etc/settings" },
            { name: "scratch", mountPath: "/var/scratch" },
          ],
        },
      ],
      volumes: [
        { name: "settings", configMap: { name: "settings" } },
        { name: "scratch", emptyDir: {} },
      ],
    },
    {
      "zun.virtual-kubelet.io/networks": "private",
      "zun.virtual-kubelet.io/fixed-ip": "10.88.0.77",
      "zun.virtual-kubelet.io/security-groups": "web",
      "zun.virtual-kubelet.io/availability-zone": "nova",
    },
  );
  const ref = await create(pod, { colour: "blue", "dir/shape": "round" });
  const { phase, podIP, containerStatuses = [] } = await opened.provider.getPodStatus(ref, signal);
  expect([phase, podIP, containerStatuses[0]?.ready]).toEqual(["Running", "10.88.0.5", true]);
  const { pods, complete } = await opened.provider.getPods(signal);
  expect([pods.map((each) => each.ref), complete]).toEqual([[ref], true]);

  const logs = await opened.provider.getContainerLogs?.(
    ref,
    "main",
    { follow: false, previous: false, timestamps: true, tailLines: 5 },
    signal,
  );
  let text = "";
  for await (const chunk of logs?.data ?? []) text += String(chunk);
  expect(text).toBe("2026-11-21T10:00:00.000000001Z hello\n");
  const summary = await opened.provider.getStatsSummary?.(signal);
  expect(summary?.pods[0]?.containers[0]).toMatchObject({ cpu: { usageCoreNanoSeconds: 5000 }, memory: { workingSetBytes: 1_572_864 } });

  await remove(ref);
});

test("a pod on a subnet gets its own port, which is removed with it, and a floating IP", async () => {
  const { neutron } = zun.cloud;
  const spec = { restartPolicy: "Never", containers: [{ name: "main", image: "nginx" }] } as const;
  const annotations = { "zun.virtual-kubelet.io/subnets": "private-subnet", "zun.virtual-kubelet.io/floating-ip": "true" };
  const updates: PodUpdate[] = [];
  await using own = await openProvider({ ...zun.cloud.config, securityGroups: ["web"] }, [], "zun-e2e-web");
  own.provider.notifyPods?.((update) => updates.push(update));
  const pod = podOf({ ...spec, containers: [...spec.containers] }, annotations);
  const ref = podRef(pod);
  await own.provider.createPod(pod, resolverOf(pod), signal);

  expect(neutron.tables["ports"]).toMatchObject([{ name: `vk-${ref.uid}`, security_groups: [expect.any(String)] }]);
  await eventually(() => {
    expect(neutron.tables["floatingips"]).toHaveLength(1);
    expect(own.events).toContain("FloatingIP");
  });
  await own.provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal);
  await eventually(() => {
    assert.deepEqual([neutron.tables["ports"], neutron.tables["floatingips"]], [[], []]);
    assert.ok(updates.some((update) => update.ref.uid === ref.uid && "gone" in update));
  });
});

test("a pod with several containers and init containers is accepted as a capsule, runs, and is deleted", async () => {
  const ref = await create(
    podOf({
      restartPolicy: "Always",
      initContainers: [{ name: "setup", image: "busybox", args: ["true"] }],
      containers: [
        {
          name: "web",
          image: "nginx",
          env: [{ name: "A", value: "1" }],
          resources: { requests: { cpu: "250m", memory: "64Mi" } },
          workingDir: "/srv",
        },
        { name: "side", image: "busybox", args: ["sleep", "inf"], stdin: true, tty: true },
      ],
    }),
  );
  const status = await opened.provider.getPodStatus(ref, signal);
  expect([status.phase, status.containerStatuses?.map(({ name }) => name)]).toEqual(["Pending", ["web", "side"]]);
  expect(status.conditions).toMatchObject([{ type: "ContainerStatusRefreshed", status: "False" }]);
  await assert.rejects(
    async () => opened.provider.getContainerLogs?.(ref, "web", { follow: false, previous: false, timestamps: false }, signal),
    /gives no access to the containers of a capsule/,
  );
  await remove(ref);
});

test("containers and capsules can have Cinder volumes, both existing ones and ones created for the pod", async () => {
  const { cinder } = zun.cloud;
  const [there] = cinder.volumes;
  const mounted = {
    name: "main",
    image: "nginx",
    volumeMounts: [
      { name: "d", mountPath: "/data" },
      { name: "n", mountPath: "/new" },
    ],
  };
  const volumes = [
    { name: "d", cinder: { volumeID: there?.id ?? "" } },
    { name: "n", ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: "1500Mi" } } } } } },
  ];
  for (const containers of [[mounted], [mounted, { name: "side", image: "busybox" }]]) {
    const before = cinder.volumes.length;
    const ref = await create(podOf({ containers, volumes }));
    expect(cinder.volumes.slice(before).map(({ size }) => Number(size))).toEqual([2]);
    await remove(ref);
  }
});

test("a command is accepted; if the websocket proxy cannot be reached, the error has its address but not the token", async () => {
  const ref = await create(podOf({ containers: [{ name: "main", image: "nginx" }] }));
  const io = { stdin: undefined, stdout: new PassThrough(), stderr: new PassThrough(), tty: false, resizes: none() };
  const error: unknown = await opened.provider
    .runInContainer?.(ref, "main", ["sh", "-c", "echo 'a  b' $HOME"], io, signal)
    .catch((caught: unknown) => caught);
  expect(isUnavailable(error)).toBe(true);
  expect(String(error)).toMatch(/websocket proxy at 127\.0\.0\.1:9\b/);
  expect(String(error)).not.toMatch(/token=/);
  await remove(ref);
});

test("a refusal by Zun becomes an error of the right kind with Zun's message", async () => {
  const policy = await openProvider({ ...zun.cloud.config, sendImagePullPolicy: true });
  const pod = podOf({ containers: [{ name: "main", image: "nginx", imagePullPolicy: "Always" }] });
  const forbidden: unknown = await policy.provider.createPod(pod, resolverOf(pod), signal).catch((caught: unknown) => caught);
  await policy[Symbol.asyncDispose]();
  expect([isForbidden(forbidden), String(forbidden)]).toEqual([true, expect.stringMatching(/image_pull_policy.*role does not allow/)]);

  const large = podOf({ containers: [{ name: "main", image: "nginx", resources: { limits: { memory: "64Gi" } } }] });
  const refused: unknown = await create(large).catch((caught: unknown) => caught);
  expect([isInvalidInput(refused), String(refused)]).toEqual([true, expect.stringMatching(/65536 is greater than the maximum of 8192/)]);

  const lost = podOf({ containers: [{ name: "main", image: "nginx" }] }, { "zun.virtual-kubelet.io/security-groups": "no-such-group" });
  const unknown: unknown = await create(lost).catch((caught: unknown) => caught);
  expect([isInvalidInput(unknown), String(unknown)]).toEqual([true, expect.stringMatching(/no-such-group not found/)]);
});

test("an exhausted quota of the project is reported as such", async () => {
  const pods: PodRef[] = [];
  let error: unknown;
  for (let count = 0; count < 10 && error === undefined; count++) {
    const pod = podOf({ containers: [{ name: "main", image: "nginx" }] });
    error = await create(pod).then(
      (ref) => void pods.push(ref),
      (caught: unknown) => caught,
    );
  }
  expect([isQuotaExceeded(error), String(error)]).toEqual([
    true,
    expect.stringMatching(/Quota exceeded for resources.*free some of the project's quota/),
  ]);
  expect((await opened.provider.configureNode?.(signal))?.capacity?.["pods"]).toBe("6");
  for (const ref of pods) await remove(ref);
});

test("a new token is requested when Zun no longer accepts the old one", async () => {
  await opened.provider.ping?.(signal);
  zun.cloud.keystone.tokens.clear();
  // keystonemiddleware caches tokens for a while, so the test issues a new one.
  await using fresh = await openProvider(zun.cloud.config);
  await fresh.provider.ping?.(signal);
  await opened.provider.ping?.(signal);
});

async function* none(): AsyncGenerator<never, void, undefined> {}
