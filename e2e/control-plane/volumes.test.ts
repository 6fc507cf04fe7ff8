import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { isUnauthorized } from "@virtual-kubelet/errdefs";
import {
  createKubeClient,
  createHttpTransport,
  loadCredentials,
  noMetrics,
  Reflector,
  resource,
  resources,
  silentLogger,
  type ConfigMap,
  type KubeClient,
  type KubernetesObject,
  type Pod,
  type PodSpec,
} from "@virtual-kubelet/kube-client";
import { eventually, startControlPlane, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PayloadProvider } from "../support/payload-provider.ts";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { forgetNode, startNode, uniqueName, type TestNode } from "./support/test-node.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
const provider = new PayloadProvider();
/** The first test starts the node for all tests. */
let node: TestNode;

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "volumes");
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

/** Starts a node with exactly the rights of a kubelet: those of the Node authorizer, limited by NodeRestriction. */
async function startAsNode(access: ControlPlaneAccess, payloads: PayloadProvider): Promise<TestNode> {
  const name = uniqueName("volumes");
  return startNode({
    name,
    kubeconfig: access.kubeconfigFor(`system:node:${name}`, ["system:nodes"]),
    provider: { definition: payloads.definition, config: {} },
    node: { capacity: { cpu: "64", memory: "64Gi", pods: "200" } },
  });
}

/**
 * Requests for objects that pods refer to, as `verb resource/name`, that were forbidden and not granted later. The Node authorizer
 * learns of a pod from its own watch, which may be later than the node's on a busy machine.
 */
function forbidden(): string[] {
  const requests = nodeRequests().map((event) => ({
    what: `${event.verb} ${event.objectRef?.resource}/${event.objectRef?.name}`,
    code: event.responseStatus?.code,
  }));
  return requests
    .filter(({ what, code }) => code === 403 && /secrets|configmaps|serviceaccounts|persistentvolume/.test(what))
    .filter(({ what }, index, all) => all.findIndex((other) => other.what === what) === index)
    .filter(({ what }) => requests.findLast((request) => request.what === what)?.code === 403)
    .map(({ what }) => what);
}

function nodeRequests(): ReturnType<ControlPlaneAccess["auditEvents"]> {
  return controlPlane.auditEvents().filter(({ user }) => user.username === `system:node:${node.name}`);
}

async function createPod(
  name: string,
  spec: Partial<PodSpec> = {},
  on: { client: KubeClient; namespace: string; node: TestNode } = { client, namespace, node },
): Promise<Pod> {
  const pod: Pod = {
    metadata: { namespace: on.namespace, name, labels: { app: name } },
    spec: { nodeName: on.node.name, containers: [{ name: "main", image: "nginx" }], ...spec },
  };
  return on.client.create(resources.pods, pod, { signal });
}

function affinityTo(nodeName: string): object {
  const hostname = { key: "kubernetes.io/hostname", operator: "In", values: [nodeName] };
  return { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } };
}

async function untilRunning(name: string, on: { client: KubeClient; namespace: string } = { client, namespace }): Promise<void> {
  await eventually(
    async () => expect((await on.client.get(resources.pods, { namespace: on.namespace, name }, { signal })).status?.phase).toBe("Running"),
    { timeoutMs: 120_000 },
  );
}

async function putSecret(name: string, value: string): Promise<void> {
  await client.create(resources.secrets, { metadata: { namespace, name }, stringData: { key: value } }, { signal });
}

/** Files of the volume that admission adds to every pod, by name. */
function accessFiles(name: string): Map<string, string> {
  const { files } = provider.seen(name);
  return new Map(
    [...files].flatMap(([path, content]) => (path.startsWith("kube-api-access-") ? [[path.split("/")[1] ?? "", content]] : [])),
  );
}

/** A client with a pod's token. */
async function clientWith(token: string): Promise<OpenClient> {
  const credentials = await loadCredentials({ kubeconfig: controlPlane.kubeconfigWith({ token }).path, env: {}, clock: systemClock });
  const transport = createHttpTransport({ credentials });
  return { client: createKubeClient(transport), [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() };
}

async function whoAmI(as: KubeClient): Promise<{ username: string; extra: Record<string, string[]> }> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const answer = await as.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, { signal });
  return (answer as { status: { userInfo: { username: string; extra: Record<string, string[]> } } }).status.userInfo;
}

describe("as system:node:NAME under the Node authorizer", () => {
  afterEach(() => {
    expect(forbidden()).toEqual([]);
  });

  afterAll(async () => {
    await node.stop();
    await forgetNode(controlPlane, node.name);
  });

  test("a node starts", async () => {
    node = await startAsNode(controlPlane, provider);
  });

  test("a pod waits until its claim is bound, and receives the claim's volume", async () => {
    const name = `claimed-${namespace}`;
    const common = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
    await createPod("claims", {
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: "data", readOnly: true } },
        {
          name: "scratch",
          ephemeral: { volumeClaimTemplate: { spec: { ...common, resources: { requests: { storage: "1Mi" } }, volumeName: `${name}-2` } } },
        },
      ],
    });
    await eventually(async () => {
      const { items } = await client.list(resources.events, { namespace, fieldSelector: "involvedObject.name=claims" }, { signal });
      expect(items.map(({ reason, message }) => `${reason}: ${message}`)).toContainEqual(
        expect.stringMatching(/^FailedMount: .*failed to fetch PVC from API server: persistentvolumeclaims "data" not found$/),
      );
    });

    const capacity = { storage: "1Mi" };
    for (const [index, volume] of [
      { local: { path: "/mnt/1" }, nodeAffinity: affinityTo(node.name) },
      { hostPath: { path: "/mnt/2" } },
    ].entries())
      await client.create(
        resources.persistentVolumes,
        { metadata: { name: `${name}-${index + 1}` }, spec: { ...common, capacity, persistentVolumeReclaimPolicy: "Retain", ...volume } },
        { signal },
      );
    await client.create(
      resources.persistentVolumeClaims,
      { metadata: { namespace, name: "data" }, spec: { ...common, resources: { requests: capacity }, volumeName: `${name}-1` } },
      { signal },
    );
    await untilRunning("claims");

    expect(Object.fromEntries(provider.seen("claims").claimed)).toMatchObject({
      data: { name: `${name}-1`, source: { kind: "local", path: "/mnt/1" }, isReadOnly: true, claim: { namespace, name: "data" } },
      scratch: { name: `${name}-2`, source: { kind: "hostPath", path: "/mnt/2" }, isReadOnly: false, claim: { name: "claims-scratch" } },
    });
  });

  test("a pod receives its files and variables", async () => {
    await putSecret("keys", "s3cret-value");
    await client.create(
      resources.configMaps,
      { metadata: { namespace, name: "settings" }, data: { colour: "blue" }, binaryData: { raw: "AQ==" } },
      { signal },
    );

    await createPod("files", {
      containers: [{ name: "main", image: "nginx", env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } }] }],
      volumes: [
        { name: "secret", secret: { secretName: "keys", defaultMode: 0o400 } },
        { name: "config", configMap: { name: "settings", items: [{ key: "colour", path: "deep/colour" }] } },
        {
          name: "all",
          projected: {
            sources: [
              { configMap: { name: "settings" } },
              { secret: { name: "nope", optional: true } },
              { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
              { serviceAccountToken: { path: "vault", audience: "vault" } },
            ],
          },
        },
      ],
    });
    await untilRunning("files");

    const { env, files, modes } = provider.seen("files");
    expect(env["KEY"]).toBe("s3cret-value");
    expect(Object.fromEntries(files)).toMatchObject({
      "secret/key": "s3cret-value",
      "config/deep/colour": "blue",
      "all/colour": "blue",
      "all/raw": "\u0001",
      "all/labels": 'app="files"',
    });
    expect(JSON.parse(Buffer.from(files.get("all/vault")?.split(".")[1] ?? "", "base64url").toString())).toMatchObject({ aud: ["vault"] });
    expect(modes.get("secret/key")).toBe("400");
  });

  test("each object is read and watched only by its name", async () => {
    const reads = (): ReturnType<typeof nodeRequests> =>
      nodeRequests().filter(({ objectRef }) => objectRef?.resource === "secrets" || objectRef?.resource === "configmaps");

    // The watches start after the pod.
    await eventually(() => expect(new Set(reads().map(({ verb }) => verb))).toEqual(new Set(["get", "watch"])), { intervalMs: 500 });
    expect(reads().filter(({ objectRef }) => !objectRef?.name)).toEqual([]);
  });

  test("files change soon after their objects", async () => {
    const seen = provider.seen("files");
    const patch = (body: object, kind: typeof resources.secrets | typeof resources.configMaps, name: string): Promise<KubernetesObject> =>
      client.patch<KubernetesObject>(kind, { namespace, name }, { type: "merge", body }, { signal });

    await patch({ stringData: { key: "rotated-value" } }, resources.secrets, "keys");
    await patch({ data: { colour: "red" } }, resources.configMaps, "settings");
    await client.patch(
      resources.pods,
      { namespace, name: "files" },
      { type: "merge", body: { metadata: { labels: { app: "changed" } } } },
      { signal },
    );

    await eventually(
      () =>
        expect(Object.fromEntries(seen.files)).toMatchObject({
          "secret/key": "rotated-value",
          "config/deep/colour": "red",
          "all/colour": "red",
          "all/labels": 'app="changed"',
        }),
      { timeoutMs: 30_000 },
    );
  });

  test("a pod's token belongs to its service account, works, and becomes invalid with the pod's end", async () => {
    const { metadata } = await createPod("token");
    await untilRunning("token");
    const access = accessFiles("token");
    expect([...access.keys()].sort()).toEqual(["ca.crt", "namespace", "token"]);
    await using own = await clientWith(access.get("token") ?? "");

    expect(await whoAmI(own.client)).toMatchObject({
      username: `system:serviceaccount:${namespace}:default`,
      extra: {
        "authentication.kubernetes.io/pod-name": ["token"],
        "authentication.kubernetes.io/pod-uid": [metadata?.uid],
        "authentication.kubernetes.io/node-name": [node.name],
      },
    });

    await client.delete(resources.pods, { namespace, name: "token" }, { gracePeriodSeconds: 1 }, { signal });
    await eventually(async () => expect(await whoAmI(own.client).catch((error: unknown) => error)).toSatisfy(isUnauthorized), {
      timeoutMs: 60_000,
    });
  });

  test("a pod waits for a missing secret as with a kubelet, and starts when the secret is created", async () => {
    await createPod("waiting", { volumes: [{ name: "late", secret: { secretName: "late" } }] });
    await eventually(async () => {
      const { items } = await client.list(resources.events, { namespace, fieldSelector: "involvedObject.name=waiting" }, { signal });
      expect(items.map(({ reason, message }) => `${reason} ${message}`)).toContain(
        'FailedMount MountVolume.SetUp failed for volume "late" : secret "late" not found',
      );
    });
    await eventually(async () => {
      const { status } = await client.get(resources.pods, { namespace, name: "waiting" }, { signal });
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ContainerCreating");
    });

    await putSecret("late", "now");

    await untilRunning("waiting");
    expect(provider.seen("waiting").files.get("late/key")).toBe("now");
  });

  test("no request for fifty concurrent pods, each with its own secret, is forbidden permanently", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `many-${String(index)}`);
    await Promise.all(names.map((name) => putSecret(name, name)));

    await Promise.all(names.map((name) => createPod(name, { volumes: [{ name: "own", secret: { secretName: name } }] })));

    await Promise.all(names.map((name) => untilRunning(name)));
    expect(names.map((name) => provider.seen(name).files.get("own/key"))).toEqual(names);
  });

  test("no request and no log record of the node contains a secret or a token", () => {
    const { files } = provider.seen("files");
    const sent = JSON.stringify(nodeRequests());
    const logged = node.log.lines.join("\n");

    expect(sent).toContain('"patch"');
    for (const secret of ["s3cret-value", "rotated-value", files.get("all/vault"), accessFiles("files").get("token")]) {
      expect(secret).toBeTruthy();
      expect(sent).not.toContain(secret);
      expect(sent).not.toContain(Buffer.from(secret ?? "").toString("base64"));
      expect(logged).not.toContain(secret);
    }
  });
});

test("many watches of single objects share a few connections, and each receives its changes", async () => {
  const names = Array.from({ length: 150 }, (_, index) => `quiet-${String(index)}`);
  const put = (name: string, value: string): Promise<ConfigMap> =>
    value === "1"
      ? client.create(resources.configMaps, { metadata: { namespace, name }, data: { value } }, { signal })
      : client.patch(resources.configMaps, { namespace, name }, { type: "merge", body: { data: { value } } }, { signal });
  await Promise.all(names.map((name) => put(name, "1")));
  await using watching = await openClient(controlPlane.kubeconfig);
  const stop = new AbortController();
  const common = { client: watching.client, clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  const reflectors = names.map(
    (name) =>
      new Reflector<ConfigMap>({
        ...common,
        resource: resources.configMaps,
        query: { namespace, fieldSelector: `metadata.name=${name}` },
        pool: "quiet",
      }),
  );
  const connections = (): number =>
    process.getActiveResourcesInfo().filter((kind) => kind === "TLSSocketWrap" || kind === "TCPSocketWrap").length;
  const before = connections();

  const running = reflectors.map((reflector) => reflector.run(stop.signal));
  await Promise.all(reflectors.map(({ synced }) => synced));
  const opened = connections() - before;
  await Promise.all(names.map((name) => put(name, "2")));

  await eventually(
    () =>
      expect(names.map((name, index) => reflectors[index]?.store.getByName(namespace, name)?.data?.["value"])).toEqual(
        names.map(() => "2"),
      ),
    { timeoutMs: 120_000 },
  );
  // The client opens more connections to a slow server; each counts twice, for TLS and TCP.
  expect(opened).toBeLessThanOrEqual(20);
  stop.abort();
  await Promise.all(running);
});

test("trust bundles are projected and followed if the cluster has them", async () => {
  const bundles = resource<KubernetesObject & { spec: { signerName?: string; trustBundle: string } }>({
    group: "certificates.k8s.io",
    version: "v1beta1",
    plural: "clustertrustbundles",
    kind: "ClusterTrustBundle",
    namespaced: false,
  });
  const feature = "ClusterTrustBundle=true,ClusterTrustBundleProjection=true";
  await using own = await startControlPlane({
    components: [],
    flags: {
      "kube-apiserver": { "feature-gates": feature, "runtime-config": "certificates.k8s.io/v1beta1/clustertrustbundles=true" },
    },
  });
  await using admin = await openClient(own.kubeconfig);
  const authority = await admin.client.get(
    resources.configMaps,
    { namespace: "kube-system", name: "extension-apiserver-authentication" },
    { signal },
  );
  const certificate = authority.data?.["client-ca-file"] ?? "";
  const other = authority.data?.["requestheader-client-ca-file"] ?? "";
  await admin.client.create(bundles, { metadata: { name: "roots" }, spec: { trustBundle: certificate } }, { signal });
  const payloads = new PayloadProvider();
  await using ownNode = await startAsNode(own, payloads);
  const on = { client: admin.client, namespace: "default", node: ownNode };
  await createPod(
    "trusting",
    { volumes: [{ name: "trust", projected: { sources: [{ clusterTrustBundle: { name: "roots", path: "roots.pem" } }] } }] },
    on,
  );
  await untilRunning("trusting", on);
  const seen = payloads.seen("trusting");
  expect(seen.files.get("trust/roots.pem")).toBe(certificate);

  await admin.client.patch(bundles, { name: "roots" }, { type: "merge", body: { spec: { trustBundle: certificate + other } } }, { signal });

  await eventually(() => expect(seen.files.get("trust/roots.pem")?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2));
});
