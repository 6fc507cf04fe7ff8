import type { DeepReadonly, KubernetesObject, PersistentVolumeClaim } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 180_000, intervalMs: 300 };
const ends = new AsyncDisposableStack();
const name = "claims";
const home = ends.use(Cluster.home(name));
const far = ends.use(Cluster.far(name));
let node: VirtualNode;

const ofNode = "-l virtual-kubelet.io/node=claims";

/** A class of home whose claims are claims of the far cluster. */
function storageClass(className: string, parameters?: object): object {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: className },
    provisioner: "kubernetes.virtual-kubelet.io",
    volumeBindingMode: "WaitForFirstConsumer",
    ...(parameters && { parameters }),
  };
}

function claim(claimName: string, storageClassName: string): object {
  const spec = { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: "16Mi" } } };
  return { metadata: { name: claimName }, spec };
}

const writes = "echo $HOSTNAME >> /data/journal; exec sleep 3600";

function podOf(pod: string, claimName: string): object {
  const container = {
    name: "main",
    image: "busybox:1.37",
    command: ["sh", "-c", writes],
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: pod },
    spec: {
      ...onNode(name),
      terminationGracePeriodSeconds: 1,
      containers: [container],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    },
  };
}

/** Waits for the lines that the pods of a claim have written: a pod is ready before its container has written its own. */
function journalIs(pod: string, lines: string): Promise<void> {
  return eventually(async () => expect(await home.say(["exec", pod, "--", "cat", "/data/journal"])).toBe(lines), patience);
}

const farClaims = (): Promise<readonly DeepReadonly<PersistentVolumeClaim>[]> =>
  far.list<PersistentVolumeClaim>(`get persistentvolumeclaims ${ofNode}`);

beforeAll(async () => {
  for (const cluster of [home, far]) ends.use(await cluster.createNamespace());
  // The far node's folders.
  await far.apply({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "far-folders" },
    provisioner: "virtual-kubelet.io/local-path",
    volumeBindingMode: "WaitForFirstConsumer",
  });
  await home.apply(
    storageClass("by-parameter", { storageClassName: "far-folders" }),
    storageClass("by-configuration"),
    storageClass("absent"),
  );
  ends.defer(async () => {
    await home.say("delete storageclass by-parameter by-configuration absent");
    await far.say("delete storageclass far-folders");
  });
  node = ends.use(
    await VirtualNode.start(name, {
      home: home.access,
      farKubeconfig: far.access.kubeconfig.path,
      providerConfig: {
        namespaces: { mode: "same" },
        claims: { storageClasses: { "by-configuration": "far-folders", absent: "no-such-class" } },
      },
    }),
  );
});

beforeEach(() => diagnoseFailure({ home, far, log: () => node.log }));
afterAll(() => ends.disposeAsync());

test("a StatefulSet's claims are claims of the far cluster; its data survives its pods, and a restart of the program", async () => {
  const template = podOf("db", "unused") as { spec: { volumes?: unknown } };
  delete template.spec.volumes;
  const spec = {
    serviceName: "db",
    replicas: 1,
    selector: { matchLabels: { app: "db" } },
    template: { metadata: { labels: { app: "db" } }, spec: template.spec },
    volumeClaimTemplates: [claim("data", "by-parameter")],
  };
  await home.apply({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db" }, spec });
  await home.say("rollout status statefulset/db --timeout=180s");

  expect(await farClaims()).toMatchObject([{ spec: { storageClassName: "far-folders" }, status: { phase: "Bound" } }]);
  expect(await home.json<PersistentVolumeClaim>("get pvc data-db-0")).toMatchObject({ status: { phase: "Bound" } });
  await node.killProgram();
  node.startProgram();
  await node.untilReady();
  await home.say("delete pod db-0");
  await home.say("rollout status statefulset/db --timeout=180s");

  await journalIs("db-0", "db-0\ndb-0\n");
  expect(await farClaims()).toHaveLength(1);
  await home.say("delete statefulset db --cascade=foreground --timeout=120s");
  expect(await farClaims()).toHaveLength(1);
  await home.say("delete pvc data-db-0 --timeout=120s");
  await eventually(async () => expect(await farClaims()).toEqual([]), patience);
  await eventually(async () => expect(await home.list("get persistentvolumes")).toEqual([]), patience);
});

test("a class in the configuration takes precedence, and a claim outlives the far pod that somebody deletes", async () => {
  await home.apply({ apiVersion: "v1", kind: "PersistentVolumeClaim", ...claim("kept", "by-configuration") }, podOf("first", "kept"));
  await home.say("wait pod/first --for=condition=Ready --timeout=180s");
  await far.say(`delete pods ${ofNode} --wait=false`);
  await eventually(async () => {
    expect(await home.json("get pod first")).toMatchObject({ status: { phase: "Failed" } });
  }, patience);

  await home.apply(podOf("second", "kept"));
  await home.say("wait pod/second --for=condition=Ready --timeout=180s");

  await journalIs("second", "first\nsecond\n");
  await home.say("delete pod first second --timeout=120s");
  await home.say("delete pvc kept --timeout=120s");
  await eventually(async () => expect(await farClaims()).toEqual([]), patience);
});

test("a far class that does not exist shows at the home pod, in the far scheduler's words", async () => {
  await home.apply({ apiVersion: "v1", kind: "PersistentVolumeClaim", ...claim("lost", "absent") }, podOf("waiting", "lost"));

  await eventually(async () => {
    const { status } = await home.json<KubernetesObject & { readonly status?: { readonly phase?: string; readonly message?: string } }>(
      "get pod waiting",
    );
    expect(status?.phase).toBe("Pending");
    expect(status?.message).toMatch(/unbound immediate PersistentVolumeClaims|no-such-class/);
  }, patience);

  await home.say("delete pod waiting --timeout=120s");
  await home.say("delete pvc lost --timeout=120s");
  await eventually(async () => expect(await farClaims()).toEqual([]), patience);
});
