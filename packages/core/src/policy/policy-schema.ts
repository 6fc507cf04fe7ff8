import { z } from "zod";
import type { PodPolicy, PolicyAnnotation, PolicyVolume } from "./pod-policy.ts";
import { kernelNamespaceOf } from "./pod-sysctls.ts";

const got = (expected: string): { error: (issue: { input: unknown }) => string } => ({
  error: ({ input }) => `expected ${expected}, got ${JSON.stringify(input)}`,
});

const hostPath = z
  .string()
  .refine((path) => path.startsWith("/") && !path.split("/").includes(".."), got('an absolute path without "..", such as /var/log'));

const sysctl = z
  .string()
  .refine(
    (pattern) =>
      /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*([./]?\*)?$/.test(pattern) &&
      kernelNamespaceOf(pattern) !== undefined,
    got("a sysctl that each pod has for itself, such as net.core.somaxconn, net.* or kernel.msgmax"),
  );

const capability = z.string().refine((name) => /^(CAP_)?[A-Z][A-Z_]*$/.test(name), got("a capability such as NET_ADMIN, or ALL"));

const namespace = z
  .string()
  .refine((name) => name === "*" || /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name), got("a namespace of Kubernetes, or * for every one"));

const fields = {
  privileged: z.boolean().optional().describe("Lets containers be privileged: they own the machine; default false"),
  hostPaths: z.array(hostPath).optional().describe("Folders of the machine that pods may mount, with all below; / is everything"),
  hostNetwork: z.boolean().optional().describe("Lets pods use the machine's network, and name a host in probes and hooks; default false"),
  hostPID: z.boolean().optional().describe("Lets pods see the machine's processes; default false"),
  hostIPC: z.boolean().optional().describe("Lets pods use the machine's shared memory; default false"),
  hostPorts: z.boolean().optional().describe("Lets pods take ports of the machine; default true"),
  capabilities: z
    .array(capability)
    .optional()
    .describe("Linux capabilities that containers may add besides those of Kubernetes' baseline; ALL is every one"),
  sysctls: z.array(sysctl).optional().describe("Sysctls that pods may set besides the safe ones; a * at the end stands for any rest"),
  unconfined: z
    .boolean()
    .optional()
    .describe("Lets containers go without seccomp, AppArmor, SELinux types and masked /proc; default false"),
};

/**
 * Schema of a provider's setting `policy`. All of it is optional, and what is absent is not allowed, but for `hostPorts`.
 *
 * @param annotations - those that the provider's definition names; the policy takes values for them, and for no others
 * @param volumes - fields that the provider's definition names; the policy takes `volumes` only if there are any
 */
export function podPolicySchema(
  annotations: readonly PolicyAnnotation[] = [],
  volumes: readonly PolicyVolume[] = [],
): z.ZodType<PodPolicy> {
  const all = z.strictObject({
    ...fields,
    annotations: annotationValues(annotations.map(({ name }) => name)),
    volumes: volumeIds(volumes.map(({ fieldPath }) => fieldPath)),
  });
  return all.omit({
    ...(annotations.length === 0 && { annotations: true }),
    ...(volumes.length === 0 && { volumes: true }),
  });
}

function annotationValues(names: readonly string[]): z.ZodType<PodPolicy["annotations"]> {
  const values = z.array(z.string().min(1)).optional();
  return z
    .strictObject(Object.fromEntries(names.map((name) => [name, values])))
    .optional()
    .describe(`Values that pods may give to ${names.join(", ")}, by annotation; * is any value; default none`);
}

function volumeIds(fieldPaths: readonly string[]): z.ZodType<PodPolicy["volumes"]> {
  return z
    .record(namespace, z.array(z.string().min(1)))
    .optional()
    .describe(
      `Ids that pods may give to ${fieldPaths.join(", ")} of a volume, by namespace of Kubernetes; the namespace * is every one, the id * any; default none`,
    );
}
