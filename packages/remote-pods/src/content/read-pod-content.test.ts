import type { Pod, ResolvedEnvVar, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { InvalidInputError, isUnsupported, type UnsupportedError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { ContentLimits } from "./content-limits.ts";
import { readPodContent } from "./read-pod-content.ts";

const never = new AbortController().signal;
const backEnd = "Azure Container Instances";
const secret = "top-secret-value";

const pod: Pod = {
  metadata: { name: "web", namespace: "default", uid: "1" },
  spec: {
    initContainers: [{ name: "init", image: "i", args: ["prepare"] }],
    containers: [
      {
        name: "app",
        image: "i",
        command: ["run"],
        env: [
          { name: "PLAIN", value: "text" },
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "s", key: "p" } } },
          { name: "URL", value: "x://$(PASSWORD)" },
          { name: "MODE", valueFrom: { configMapKeyRef: { name: "c", key: "m" } } },
        ],
        envFrom: [{ configMapRef: { name: "c" } }],
        volumeMounts: ["scratch", "config", "keys", "kube-api-access", "labels", "certs"].map((name) => ({ name, mountPath: `/${name}` })),
      },
    ],
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "config", configMap: { name: "c" } },
      { name: "keys", secret: { secretName: "s" } },
      { name: "kube-api-access", projected: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: { name: "ca" } }] } },
      { name: "labels", downwardAPI: { items: [] } },
      { name: "certs", projected: { sources: [{ configMap: { name: "ca" } }] } },
    ],
  },
};

const file = (path: string, content: string, mode = 0o644): VolumeFile => ({ path, mode, content: Buffer.from(content) });

const environments: Readonly<Record<string, readonly ResolvedEnvVar[]>> = {
  init: [{ name: "KUBERNETES_SERVICE_HOST", value: "10.0.0.1" }],
  app: [
    { name: "KUBERNETES_SERVICE_HOST", value: "10.0.0.1" },
    { name: "FROM_MAP", value: "äöü" },
    { name: "PLAIN", value: "text" },
    { name: "PASSWORD", value: secret },
    { name: "URL", value: `x://${secret}` },
    { name: "MODE", value: "fast" },
  ],
};

/** Resolves the pod above, and notes what was asked for. */
function resolver(files: Readonly<Record<string, readonly VolumeFile[]>> = {}): {
  readonly resolved: ResolvedPod;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const resolved: Pick<ResolvedPod, "environment" | "commandLine" | "volume"> = {
    environment: async (name) => (asked.push(`environment ${name}`), environments[name] ?? []),
    commandLine: async (name) => (
      asked.push(`command line ${name}`),
      { command: name === "app" ? ["run"] : [], args: name === "app" ? [] : ["prepare"] }
    ),
    volume: async (name) => (asked.push(`volume ${name}`), { files: files[name] ?? [file(`${name}.txt`, secret)] }),
  };
  return { resolved: resolved as ResolvedPod, asked };
}

function refusal(
  limits: Omit<ContentLimits, "backEnd">,
  files?: Readonly<Record<string, readonly VolumeFile[]>>,
): Promise<UnsupportedError> {
  return readPodContent(pod, resolver(files).resolved, { backEnd, ...limits }, never).then(
    () => expect.fail("it was not refused"),
    (error: unknown) => error as UnsupportedError,
  );
}

test("environment, command lines and files are read once each", async () => {
  const { resolved, asked } = resolver();
  const { containers, volumes, lostModes } = await readPodContent(pod, resolved, { backEnd }, never);

  expect([...containers.values()].map(({ name, command, args }) => ({ name, command, args }))).toEqual([
    { name: "init", command: [], args: ["prepare"] },
    { name: "app", command: ["run"], args: [] },
  ]);
  expect([...volumes.keys()]).toEqual(["config", "keys", "kube-api-access", "labels", "certs"]);
  expect(volumes.get("config")?.files).toEqual([file("config.txt", secret)]);
  expect(lostModes).toEqual([]);
  expect(asked.toSorted()).toEqual([...new Set(asked)].toSorted());
  expect(asked).toHaveLength(9);
});

test("variables and volumes that may hold secrets are told", async () => {
  const { containers, volumes } = await readPodContent(pod, resolver().resolved, { backEnd }, never);
  const sensitive = (containers.get("app")?.environment ?? []).filter((each) => each.isSensitive).map(({ name }) => name);

  expect(sensitive).toEqual(["PASSWORD", "URL"]);
  expect([...volumes.values()].filter((each) => each.isSensitive).map(({ name }) => name)).toEqual(["keys", "kube-api-access"]);
});

test("of variables from a secret as a whole, none is taken for harmless", async () => {
  const spec = {
    containers: [{ name: "app", image: "i", env: [{ name: "PLAIN", value: "text" }], envFrom: [{ secretRef: { name: "s" } }] }],
  };
  const { containers } = await readPodContent({ ...pod, spec }, resolver().resolved, { backEnd }, never);

  expect((containers.get("app")?.environment ?? []).filter((each) => !each.isSensitive).map(({ name }) => name)).toEqual(["PLAIN"]);
});

test.each<[string, Omit<ContentLimits, "backEnd">, string]>([
  ["a variable", { maxVariableBytes: 24 }, "spec.enableServiceLinks: variable KUBERNETES_SERVICE_HOST: 31 bytes"],
  [
    "all variables of a container",
    { maxEnvironmentBytes: 31 },
    "spec.containers[0].env: all variables of the container together: 109 bytes",
  ],
  ["all variables", { maxPodEnvironmentBytes: 139 }, "spec.containers: all variables of the pod together: 140 bytes"],
  ["a command line", { maxCommandBytes: 6 }, "spec.initContainers[0].args: command and arguments together: 7 bytes"],
  ["a file", { maxFileBytes: 15 }, "spec.volumes[1].configMap: file config.txt: 16 bytes"],
  ["all files", { maxFilesBytes: 79 }, "spec.volumes: all files of the pod together: 80 bytes"],
  ["volumes", { maxVolumes: 5 }, "spec.volumes: 6 volumes"],
])("%s beyond the limit is refused by field, size, limit and remedy, without content", async (_what, limits, message) => {
  const error = await refusal(limits);
  const [limit] = Object.values(limits);

  expect(error.message).toContain(`${message}, and ${backEnd} takes at most ${String(limit)}; `);
  expect(error.message).not.toContain(secret);
  expect([isUnsupported(error), error.fieldPath]).toEqual([true, message.slice(0, message.indexOf(":"))]);
});

test("a pod exactly at all limits is taken", async () => {
  const limits = {
    backEnd,
    maxVariableBytes: 31,
    maxEnvironmentBytes: 109,
    maxPodEnvironmentBytes: 140,
    maxCommandBytes: 7,
    maxFileBytes: 16,
    maxFilesBytes: 80,
    maxVolumes: 6,
    fileModes: [0o644],
  };

  expect((await readPodContent(pod, resolver().resolved, limits, never)).containers.size).toBe(2);
});

test("the field of a variable is its entry, the last of a name, or the sources of many", async () => {
  const error = await refusal({ maxVariableBytes: 11 });

  expect(error.message).toMatch(/^spec\.enableServiceLinks: /);
  expect(error.message).toContain("spec.containers[0].envFrom");
  expect(error.message).toContain("spec.containers[0].env[1], spec.containers[0].env[2]");
  expect(error.message).not.toContain("spec.containers[0].env[0]");
});

test("file modes that the back end does not know are refused, or told where it keeps none", async () => {
  const files = { keys: [file("key", secret, 0o400)] };
  const error = await refusal({ fileModes: [0o644, 0o755] }, files);

  expect(error.message).toBe(
    `spec.volumes[2].secret: file key has mode 0400, and ${backEnd} knows only 0644, 0755; set defaultMode or mode`,
  );
  const { lostModes } = await readPodContent(pod, resolver(files).resolved, { backEnd, fileModes: "notKept" }, never);
  expect(lostModes).toEqual(["spec.volumes[2].secret"]);
});

test("a volume that no container mounts is not read", async () => {
  const { resolved, asked } = resolver();
  const [app] = pod.spec?.containers ?? [];
  const mounting = {
    ...pod,
    spec: { ...pod.spec, containers: [{ ...app, name: "app", volumeMounts: [{ name: "keys", mountPath: "/keys" }] }] },
  };

  const { volumes } = await readPodContent(mounting, resolved, { backEnd }, never);
  expect([[...volumes.keys()], asked.filter((each) => each.startsWith("volume"))]).toEqual([["keys"], ["volume keys"]]);
});

test("too many volumes are refused before anything is read", async () => {
  const { resolved, asked } = resolver();

  await expect(readPodContent(pod, resolved, { backEnd, maxVolumes: 1 }, never)).rejects.toThrow("6 volumes");
  expect(asked).toEqual([]);
});

test("what cannot be resolved is thrown as it is, and an abort ends the reading", async () => {
  const missing = new InvalidInputError("secret s: not found");
  const { resolved } = resolver();
  const broken: ResolvedPod = { ...resolved, volume: () => Promise.reject(missing) };
  const abort = new AbortController();
  const aborting: ResolvedPod = { ...resolved, commandLine: async () => (abort.abort(new Error("deleted")), { command: [], args: [] }) };

  await expect(readPodContent(pod, broken, { backEnd }, never)).rejects.toBe(missing);
  await expect(readPodContent(pod, aborting, { backEnd }, abort.signal)).rejects.toThrow("deleted");
});

test("a pod without a spec has no content", async () => {
  const { containers, volumes } = await readPodContent({ metadata: pod.metadata ?? {} }, resolver().resolved, { backEnd }, never);

  expect([containers.size, volumes.size]).toEqual([0, 0]);
});
