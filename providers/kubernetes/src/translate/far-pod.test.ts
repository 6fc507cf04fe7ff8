import { isInvalidInput, isUnsupported } from "@virtual-kubelet/errdefs";
import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { podFileKey } from "../carry/carried.ts";
import { copyName, podSecretName } from "../identity/names.ts";
import { contextOf, homePod, tokenMount, tokenVolume } from "../test-support/translation.ts";
import { carriedBy, farPodOf, type FarPod } from "./far-pod.ts";
import type { TranslationFacts } from "./scope.ts";

const owner = { clusterId: "home", nodeName: "virtual" };
const noFacts: TranslationFacts = { claims: new Map() };

function translate(pod: Pod, config: object = {}, facts: TranslationFacts = noFacts): FarPod {
  return farPodOf(pod, facts, contextOf(config));
}

function specOf(spec: Partial<PodSpec>, config: object = {}, facts: TranslationFacts = noFacts): PodSpec {
  return translate(homePod(spec), config, facts).pod.spec ?? { containers: [] };
}

function farContainerOf(container: Partial<Container>, config: object = {}, facts?: TranslationFacts): Container | undefined {
  return specOf({ containers: [{ name: "main", image: "nginx:1", ...container }] }, config, facts).containers[0];
}

/** Name of the copy of an object in the namespace `shop`. */
function copy(kind: "ConfigMap" | "Secret", name: string): string {
  return copyName(owner, kind, { namespace: "shop", name });
}

function notesOf(pod: Pod, config: object = {}): string | undefined {
  return translate(pod, config).notes.at(0)?.message;
}

function refusal(spec: Partial<PodSpec>, config: object = {}): unknown {
  try {
    return translate(homePod(spec), config);
  } catch (error) {
    return error;
  }
}

test("a far pod of the home cluster is not sent on, so that a far cluster which is the home cluster makes no pods without end", () => {
  const { labels, annotations } = translate(homePod()).pod.metadata ?? {};
  const again = homePod({}, { labels, annotations });

  expect(() => translate(again)).toThrow(/^metadata\.labels\['virtual-kubelet\.io\/cluster'\]: the pod is itself the far pod/);
  const elsewhere = homePod({}, { labels: { ...labels, "virtual-kubelet.io/cluster": "other" }, annotations });
  expect(translate(elsewhere).pod.metadata?.labels).toMatchObject({ "virtual-kubelet.io/cluster": "home" });
});

test("a pod that has begun in the home cluster is not sent on when it comes back through other clusters", () => {
  const translateIn = (clusterId: string, home: Pod): Pod => {
    const context = contextOf();
    return farPodOf(home, { claims: new Map() }, { ...context, owner: { ...context.owner, clusterId } }).pod;
  };
  const arrived = ({ metadata }: Pod): Pod => homePod({}, { labels: metadata?.labels, annotations: metadata?.annotations });

  const inB = arrived(translateIn("a", homePod()));
  const inC = arrived(translateIn("b", inB));
  const inA = arrived(translateIn("c", inC));

  expect(() => translateIn("a", inA)).toThrow(
    /^metadata\.annotations\['virtual-kubelet\.io\/earlier-clusters'\]: the pod has begun in this/,
  );
  expect(() => translateIn("b", arrived(translateIn("c", inC)))).toThrow("the pod has begun in this cluster");
  expect(translateIn("d", inA).metadata?.annotations).toMatchObject({ "virtual-kubelet.io/earlier-clusters": '["a","b","c"]' });
  expect(translateIn("a", homePod()).metadata?.annotations).not.toHaveProperty("virtual-kubelet.io/earlier-clusters");
});

test("a damaged list of clusters names none", () => {
  const { labels, annotations } = translate(homePod()).pod.metadata ?? {};
  for (const damaged of ["{", "{}", "[1]"]) {
    const other = {
      labels: { ...labels, "virtual-kubelet.io/cluster": "other" },
      annotations: { ...annotations, "virtual-kubelet.io/cluster": "other", "virtual-kubelet.io/earlier-clusters": damaged },
    };
    expect(translate(homePod({}, other)).pod.metadata?.annotations).toMatchObject({ "virtual-kubelet.io/earlier-clusters": '["other"]' });
  }
});

describe("the name", () => {
  test("is that of the home pod with a hash, in the far namespace", () => {
    const { pod } = translate(homePod());

    expect(pod.metadata?.name).toMatch(/^web-[a-z0-9]{10}$/);
    expect(pod.metadata?.namespace).toBe("far");
  });

  test("is another for a pod that is created again under its name", () => {
    const again = homePod({}, { uid: "00000000-0000-4000-8000-000000000002" });

    expect(translate(again).pod.metadata?.name).not.toBe(translate(homePod()).pod.metadata?.name);
  });

  test("of the namespace may have a prefix", () => {
    expect(translate(homePod(), { namespaces: { mode: "prefix", prefix: "home-" } }).pod.metadata?.namespace).toBe("home-shop");
  });

  test("that is too long for a namespace is refused", () => {
    const pod = homePod({}, { namespace: "n".repeat(60) });

    expect(() => translate(pod, { namespaces: { mode: "prefix", prefix: "home-" } })).toThrow(expect.toSatisfy(isInvalidInput));
  });
});

describe("the hostname", () => {
  test.each([
    ["web-0", undefined, "web-0"],
    ["web-0", "db", "db"],
    ["web", "", "web"],
    ["web.v1.x", undefined, "web-v1-x"],
    [`${"w".repeat(62)}.com`, undefined, "w".repeat(62)],
  ])("of pod %s with hostname %s is %s", (name, hostname, expected) => {
    expect(translate(homePod({ hostname }, { name })).pod.spec?.hostname).toBe(expected);
  });

  test("without the dots of the name is told", () => {
    expect(notesOf(homePod({}, { name: "web.v1" }))).toBe(
      "metadata.name: the hostname is web-v1, without the name's dots; set spec.hostname for another",
    );
  });
});

describe("labels and annotations", () => {
  const pod = homePod(
    {},
    {
      labels: { app: "web", "app.kubernetes.io/name": "web", "topology.kubernetes.io/zone": "home-a", "virtual-kubelet.io/node": "fake" },
      annotations: {
        team: "a",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "kubernetes.io/config.mirror": "x",
        "virtual-kubelet.io/pod": "other/pod",
        "virtual-kubelet.io/home-controller": "Job/fake",
      },
      ownerReferences: [
        { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "1" },
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f", uid: "2", controller: true },
      ],
      finalizers: ["example.com/wait"],
    },
  );

  test("travel with our tags, which no pod can forge; the place of the home node stays", () => {
    expect(translate(pod).pod.metadata?.labels).toEqual({
      app: "web",
      "app.kubernetes.io/name": "web",
      "virtual-kubelet.io/cluster": "home",
      "virtual-kubelet.io/node": "virtual",
      "virtual-kubelet.io/pod-uid": pod.metadata?.uid,
      "virtual-kubelet.io/namespace": "shop",
    });
  });

  test("of kubectl and of a kubelet stay; the controller is named", () => {
    const { "virtual-kubelet.io/carried": record, ...annotations } = translate(pod).pod.metadata?.annotations ?? {};

    expect(annotations).toEqual({
      team: "a",
      "virtual-kubelet.io/cluster": "home",
      "virtual-kubelet.io/node": "virtual",
      "virtual-kubelet.io/pod": "shop/web",
      "virtual-kubelet.io/home-controller": "ReplicaSet/web-5d4f",
    });
    const hash = expect.stringMatching(/^[a-z0-9]{10}$/);
    expect(JSON.parse(record ?? "")).toEqual({
      labels: { app: hash, "app.kubernetes.io/name": hash, "virtual-kubelet.io/namespace": hash },
      annotations: { team: hash, "virtual-kubelet.io/home-controller": hash },
      images: { main: "nginx:1" },
      resources: {},
      tolerations: [],
    });
  });

  test("with a prefix stays a key when it is cut", () => {
    const pod = homePod({}, { labels: { [`${"a".repeat(61)}.b/c`]: "1" } });

    const { labels } = translate(pod, { carry: { labels: { prefix: "home.example.com/" } } }).pod.metadata ?? {};

    expect(labels).toMatchObject({ [`home.example.com/${"a".repeat(61)}.b`]: "1" });
    const cut = homePod({}, { labels: { [`${"a".repeat(62)}.b/c`]: "1" } });
    expect(translate(cut, { carry: { labels: { prefix: "home.example.com/" } } }).pod.metadata?.labels).toMatchObject({
      [`home.example.com/${"a".repeat(62)}`]: "1",
    });
  });

  test("may have a prefix, and may be excluded by pattern", () => {
    const config = { carry: { labels: { prefix: "home.example.com/", exclude: ["app"] }, annotations: { exclude: ["*"] } } };
    const { labels = {}, annotations = {} } = translate(pod, config).pod.metadata ?? {};

    expect(Object.keys(labels).filter((key) => !key.startsWith("virtual-kubelet.io/"))).toEqual([
      "home.example.com/app.kubernetes.io_name",
    ]);
    expect(Object.keys(annotations).filter((key) => !key.startsWith("virtual-kubelet.io/"))).toEqual([]);
  });

  test("finalizers, owners and times of home stay", () => {
    expect(Object.keys(translate(pod).pod.metadata ?? {}).sort()).toEqual(["annotations", "labels", "name", "namespace"]);
  });
});

describe("references to config maps and secrets", () => {
  const spec: Partial<PodSpec> = {
    imagePullSecrets: [{ name: "registry" }, {}],
    containers: [
      {
        name: "main",
        image: "nginx:1",
        envFrom: [{ prefix: "A_", configMapRef: { name: "env" } }, { secretRef: { name: "env", optional: true } }],
        env: [
          { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "env", key: "colour", optional: true } } },
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "database", key: "password" } } },
        ],
      },
    ],
    volumes: [
      { name: "conf", configMap: { name: "conf", defaultMode: 0o400, items: [{ key: "a", path: "b", mode: 0o440 }] } },
      { name: "tls", secret: { secretName: "tls", optional: true } },
      { name: "csi", csi: { driver: "csi.example.com", nodePublishSecretRef: { name: "csi" }, volumeAttributes: { a: "b" } } },
      { name: "azure", azureFile: { secretName: "azure", shareName: "s" } },
      { name: "disk", rbd: { monitors: ["m"], image: "i", secretRef: { name: "rbd" } } },
      { name: "both", projected: { sources: [{ configMap: { name: "conf" } }, { secret: { name: "tls" } }] } },
    ],
  };

  test("get the names of the copies, with everything else as it was", () => {
    const far = specOf(spec);

    expect(far.imagePullSecrets).toEqual([{ name: copy("Secret", "registry") }, {}]);
    expect(far.containers[0]?.envFrom).toEqual([
      { prefix: "A_", configMapRef: { name: copy("ConfigMap", "env") } },
      { secretRef: { name: copy("Secret", "env"), optional: true } },
    ]);
    expect(far.containers[0]?.env).toEqual([
      { name: "COLOUR", valueFrom: { configMapKeyRef: { name: copy("ConfigMap", "env"), key: "colour", optional: true } } },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: copy("Secret", "database"), key: "password" } } },
    ]);
    expect(far.volumes).toEqual([
      { name: "conf", configMap: { name: copy("ConfigMap", "conf"), defaultMode: 0o400, items: [{ key: "a", path: "b", mode: 0o440 }] } },
      { name: "tls", secret: { secretName: copy("Secret", "tls"), optional: true } },
      {
        name: "csi",
        csi: { driver: "csi.example.com", nodePublishSecretRef: { name: copy("Secret", "csi") }, volumeAttributes: { a: "b" } },
      },
      { name: "azure", azureFile: { secretName: copy("Secret", "azure"), shareName: "s" } },
      { name: "disk", rbd: { monitors: ["m"], image: "i", secretRef: { name: copy("Secret", "rbd") } } },
      {
        name: "both",
        projected: { sources: [{ configMap: { name: copy("ConfigMap", "conf") } }, { secret: { name: copy("Secret", "tls") } }] },
      },
    ]);
  });

  test("are listed once each, with their first field, as optional only if all fields are", () => {
    expect(
      translate(homePod(spec)).carried.references.map(({ kind, name, optional, fieldPath }) => [kind, name, optional, fieldPath]),
    ).toEqual([
      ["ConfigMap", "env", false, "spec.containers[0].env[0].valueFrom.configMapKeyRef.name"],
      ["Secret", "database", false, "spec.containers[0].env[1].valueFrom.secretKeyRef.name"],
      ["Secret", "env", true, "spec.containers[0].envFrom[1].secretRef.name"],
      ["Secret", "registry", true, "spec.imagePullSecrets[0].name"],
      ["ConfigMap", "conf", false, "spec.volumes[0].configMap.name"],
      ["Secret", "tls", false, "spec.volumes[1].secret.secretName"],
      ["Secret", "csi", false, "spec.volumes[2].csi.nodePublishSecretRef.name"],
      ["Secret", "azure", false, "spec.volumes[3].azureFile.secretName"],
      ["Secret", "rbd", false, "spec.volumes[4].rbd.secretRef.name"],
    ]);
  });

  test("of ephemeral containers are those of the containers that the far pod has; a new pod has none", () => {
    const debug = (name: string) => ({ name, image: "busybox", envFrom: [{ configMapRef: { name } }] });
    const pod = homePod({ ephemeralContainers: [debug("one"), debug("two")] });

    expect(translate(pod).carried.references).toEqual([]);
    expect(translate(pod).pod.spec).not.toHaveProperty("ephemeralContainers");
    expect(carriedBy(pod, contextOf(), new Set(["two"])).references).toMatchObject([
      { name: "two", fieldPath: "spec.ephemeralContainers[1].envFrom[0].configMapRef.name" },
    ]);
  });

  test("that the configuration excludes are refused: the first with a remedy, all with their paths", () => {
    const error = refusal(spec, { carry: { configMaps: ["other/*"], secrets: ["*"] } });

    expect(error).toSatisfy(isUnsupported);
    expect(error).toMatchObject({
      fieldPath: "spec.containers[0].env[0].valueFrom.configMapKeyRef.name",
      message:
        "spec.containers[0].env[0].valueFrom.configMapKeyRef.name: the config map shop/env stays in the home cluster; a pattern in carry.configMaps that matches it lets it travel; also spec.volumes[0].configMap.name",
    });
  });
});

describe("variables of the pod's own fields", () => {
  const field = (name: string, fieldPath: string): NonNullable<Container["env"]>[number] => ({
    name,
    valueFrom: { fieldRef: { apiVersion: "v1", fieldPath } },
  });
  const env = [
    field("NAME", "metadata.name"),
    field("NAMESPACE", "metadata.namespace"),
    field("UID", "metadata.uid"),
    field("NODE", "spec.nodeName"),
    field("ACCOUNT", "spec.serviceAccountName"),
    field("LABEL", "metadata.labels['app']"),
    field("ANNOTATION", "metadata.annotations['price']"),
    field("NONE", "metadata.labels['none']"),
  ];
  const pod = homePod(
    { serviceAccountName: "robot", containers: [{ name: "main", image: "nginx:1", env }] },
    { labels: { app: "web" }, annotations: { price: "$(NAME) $$ 5$" } },
  );
  const staysHome = { carry: { labels: { exclude: ["*"] }, annotations: { exclude: ["*"] } } };

  test("are those of the home pod, and a $ in them is expanded by no kubelet", () => {
    expect(translate(pod, staysHome).pod.spec?.containers[0]?.env).toEqual([
      { name: "NAME", value: "web" },
      { name: "NAMESPACE", value: "shop" },
      { name: "UID", value: pod.metadata?.uid },
      { name: "NODE", value: "virtual" },
      { name: "ACCOUNT", value: "robot" },
      { name: "LABEL", value: "web" },
      { name: "ANNOTATION", value: "$$(NAME) $$$$ 5$$" },
      { name: "NONE", value: "" },
    ]);
  });

  test("with carried labels and annotations refer to those of the far pod, which follow home's", () => {
    const variables = (config: object): unknown => translate(pod, config).pod.spec?.containers[0]?.env?.slice(5);

    expect(variables({})).toEqual(env.slice(5));
    expect(variables({ carry: { labels: { prefix: "home.example.com/" } } })).toEqual([
      field("LABEL", "metadata.labels['home.example.com/app']"),
      field("ANNOTATION", "metadata.annotations['price']"),
      field("NONE", "metadata.labels['home.example.com/none']"),
    ]);
  });

  test("with addresses, amounts of resources, files and texts stay as they are", () => {
    const native: Container["env"] = [
      field("IP", "status.podIP"),
      field("HOST", "status.hostIPs"),
      { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
      { name: "FILE", valueFrom: { fileKeyRef: { volumeName: "v", path: "a", key: "K" } } },
      { name: "URL", value: "http://$(IP)/$$x" },
    ];

    expect(farContainerOf({ env: native })?.env).toEqual(native);
  });
});

describe("variables of services", () => {
  const facts: TranslationFacts = {
    claims: new Map(),
    serviceVariables: [
      { name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" },
      { name: "DB_PORT", value: "tcp://10.0.0.1:5432" },
      { name: "COLOUR", value: "home" },
    ],
  };
  const env = [{ name: "COLOUR", value: "blue" }];

  test("are the far namespace's by default", () => {
    expect(specOf({ enableServiceLinks: true }, {}, facts).enableServiceLinks).toBe(true);
    expect(farContainerOf({ env }, {}, facts)?.env).toEqual(env);
  });

  test("may be those of home: first, so that others can refer to them, and never in the way of the container's own", () => {
    const config = { network: { serviceVariables: "home" } };

    expect(specOf({ enableServiceLinks: true }, config, facts).enableServiceLinks).toBe(false);
    expect(farContainerOf({ env }, config, facts)?.env).toEqual([
      { name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" },
      { name: "DB_PORT", value: "tcp://10.0.0.1:5432" },
      { name: "COLOUR", value: "blue" },
    ]);
  });
});

describe("the injected token", () => {
  const spec: Partial<PodSpec> = {
    volumes: [tokenVolume, { name: "work", emptyDir: {} }],
    containers: [{ name: "main", image: "nginx:1", volumeMounts: [{ name: "work", mountPath: "/work" }, tokenMount] }],
    initContainers: [{ name: "init", image: "nginx:1", volumeMounts: [tokenMount] }],
    serviceAccountName: "robot",
    serviceAccount: "robot",
  };
  const withoutToken = {
    volumes: [{ name: "work", emptyDir: {} }],
    containers: [{ volumeMounts: [{ name: "work", mountPath: "/work" }] }],
    initContainers: [{ name: "init", image: "nginx:1" }],
  };

  test("is not mounted by default, which is told if the service account is not the default one", () => {
    const { pod, carried, notes } = translate(homePod(spec));

    expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, ...withoutToken });
    expect(pod.spec).not.toHaveProperty("serviceAccountName");
    expect(pod.spec).not.toHaveProperty("serviceAccount");
    expect(carried).toEqual({ references: [], files: [] });
    expect(notes).toEqual([
      {
        reason: "NotCarried",
        message:
          "spec.serviceAccountName: the token of robot is not mounted; carry.serviceAccountToken: home mounts it, far mounts one of the far cluster",
      },
    ]);
    expect(translate(homePod({ ...spec, serviceAccountName: "default" })).notes).toEqual([]);
  });

  test("may be the far cluster's, for pods that have one at home", () => {
    const config = { carry: { serviceAccountToken: "far", farServiceAccount: "runner" } };

    expect(specOf(spec, config)).toMatchObject({ automountServiceAccountToken: true, serviceAccountName: "runner", ...withoutToken });
    expect(specOf({}, config).automountServiceAccountToken).toBe(false);
  });

  test("may be home's: a file of the pod's own secret, beside home's CA, with variables that lead to home's API server", () => {
    const facts: TranslationFacts = {
      claims: new Map(),
      serviceVariables: [
        { name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" },
        { name: "DB_PORT", value: "tcp://10.0.0.1:5432" },
      ],
    };
    const pod = homePod(spec);
    const { pod: far, carried } = translate(pod, { carry: { serviceAccountToken: "home" } }, facts);
    const name = podSecretName(owner, { namespace: "shop", name: "web", uid: pod.metadata?.uid ?? "" });
    const key = (path: string): string => podFileKey(tokenVolume.name, path);

    expect(far.spec?.automountServiceAccountToken).toBe(false);
    expect(far.spec?.volumes?.[0]).toEqual({
      name: tokenVolume.name,
      projected: {
        defaultMode: 0o644,
        sources: [
          { secret: { name, items: [{ key: key("token"), path: "token" }] } },
          { configMap: { name: copy("ConfigMap", "kube-root-ca.crt"), items: [{ key: "ca.crt", path: "ca.crt" }] } },
          { secret: { name, items: [{ key: key("namespace"), path: "namespace" }] } },
        ],
      },
    });
    expect(far.spec?.containers[0]?.volumeMounts).toContainEqual(tokenMount);
    expect(far.spec?.containers[0]?.env).toEqual([{ name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" }]);
    expect(carried.files).toEqual([
      { volume: tokenVolume.name, path: "token", key: key("token") },
      { volume: tokenVolume.name, path: "namespace", key: key("namespace") },
    ]);
  });

  test("of home brings its CA even where no config map may travel", () => {
    const { carried } = translate(homePod(spec), { carry: { serviceAccountToken: "home", configMaps: [] } });

    expect(carried.references).toMatchObject([{ kind: "ConfigMap", name: "kube-root-ca.crt" }]);
  });

  test("of home changes no variables of a pod without a token", () => {
    const facts = { claims: new Map(), serviceVariables: [{ name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" }] };

    expect(farContainerOf({}, { carry: { serviceAccountToken: "home" } }, facts)).not.toHaveProperty("env");
  });
});

describe("files that only the pod has", () => {
  const pod = homePod({
    volumes: [
      {
        name: "info",
        downwardAPI: {
          defaultMode: 0o400,
          items: [
            { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
            { path: "cpu/limit", mode: 0o440, resourceFieldRef: { containerName: "main", resource: "limits.cpu" } },
          ],
        },
      },
      {
        name: "all",
        projected: {
          sources: [
            { serviceAccountToken: { audience: "vault", path: "vault/token", expirationSeconds: 600 } },
            { clusterTrustBundle: { name: "example", path: "ca.pem", optional: true } },
            { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
          ],
        },
      },
    ],
  });
  const name = podSecretName(owner, { namespace: "shop", name: "web", uid: pod.metadata?.uid ?? "" });

  test("are keys of one secret, mounted with path and mode, source by source", () => {
    expect(translate(pod).pod.spec?.volumes).toEqual([
      {
        name: "info",
        secret: {
          secretName: name,
          defaultMode: 0o400,
          items: [
            { key: podFileKey("info", "labels"), path: "labels" },
            { key: podFileKey("info", "cpu/limit"), path: "cpu/limit", mode: 0o440 },
          ],
        },
      },
      {
        name: "all",
        projected: {
          sources: [
            { secret: { name, items: [{ key: podFileKey("all", "vault/token"), path: "vault/token" }] } },
            { secret: { name, items: [{ key: podFileKey("all", "ca.pem"), path: "ca.pem" }], optional: true } },
            { secret: { name, items: [{ key: podFileKey("all", "name"), path: "name" }] } },
          ],
        },
      },
    ]);
    expect(translate(pod).carried.files.map(({ volume, path }) => `${volume}:${path}`)).toEqual([
      "info:labels",
      "info:cpu/limit",
      "all:vault/token",
      "all:ca.pem",
      "all:name",
    ]);
  });
});

describe("claims", () => {
  const volumes: PodSpec["volumes"] = [
    { name: "data", persistentVolumeClaim: { claimName: "data" } },
    { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } } },
    { name: "share", persistentVolumeClaim: { claimName: "share" } },
  ];

  test("are those of the far cluster, or the shares behind them", () => {
    const claims: TranslationFacts["claims"] = new Map([
      ["data", { persistentVolumeClaim: { claimName: "data-far", readOnly: true } }],
      ["scratch", { persistentVolumeClaim: { claimName: "scratch-far" } }],
      ["share", { nfs: { server: "nfs.example.com", path: "/" } }],
    ]);

    expect(specOf({ volumes }, {}, { claims }).volumes).toEqual([
      { name: "data", persistentVolumeClaim: { claimName: "data-far", readOnly: true } },
      { name: "scratch", persistentVolumeClaim: { claimName: "scratch-far" } },
      { name: "share", nfs: { server: "nfs.example.com", path: "/" } },
    ]);
  });

  test("without a counterpart are refused", () => {
    expect(refusal({ volumes })).toMatchObject({
      fieldPath: "spec.volumes[0].persistentVolumeClaim",
      message: expect.stringContaining("; also spec.volumes[1].ephemeral, spec.volumes[2].persistentVolumeClaim"),
    });
  });
});

test("volumes of the node and of other systems travel as they are", () => {
  const volumes: PodSpec["volumes"] = [
    { name: "a", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    { name: "b", hostPath: { path: "/var/log", type: "Directory" } },
    { name: "c", nfs: { server: "nfs.example.com", path: "/" } },
    { name: "d", image: { reference: "registry.example.com/weights:2", pullPolicy: "Always" } },
    { name: "e", iscsi: { targetPortal: "10.0.0.1", iqn: "iqn.2001-04.com.example:x", lun: 0 } },
  ];

  expect(specOf({ volumes }).volumes).toEqual(volumes);
});

/** A part of a pod that is newer than this version. */
const newer: object = { hologram: {} };

describe("what cannot travel is refused:", () => {
  test.each<[string, Partial<PodSpec>]>([
    ["spec.resourceClaims", { resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }] }],
    [
      "spec.volumes[0].projected.sources[0].podCertificate",
      { volumes: [{ name: "c", projected: { sources: [{ podCertificate: { keyType: "ED25519", signerName: "a/b" } }] } }] },
    ],
    ["spec.volumes[0].hologram", { volumes: [{ name: "c", ...newer }] }],
    ["spec.volumes[0].projected.sources[0].hologram", { volumes: [{ name: "c", projected: { sources: [{ ...newer }] } }] }],
  ])("%s", (fieldPath, spec) => {
    const error = refusal(spec);

    expect(error).toSatisfy(isUnsupported);
    expect(error).toMatchObject({ fieldPath });
  });
});

test("a field that this version does not know is left out and told", () => {
  const spec = { ...newer, containers: [{ name: "main", image: "nginx:1", ...newer }] };

  expect(specOf(spec)).not.toHaveProperty("hologram");
  expect(specOf(spec).containers[0]).toEqual({ name: "main", image: "nginx:1" });
  expect(notesOf(homePod(spec))).toBe(
    "spec.hologram: left out, because this version does not know the field; spec.containers[0].hologram: left out, because this version does not know the field",
  );
});

test("what runs inside of the pod travels unchanged", () => {
  const spec: Partial<PodSpec> = {
    activeDeadlineSeconds: 60,
    dnsConfig: { searches: ["example.com"] },
    dnsPolicy: "ClusterFirst",
    enableServiceLinks: false,
    hostAliases: [{ ip: "10.0.0.1", hostnames: ["a"] }],
    hostIPC: true,
    hostNetwork: true,
    hostPID: true,
    hostUsers: false,
    hostname: "db",
    os: { name: "linux" },
    resources: { requests: { cpu: "1" } },
    restartPolicy: "OnFailure",
    securityContext: { runAsUser: 1000, fsGroup: 2000, sysctls: [{ name: "a", value: "1" }] },
    setHostnameAsFQDN: true,
    shareProcessNamespace: true,
    subdomain: "dbs",
    terminationGracePeriodSeconds: 5,
    containers: [
      {
        name: "main",
        image: "nginx:1",
        command: ["a"],
        args: ["$(X)"],
        workingDir: "/",
        ports: [{ containerPort: 80, hostPort: 80, name: "http" }],
        livenessProbe: { httpGet: { port: "http" } },
        readinessProbe: { exec: { command: ["true"] } },
        startupProbe: { grpc: { port: 1 } },
        lifecycle: { preStop: { sleep: { seconds: 1 } } },
        resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
        resources: { limits: { "nvidia.com/gpu": "1" } },
        securityContext: { privileged: true },
        restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }],
        stdin: true,
        tty: true,
        terminationMessagePath: "/dev/termination-log",
        volumeDevices: [{ name: "disk", devicePath: "/dev/xvda" }],
      },
    ],
  };

  expect(specOf(spec)).toEqual({ ...spec, automountServiceAccountToken: false });
});

describe("scheduling", () => {
  test("is the far cluster's: home's node, selector, node affinity, gates, priorities and overhead stay", () => {
    const far = specOf({
      nodeSelector: { type: "virtual-kubelet" },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["virtual"] }] }],
          },
        },
      },
      overhead: { cpu: "1" },
      preemptionPolicy: "Never",
      priority: 0,
      priorityClassName: "home-default",
      readinessGates: [{ conditionType: "example.com/ready" }],
      schedulerName: "home-scheduler",
      schedulingGates: [{ name: "example.com/gate" }],
    });

    expect(far).toEqual({ automountServiceAccountToken: false, containers: [{ name: "main", image: "nginx:1" }], hostname: "web" });
  });

  test("gets what the configuration says", () => {
    const scheduling = {
      nodeSelector: { pool: "gpu" },
      schedulerName: "volcano",
      priorityClasses: { high: "far-high" },
      runtimeClasses: { sandbox: "gvisor" },
      tolerations: [{ key: "gpu", operator: "Exists" }],
    };

    expect(specOf({ priorityClassName: "high", priority: 9, runtimeClassName: "sandbox" }, { scheduling })).toMatchObject({
      nodeSelector: { pool: "gpu" },
      schedulerName: "volcano",
      priorityClassName: "far-high",
      runtimeClassName: "gvisor",
      tolerations: [{ key: "gpu", operator: "Exists" }],
    });
    expect(specOf({ runtimeClassName: "kata" }, { scheduling }).runtimeClassName).toBe("kata");
  });

  test("tells of a priority and of a group that are left out", () => {
    const pod = homePod({ priorityClassName: "high", priority: 9, schedulingGroup: { podGroupName: "g" } });

    expect(notesOf(pod)).toBe(
      "spec.priorityClassName: high is left out; an entry in scheduling.priorityClasses names the far class; spec.schedulingGroup: left out, because its PodGroup is an object of the home cluster",
    );
  });

  test("keeps the pod's own tolerations, and not those for the virtual node and of home's admission", () => {
    const own = [
      { key: "spot", operator: "Equal", value: "true", effect: "NoSchedule" },
      { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
    ];
    const tolerations = [
      { key: "virtual-kubelet.io/provider", operator: "Exists" },
      { key: "virtual-kubelet.io/provider-unavailable", operator: "Exists", effect: "NoSchedule" },
      { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
      ...own,
    ];

    expect(specOf({ tolerations }, { scheduling: { tolerations: [own[0]] } }).tolerations).toEqual(own);
  });
});
