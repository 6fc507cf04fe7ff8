import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { CapacityProviderShare, FargateConfig } from "../config/schema.ts";
import { annotationDomain, taskRoleAnnotation } from "./annotations.ts";

/** Settings of a pod: the configuration, overridden by the pod's annotations. */
export interface PodSettings {
  readonly taskRoleArn?: string | undefined;
  readonly executionRoleArn?: string | undefined;
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly assignPublicIp: boolean;
  readonly capacityProviders: readonly CapacityProviderShare[];
  readonly platformVersion: string;
  readonly repositoryCredentials?: string | undefined;
  readonly executeCommand: boolean;
  /** ARNs of Secrets Manager secrets and SSM parameters by `SECRET/KEY` of Kubernetes. */
  readonly secretArns: ReadonlyMap<string, string>;
}

/**
 * Reads a pod's settings.
 *
 * @throws InvalidInputError with the annotation, the value and the expected form
 */
export function toPodSettings(pod: DeepReadonly<Pod>, config: FargateConfig): PodSettings {
  const annotations = pod.metadata?.annotations ?? {};
  const read = (name: string): string | undefined => annotations[name]?.trim() || undefined;
  const own = (name: string): string | undefined => read(`${annotationDomain}/${name}`);
  const wrong = (name: string, expected: string): InvalidInputError =>
    new InvalidInputError(`read annotation ${name}: ${JSON.stringify(annotations[name])}, expected ${expected}`);
  const list = (name: string, most: number): readonly string[] | undefined => {
    const entries = own(name)
      ?.split(",")
      .map((entry) => entry.trim());
    if (entries && (entries.some((entry) => entry === "") || entries.length > most))
      throw wrong(`${annotationDomain}/${name}`, `1 to ${most} IDs, separated by commas`);
    return entries;
  };
  const flag = (name: string, fallback: boolean): boolean => {
    const text = own(name);
    if (text !== undefined && text !== "true" && text !== "false") throw wrong(`${annotationDomain}/${name}`, "true or false");
    return text === undefined ? fallback : text === "true";
  };
  const provider = own("capacity-provider");
  const platformVersion = own("platform-version") ?? config.platformVersion;
  if (!/^(LATEST|\d+\.\d+\.\d+)$/.test(platformVersion))
    throw wrong(`${annotationDomain}/platform-version`, "LATEST or a version such as 1.4.0");
  return {
    taskRoleArn: read(taskRoleAnnotation) ?? config.taskRoleArn,
    executionRoleArn: own("execution-role") ?? config.executionRoleArn,
    subnets: list("subnets", 16) ?? config.subnets,
    securityGroups: list("security-groups", 5) ?? config.securityGroups,
    assignPublicIp: flag("assign-public-ip", config.assignPublicIp),
    capacityProviders: provider === undefined ? config.capacityProviders : strategyOf(provider),
    platformVersion,
    repositoryCredentials: own("repository-credentials") ?? config.repositoryCredentials,
    executeCommand: flag("execute-command", config.executeCommand),
    secretArns: secretArnsOf(own("secrets") ?? "", () =>
      wrong(`${annotationDomain}/secrets`, "entries SECRET/KEY=ARN, separated by commas"),
    ),
  };
}

/** `FARGATE` means on-demand capacity without a strategy. */
function strategyOf(provider: string): readonly CapacityProviderShare[] {
  return provider === "FARGATE" ? [] : [{ capacityProvider: provider, weight: 1, base: 0 }];
}

function secretArnsOf(text: string, wrong: () => InvalidInputError): ReadonlyMap<string, string> {
  const arns = new Map<string, string>();
  if (text === "") return arns;
  for (const entry of text.split(",")) {
    const [, key, arn] = /^\s*([a-z0-9.-]+\/[\w.-]+)=(arn:aws[a-z-]*:(?:secretsmanager|ssm):\S+)\s*$/.exec(entry) ?? [];
    if (key === undefined || arn === undefined) throw wrong();
    arns.set(key, arn);
  }
  return arns;
}
