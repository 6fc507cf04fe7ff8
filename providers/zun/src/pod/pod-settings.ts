import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isIP } from "node:net";
import type { ZunConfig, ZunMode } from "../config/schema.ts";
import { annotationDomain } from "./annotations.ts";

/** What one pod asks of Zun and Neutron: the configuration, and the pod's annotations over it. */
export interface PodSettings {
  readonly mode: ZunMode;
  readonly networks: readonly string[];
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly fixedIp?: string | undefined;
  /** `new`: one from the pool; an address: one that the project has. */
  readonly floatingIp?: string | undefined;
  readonly availabilityZone?: string | undefined;
  readonly registry?: string | undefined;
}

/**
 * A pod's settings.
 *
 * @throws InvalidInputError naming annotation, value and what was expected
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
    // A pod that names its networks leaves the configured subnets.
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
