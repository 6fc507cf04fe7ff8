import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { PodSpec, ResolvedPod } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import type { ContainerSpec } from "../runtime/runtime-spec.ts";
import { FakeResolvedPod, payloadOf } from "../test-support/fake-resolved-pod.ts";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { VolumeManager } from "../volumes/volume-manager.ts";
import { plannedNodeDns, planSpecs, type PlannedSpecs } from "./planned-specs.ts";
import { createPodPreparation } from "./pod-preparation.ts";

const { signal } = new AbortController();
const owner = { clusterId: "c1", nodeName: "n1" };
const settings = { clusterDNS: ["10.96.0.10"], resolvConf: "", memoryBytes: 2 ** 33 };

const spec: Partial<PodSpec> = {
  subdomain: "db",
  hostAliases: [{ ip: "10.1.1.1", hostnames: ["a"] }],
  volumes: [
    { name: "work", emptyDir: {} },
    { name: "settings", configMap: { name: "settings" } },
    { name: "password", secret: { secretName: "password" } },
    { name: "tools", hostPath: { path: "/usr" } },
    { name: "model", image: { reference: "model:1" } },
  ],
  containers: [
    {
      name: "app",
      image: "app:1",
      command: ["run"],
      env: [{ name: "A", value: "1" }],
      resources: { requests: { memory: "1Gi" }, limits: { cpu: "500m", memory: "2Gi" } },
      terminationMessagePath: "/dev/termination-log",
      volumeMounts: [
        { name: "work", mountPath: "/work" },
        { name: "settings", mountPath: "/etc/settings" },
        { name: "password", mountPath: "/etc/password", readOnly: true },
        { name: "tools", mountPath: "/tools", readOnly: true },
        { name: "model", mountPath: "/model", subPath: "weights" },
      ],
    },
  ],
};

function plan(of: Partial<PodSpec>, resolved: ResolvedPod, root: string): Promise<PlannedSpecs> {
  return planSpecs(
    podWith(of),
    { resolved, owner, clusterDomain: "cluster.local", root, settings, memoryBytes: settings.memoryBytes },
    signal,
  );
}

test("a plan equals what a node prepares, apart from labels and the image's content", async () => {
  await using folder = await tempFolder();
  const resolved = new FakeResolvedPod();
  for (const name of ["settings", "password"]) resolved.set(name, payloadOf({ key: "value" }));
  const host = {
    clusterDomain: "cluster.local",
    logger: silentLogger,
    clock: new VirtualClock(),
    getSecret: () => Promise.reject(new Error("not asked for")),
    resolvePod: () => resolved,
    recordEvent: () => {},
  };
  await using volumes = new VolumeManager({
    ...host,
    root: folder.path,
    random: new SeededRandom(1),
    policy: { hostPaths: ["/usr"] },
    isMountSeen: false,
    evict: () => {},
  });
  const pod = podWith(spec);
  const rig = new PodRig(pod);
  const preparation = createPodPreparation({
    host,
    runtime: { inspectImage: () => Promise.reject(new Error("not asked for")) },
    volumes,
    settings,
  });
  const sandbox = await preparation.sandbox(rig.state, 0, signal);
  rig.send({ kind: "sandboxCreated", attempt: 0, sandboxId: "s1", ips: ["10.0.0.1"] });
  const containers: ContainerSpec[] = [];
  for (const desired of rig.state.desired.containers)
    containers.push(
      await preparation.container(
        { state: rig.state, desired, attempt: 0, imageId: desired.container.image ?? "", volumeImages: new Map([["model", "model:1"]]) },
        signal,
      ),
    );

  const planned = await plan(spec, resolved, folder.path);

  expect({ ...planned.sandbox, labels: {} }).toEqual(sandbox);
  expect(planned.containers.map((each) => ({ ...each.spec, labels: {} }))).toEqual(containers);
});

test("containers are listed in start order, with the labels that identify them", async () => {
  const init = { name: "init", image: "init:1" };
  const sidecar = { name: "proxy", image: "proxy:1", restartPolicy: "Always" };
  const { sandbox, containers } = await plan({ initContainers: [init, sidecar] }, new FakeResolvedPod(), "/pods");

  expect(containers.map(({ role, spec: { labels } }) => [role, labels["io.kubernetes.container.name"]])).toEqual([
    ["init", "init"],
    ["sidecar", "proxy"],
    ["main", "app"],
  ]);
  expect(sandbox.labels).toMatchObject({ "virtual-kubelet.io/cluster": "c1", "virtual-kubelet.io/node": "n1" });
});

test("values that only the node knows have placeholders", async () => {
  const { sandbox } = await plan({ dnsPolicy: "Default" }, new FakeResolvedPod(), "/pods");

  expect(sandbox.dns?.servers).toEqual([plannedNodeDns]);
});

test("a mount of a missing volume is refused as on a node", async () => {
  const containers = [{ name: "app", image: "app:1", volumeMounts: [{ name: "gone", mountPath: "/gone" }] }];

  await expect(plan({ containers }, new FakeResolvedPod(), "/pods")).rejects.toThrow(
    'cannot find volume "gone" to mount into container "app"',
  );
});
