import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isIP } from "node:net";
import type { ZunConfig, ZunMode } from "../config/schema.ts";
import { annotationDomain } from "./annotations.ts";

/** Settings of a pod for Zun and Neutron: the configuration, overridden by the pod's annotations. */
export interface PodSettings {
  readonly mode: ZunMode;
  readonly networks: readonly string[];
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly fixedIp?: string | undefined;
  /** `new`: allocated from the pool; an address: an existing one of the project. */
  readonly floatingIp?: string | undefined;
  readonly availabilityZone?: string | undefined;
  readonly registry?: string | undefined;
}

/**
 * Reads a pod's settings.
 *
 * @throws InvalidInputError with the annotation, the value and the expected form
 */
export function toPodSettings(pod: DeepReadonly<Pod>, config: ZunConfig): PodSettings {
  const annotations = pod.metadata?.annotations ?? {};
  const read = (name: string): string | undefined => annotations[`${annotationDomain}/${name}`]?.trim();
  const list = (name: string): readonly string[] | undefined =>
    read(name)
      ?.split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "");
  const wrong = (name: string, expected: string): InvalidInputError =>
    new InvalidInputError(`read annotation ${annotationDomain}/${name}: ${JSON.stringify(read(name))}, expected ${expected}`);

  const mode = read("mode") ?? config.mode;
  if (!isMode(mode)) throw wrong("mode", "auto, container or capsule");
  const fixedIp = read("fixed-ip");
  if (fixedIp !== undefined && isIP(fixedIp) === 0) throw wrong("fixed-ip", "an IP address");
  const floating = read("floating-ip") ?? String(config.assignFloatingIp);
  if (!["true", "false"].includes(floating) && isIP(floating) !== 4)
    throw wrong("floating-ip", "true, false, or an IPv4 address that the project has");
  const subnets = list("subnets");
  const networks = list("networks") ?? (subnets ? [] : config.networks);
  return {
    mode,
    networks,
    // If a pod sets its networks, the configured subnets do not apply.
    subnets: subnets ?? (list("networks") ? [] : config.subnets),
    securityGroups: list("security-groups") ?? config.securityGroups,
    fixedIp,
    floatingIp: floatingIpOf(floating),
    availabilityZone: read("availability-zone") ?? config.availabilityZone,
    registry: read("registry") ?? config.registry,
  };
}

function floatingIpOf(text: string): string | undefined {
  if (text === "false") return undefined;
  return text === "true" ? "new" : text;
}

function isMode(text: string): text is ZunMode {
  return text === "auto" || text === "container" || text === "capsule";
}
