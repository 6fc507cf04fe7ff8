import type { Pod, ResolvedPod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { keptLimits } from "./kept-limits.ts";
import { translatePod } from "./translate-pod.ts";
import { zunConfigSchema } from "../config/schema.ts";

const identity = {
  ref: { namespace: "shop", name: "web", uid: "0a1b2c3d-0000-4000-8000-000000000000" },
  owner: { clusterId: "c1", nodeName: "n1" },
  attempt: 0,
};
const resolver: ResolvedPod = {
  environment: async () => [],
  commandLine: async () => ({ command: ["run"], args: [] }),
  volume: async () => ({ files: [] }),
  async *watchVolume() {},
  configMap: async () => ({}),
  secret: async () => ({}),
  serviceVariables: async () => [],
};

/** What people are told of a pod. */
async function told(spec: NonNullable<Pod["spec"]>, config: object = {}): Promise<Record<string, string>> {
  const pod: Pod = { metadata: { namespace: "shop", name: "web", uid: "0a1b2c3d-0000-4000-8000-000000000000" }, spec };
  const parsed = zunConfigSchema.safeParse(config);
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  const translated = await translatePod(pod, resolver, { config: parsed.data, identity }, new AbortController().signal);
  return Object.fromEntries(keptLimits(translated).map(({ reason, message }) => [reason, message]));
}

const main = { name: "main", image: "nginx", command: ["run"] };

test("a pod that Zun keeps to causes no words", async () => {
  expect(await told({ restartPolicy: "Never", containers: [main] })).toEqual({});
  expect(await told({ containers: [main], imagePullSecrets: [{ name: "login" }] }, { registry: "team" })).toEqual({});
});

test("a capsule's end that is not seen, and its entry point, are told", async () => {
  expect(Object.keys(await told({ restartPolicy: "OnFailure", containers: [main, { ...main, name: "side" }] }))).toEqual([
    "EndNotSeen",
    "EntryPointStays",
  ]);
});

test("pull secrets without a registry, and read-only Cinder volumes, are told", async () => {
  const limits = await told({
    imagePullSecrets: [{ name: "login" }],
    containers: [
      {
        ...main,
        volumeMounts: [
          { name: "disk", mountPath: "/d", readOnly: true },
          { name: "other", mountPath: "/o" },
          { name: "files", mountPath: "/f", readOnly: true },
        ],
      },
    ],
    volumes: [
      { name: "disk", cinder: { volumeID: "5a1f8a3e-0000-4000-8000-000000000000" } },
      { name: "other", cinder: { volumeID: "5a1f8a3e-0000-4000-8000-000000000001" } },
      { name: "files", secret: { secretName: "s" } },
    ],
  });

  expect(limits).toEqual({
    PullSecretsUnused: "Zun pulls images with the credentials of a registry that it knows, not with imagePullSecrets: name one by registry",
    VolumeWritable: "Zun mounts Cinder volumes for writing, whatever readOnly says: disk",
  });
});
