import type { Container, DeepReadonly, Owner, Pod, ResolvedEnvVar, VolumeFile } from "@virtual-kubelet/core";
import type { NomadTask } from "../api/types.ts";
import { nomadConfigSchema, type NomadConfig } from "../config.ts";
import { jobOf, type JobPlan } from "../job/job-of.ts";
import type { PodContent } from "../job/pod-content.ts";
import { jobSettingsOf } from "../job/settings.ts";

/** Whose the pods of the tests are. */
export const owner: Owner = { clusterId: "c1", nodeName: "n1" };

/** Namespace of Nomad of all of them. */
export const namespaceOf = (): string => "default";

/** A pod of one container, but for what is said. */
export function podWith(spec: Partial<NonNullable<Pod["spec"]>> = {}, annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { namespace: "shop", name: "web", uid: "u-1", annotations },
    spec: { restartPolicy: "Always", containers: [containerWith()], ...spec },
  };
}

export function containerWith(fields: Partial<Container> = {}): Container {
  return { name: "main", image: "nginx:1.29", ...fields };
}

/** The configuration as the schema makes it. */
export function configWith(input: object = {}): NomadConfig {
  return nomadConfigSchema.parse(input);
}

/** What is resolved of a pod: plain values of its environment, and what is given. */
export function contentOf(
  pod: DeepReadonly<Pod>,
  given: {
    readonly env?: Readonly<Record<string, string>>;
    readonly files?: Readonly<Record<string, Readonly<Record<string, string>>>>;
    readonly logins?: PodContent["logins"];
  } = {},
): PodContent {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const environmentOf = ({ env = [], envFrom }: DeepReadonly<Container>): ResolvedEnvVar[] => {
    const own = env.map(({ name, value }) => ({ name, value: given.env?.[name] ?? value ?? "" }));
    const others = envFrom ? Object.entries(given.env ?? {}).filter(([name]) => !env.some((each) => each.name === name)) : [];
    return [...own, ...others.map(([name, value]) => ({ name, value }))];
  };
  const filesOf = (texts: Readonly<Record<string, string>>): VolumeFile[] =>
    Object.entries(texts).map(([path, text]) => ({ path, mode: 0o644, content: Buffer.from(text) }));
  return {
    environments: new Map(containers.map((container) => [container.name, environmentOf(container)])),
    files: new Map(Object.entries(given.files ?? {}).map(([volume, texts]) => [volume, filesOf(texts)])),
    logins: given.logins ?? new Map(),
  };
}

/** The job of a pod, with cores of 2,000 MHz. */
export function planOf(
  pod: DeepReadonly<Pod>,
  config: object = {},
  given: Parameters<typeof contentOf>[1] & { readonly memoryOversubscription?: boolean } = {},
): JobPlan {
  const { memoryOversubscription = true } = given;
  return jobOf(pod, contentOf(pod, given), owner, jobSettingsOf(pod, configWith(config), { mhzPerCore: 2000, memoryOversubscription }));
}

/** The task of a container. */
export function taskOf({ job }: JobPlan, name = "main"): NomadTask {
  const task = job.TaskGroups[0]?.Tasks.find(({ Name }) => Name === name);
  if (!task) throw new Error(`the job has no task ${name}`);
  return task;
}
