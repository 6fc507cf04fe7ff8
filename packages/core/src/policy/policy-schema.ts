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
  privileged: z.boolean().optional().describe("Allows privileged containers, which control the machine; default false"),
  hostPaths: z
    .array(hostPath)
    .optional()
    .describe("Folders of the machine that pods may mount, including everything below them; / allows all"),
  hostNetwork: z
    .boolean()
    .optional()
    .describe("Allows pods to use the machine's network, and to set a host in probes and hooks; default false"),
  hostPID: z.boolean().optional().describe("Allows pods to see the machine's processes; default false"),
  hostIPC: z.boolean().optional().describe("Allows pods to use the machine's shared memory; default false"),
  hostPorts: z.boolean().optional().describe("Allows pods to use ports of the machine; default true"),
  capabilities: z
    .array(capability)
    .optional()
    .describe("Linux capabilities that containers may add to those of Kubernetes' baseline; ALL stands for all"),
  sysctls: z.array(sysctl).optional().describe("Sysctls that pods may set in addition to the safe ones; a * at the end matches any rest"),
  unconfined: z
    .boolean()
    .optional()
    .describe("Allows containers to run without seccomp, AppArmor and a masked /proc, and with any SELinux type; default false"),
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
    .describe(`Allowed values of the annotations ${names.join(", ")}; * allows any value; default none`);
}

function volumeIds(fieldPaths: readonly string[]): z.ZodType<PodPolicy["volumes"]> {
  return z
    .record(namespace, z.array(z.string().min(1)))
    .optional()
    .describe(
      `Ids that pods may use in ${fieldPaths.join(", ")} of a volume, by Kubernetes namespace; the namespace * stands for all, the id * for any; default none`,
    );
}
