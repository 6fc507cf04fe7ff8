import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { QosClass } from "@virtual-kubelet/kubernetes";

/** The component that creates a runtime's cgroups. */
export type CgroupDriver = "cgroupfs" | "systemd";

/** One cgroup. */
export interface CgroupName {
  /** Path below the root of each hierarchy, with a leading `/`. */
  readonly path: string;
  /** The cgroup parent in a runtime's form: the path, or the slice with the systemd driver. */
  readonly parent: string;
}

/** Default prefix of pods' cgroups. `kubepods` would not do, because a kubelet removes unknown cgroups below it. */
export const defaultCgroupPrefix = "vkpods";

/**
 * Names of pods' cgroups, like a kubelet's below `kubepods`: `/PREFIX/burstable/podUID`, with systemd `PREFIX-burstable-podUID.slice`;
 * guaranteed pods are directly below the prefix. Source: CgroupName in kubernetes v1.36.3 pkg/kubelet/cm/cgroup_manager_linux.go.
 */
export class CgroupNames {
  readonly #driver: CgroupDriver;
  readonly #prefix: readonly string[];

  /**
   * @param prefix - a path such as `/vkpods`, or a slice such as `vkpods.slice`
   * @throws InvalidInputError for any other prefix
   */
  constructor(driver: CgroupDriver, prefix: string) {
    this.#driver = driver;
    this.#prefix = partsOf(driver, prefix);
  }

  /** The parent of all others. */
  get root(): CgroupName {
    return this.#name([]);
  }

  /** The parent of pods of a QoS class. */
  tier(quality: QosClass): CgroupName {
    return this.#name(quality === "Guaranteed" ? [] : [quality.toLowerCase()]);
  }

  /** A pod's cgroup. @throws InvalidInputError for a UID that is not a valid cgroup name */
  pod(uid: string, quality: QosClass): CgroupName {
    if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,200}$/.test(uid))
      throw new InvalidInputError(`name the cgroup of pod UID ${JSON.stringify(uid)}: expected letters, digits and "-"`);
    return this.#name([...(quality === "Guaranteed" ? [] : [quality.toLowerCase()]), `pod${uid}`]);
  }

  /** The UID in the name of a folder in a {@link tier}; `undefined` for other folders. */
  tryUid(folder: string, quality: QosClass): string | undefined {
    const [, name = ""] = /^(?:.*-)?([^-]*)\.slice$/.exec(folder) ?? [];
    const part = this.#driver === "systemd" ? name.replaceAll("_", "-") : folder;
    const uid = /^pod([A-Za-z0-9][A-Za-z0-9-]*)$/.exec(part)?.[1];
    return uid !== undefined && this.pod(uid, quality).path.endsWith(`/${folder}`) ? uid : undefined;
  }

  #name(more: readonly string[]): CgroupName {
    if (this.#driver === "cgroupfs") {
      const path = `/${[...this.#prefix, ...more].join("/")}`;
      return { path, parent: path };
    }
    const parts = [...this.#prefix, ...more.map(escaped)];
    const slices = parts.map((_, index) => `${parts.slice(0, index + 1).join("-")}.slice`);
    return { path: `/${slices.join("/")}`, parent: slices.at(-1) ?? "-.slice" };
  }
}

function partsOf(driver: CgroupDriver, prefix: string): readonly string[] {
  const isSlice = driver === "systemd" && /^[^/]+\.slice$/.test(prefix);
  const parts = isSlice
    ? prefix.slice(0, -".slice".length).split("-")
    : prefix
        .split("/")
        .filter((part) => part !== "")
        .map(driver === "systemd" ? escaped : String);
  if (parts.length === 0 || !parts.every((part) => /^[A-Za-z0-9_:@][A-Za-z0-9_.:@-]*$/.test(part)))
    throw new InvalidInputError(
      `name cgroups below ${JSON.stringify(prefix)}: expected a path such as /vkpods, or a slice such as vkpods.slice`,
    );
  if (driver === "systemd" && prefix.includes("@"))
    throw new InvalidInputError(`name slices below ${JSON.stringify(prefix)}: expected no "@", because systemd has no templates of slices`);
  return parts;
}

/** Escapes `-`, which separates the levels of a slice's name. */
function escaped(part: string): string {
  return part.replaceAll("-", "_");
}
